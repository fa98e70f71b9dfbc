#include <array>

#include "datagen/lists/places.h"
#include "datagen/lists/rides.h"
#include "datagen/schema.h"
#include "datagen/schema_column.h"

namespace reveza::datagen {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kLicenceCategories = {"B"sv, "AB"sv, "C"sv, "D"sv, "E"sv};
constexpr auto kModels =
    lists::MemberOf<std::string_view>(lists::kVehicles, &lists::Vehicle::model);
constexpr auto kStates = lists::MemberOf<std::string_view>(lists::kStates, &lists::State::code);
constexpr auto kCapitals =
    lists::MemberOf<std::string_view>(lists::kStates, &lists::State::capital);

constexpr auto kColumns = std::to_array<Column>({
    TextColumn("driver_id", kNeverNull, "Identifier", "Identificador",
               "`DRV_` and 10 digits, from 1"),
    TextColumn("name", kNeverNull, "Full name", "Nome completo", "made-up first name and surname"),
    TextColumn("phone", kNeverNull, "Telephone number", "Telefone", "Brazilian formats"),
    TextColumn("email", kNeverNull, "E-mail address", "Endereço de e-mail", "at an example domain"),
    TextColumn("cpf", kNeverNull, "Taxpayer number", "CPF",
               "unique, of any fiscal region, two check digits"),
    TextColumn("cnh_number", kNeverNull, "Driving licence", "Número da CNH",
               "11 random digits, without check digits"),
    CategoryColumn("cnh_category", kNeverNull, kLicenceCategories, "Category of the licence",
                   "Categoria da CNH", "60, 25, 8, 5, 2"),
    DateColumn("cnh_expiration", kNeverNull, "When the licence expires", "Validade da CNH",
               "1 to 5 times 365 days from now"),
    TextColumn("vehicle_plate", kNeverNull, "Number plate", "Placa",
               "70 % `LLLDLDD`, 30 % `LLL-DDDD`"),
    CategoryColumn("vehicle_brand", kNeverNull, lists::kVehicleBrands, "Maker of the car",
                   "Marca do veículo", "uniform over all cars, whatever their level"),
    CategoryColumn("vehicle_model", kNeverNull, kModels, "Model of the car", "Modelo do veículo",
                   "drawn together with the maker"),
    CountColumn("vehicle_year", kNeverNull, "", "Year of the car", "Ano do veículo",
                "uniform, 2015 to 2025"),
    CategoryColumn("vehicle_color", kNeverNull, lists::kVehicleColors, "Colour of the car",
                   "Cor do veículo", "uniform"),
    DecimalColumn("rating", kNeverNull, 2, "", "Rating, 4 to 5", "Avaliação, 4 a 5",
                  "normal around 4.7, deviation 0.2, cut at 4 and 5"),
    CountColumn("trips_completed", kNeverNull, "", "Trips so far", "Viagens concluídas",
                "15 % 10 to 100, 50 % to 1,000, 25 % to 5,000, 10 % to 15,000"),
    DateColumn("registration_date", kNeverNull, "When the driver joined", "Data de cadastro",
               "the longer ago the more trips: 1 to 6 months, 6 to 24, 24 to 60"),
    TextColumn("active_apps", kNeverNull, "Apps in use", "Aplicativos ativos",
               "one, two or three of them (40, 40, 20), separated by `;`"),
    CategoryColumn("operating_state", kNeverNull, kStates, "State where the driver works",
                   "Estado de atuação", "SP, RJ, MG, BA or DF by weight"),
    CategoryColumn("operating_city", kNeverNull, kCapitals, "City where the driver works",
                   "Cidade de atuação", "capital of the state"),
    TextColumn("categories_enabled", kNeverNull, "Categories the driver may serve",
               "Categorias habilitadas",
               "of the active apps, those that the level of the car allows, separated by `;`"),
    FlagColumn("is_active", kNeverNull, "Whether the driver is active", "Motorista ativo", "95 %"),
});

}  // namespace

const Table kDrivers = {"drivers", "One row a driver of ride apps.",
                        "Uma linha por motorista de aplicativo.", kColumns};

}  // namespace reveza::datagen
