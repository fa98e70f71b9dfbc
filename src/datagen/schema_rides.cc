#include <array>

#include "datagen/lists/places.h"
#include "datagen/lists/rides.h"
#include "datagen/schema.h"
#include "datagen/schema_column.h"

namespace reveza::datagen {
namespace {

constexpr auto kApps = lists::MemberOf<std::string_view>(lists::kRideApps, &lists::RideApp::name);
constexpr auto kStates = lists::MemberOf<std::string_view>(lists::kStates, &lists::State::code);
constexpr auto kCapitals =
    lists::MemberOf<std::string_view>(lists::kStates, &lists::State::capital);
constexpr auto kPlaces =
    lists::MemberOf<std::string_view>(lists::kPointsOfInterest, &lists::PointOfInterest::name);

constexpr auto kColumns = std::to_array<Column>({
    TextColumn("ride_id", kNeverNull, "Identifier", "Identificador",
               "`RIDE_` and 12 digits, from 0"),
    TimeColumn("timestamp", kNeverNull, "When", "Data e hora",
               "day uniform, hour by the weights of the day, the rest uniform"),
    CategoryColumn("app", kNeverNull, kApps, "App", "Aplicativo", "45, 35, 10, 10"),
    CategoryColumn("category", kNeverNull, lists::kRideCategoryNames, "Category of the ride",
                   "Categoria da corrida",
                   "uniform among those of the app, whatever the driver has"),
    TextColumn("driver_id", kNeverNull, "Driver", "Motorista",
               "uniform among the drivers of the passenger's state, else among all"),
    TextColumn("passenger_id", kNeverNull, "Passenger", "Passageiro", "uniform over the customers"),
    DecimalColumn("pickup_location.lat", kNeverNull, 6, "degree", "Latitude of the start",
                  "Latitude da origem", "of the place"),
    DecimalColumn("pickup_location.lon", kNeverNull, 6, "degree", "Longitude of the start",
                  "Longitude da origem", "of the place"),
    CategoryColumn("pickup_location.name", kNeverNull, kPlaces, "Place of the start",
                   "Local da origem",
                   "uniform among those of SP, RJ, MG, BA or DF; for other states those of SP"),
    CategoryColumn("pickup_location.poi_type", kNeverNull, lists::kPlaceKindNames,
                   "Kind of the place", "Tipo do local", "of the place"),
    CategoryColumn("pickup_location.city", kNeverNull, kCapitals, "City of the start",
                   "Cidade da origem", "capital of the passenger's state, wherever the place is"),
    CategoryColumn("pickup_location.state", kNeverNull, kStates, "State of the start",
                   "Estado da origem", "the passenger's"),
    DecimalColumn("dropoff_location.lat", kNeverNull, 6, "degree", "Latitude of the end",
                  "Latitude do destino", "of the place"),
    DecimalColumn("dropoff_location.lon", kNeverNull, 6, "degree", "Longitude of the end",
                  "Longitude do destino", "of the place"),
    CategoryColumn("dropoff_location.name", kNeverNull, kPlaces, "Place of the end",
                   "Local do destino", "as the start, but of another kind"),
    CategoryColumn("dropoff_location.poi_type", kNeverNull, lists::kPlaceKindNames,
                   "Kind of the place", "Tipo do local", "of the place"),
    CategoryColumn("dropoff_location.city", kNeverNull, kCapitals, "City of the end",
                   "Cidade do destino", "as that of the start"),
    CategoryColumn("dropoff_location.state", kNeverNull, kStates, "State of the end",
                   "Estado do destino", "as that of the start"),
    TimeColumn("request_datetime", kNeverNull, "When it was asked for", "Data da solicitação",
               "the timestamp"),
    TimeColumn("accept_datetime", kMayBeNull, "When a driver accepted", "Data do aceite",
               "10 to 60 seconds later; only if completed"),
    TimeColumn("pickup_datetime", kMayBeNull, "When it began", "Data do embarque",
               "acceptance plus the wait; only if completed"),
    TimeColumn("dropoff_datetime", kMayBeNull, "When it ended", "Data do desembarque",
               "start plus the duration; only if completed"),
    DecimalColumn("distance_km", kNeverNull, 2, "km", "Distance", "Distância",
                  "as the crow flies times 1.3 to 1.5, at least 1"),
    CountColumn("duration_minutes", kNeverNull, "min", "Duration", "Duração",
                "by the distance and a speed that depends on the hour, at least 5"),
    CountColumn("wait_time_minutes", kMayBeNull, "min", "Wait", "Espera",
                "uniform, 2 to 15; only if completed"),
    MoneyColumn("base_fare", kNeverNull, "Fare before the surge", "Tarifa base",
                "by category, distance and duration; 0 if not completed"),
    DecimalColumn("surge_multiplier", kNeverNull, 2, "", "Surge", "Multiplicador dinâmico",
                  "by hour and weather, 1 to 3"),
    MoneyColumn("final_fare", kNeverNull, "Fare", "Tarifa final",
                "fare times surge, at least 8; 0 if not completed"),
    MoneyColumn("driver_pay", kNeverNull, "What the driver gets", "Repasse ao motorista",
                "fare less the fee; 0 if not completed"),
    MoneyColumn("platform_fee", kNeverNull, "What the app keeps", "Taxa do aplicativo",
                "25, 20, 22 or 15 % by app; 0 if not completed"),
    MoneyColumn("tip", kNeverNull, "Tip", "Gorjeta",
                "20 % of the completed rides: 10 to 25 % of the fare; else 0"),
    CategoryColumn("payment_method", kNeverNull, lists::kRidePaymentNames, "How it was paid",
                   "Forma de pagamento", "35, 30, 15, 15, 5"),
    CategoryColumn("status", kNeverNull, lists::kRideStatusNames, "What became of it", "Situação",
                   "85, 6, 4, 5"),
    CountColumn("driver_rating", kMayBeNull, "", "Rating of the driver", "Avaliação do motorista",
                "5 to 1: 70, 20, 5, 3, 2; only if completed"),
    CountColumn("passenger_rating", kMayBeNull, "", "Rating of the passenger",
                "Avaliação do passageiro", "5 to 1: 75, 18, 4, 2, 1; only if completed"),
    CategoryColumn("cancellation_reason", kMayBeNull, lists::kCancellationReasons,
                   "Why it was cancelled", "Motivo do cancelamento",
                   "only if passenger or driver cancelled: uniform of the six of either"),
    CategoryColumn("weather_condition", kNeverNull, lists::kWeatherNames, "Weather", "Clima",
                   "by region, month and hour"),
    DecimalColumn("temperature", kNeverNull, 1, "°C", "Temperature", "Temperatura",
                  "by region, season, hour and rain"),
    FlagColumn("is_fraud", kNeverNull, "Label: whether it is fraud", "Rótulo: é fraude",
               "an exact share of the rows of a block"),
    CategoryColumn("fraud_type", kMayBeNull, lists::kRideFraudTypeNames, "Label: kind of fraud",
                   "Rótulo: tipo de fraude",
                   "only of frauds: 20, 18, 15, 15, 12, 10, 10; no other field shows it"),
});

}  // namespace

const Table kRides = {"rides", "One row a ride, with its label.",
                      "Uma linha por corrida, com o rótulo de fraude.", kColumns};

}  // namespace reveza::datagen
