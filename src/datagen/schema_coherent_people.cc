#include <array>

#include "datagen/lists/commerce.h"
#include "datagen/lists/devices.h"
#include "datagen/lists/people.h"
#include "datagen/lists/places.h"
#include "datagen/schema_coherent.h"
#include "datagen/schema_column.h"

namespace reveza::datagen::coherent {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto kStateCodes = lists::MemberOf<std::string_view>(lists::kStates, &lists::State::code);
constexpr std::array kAccountTypes = {"CHECKING"sv, "SAVINGS"sv, "DIGITAL"sv};
constexpr std::array kRiskLevels = {"HIGH"sv, "MEDIUM"sv, "LOW"sv};

constexpr auto kCustomerColumns = std::to_array<Column>({
    TextColumn("customer_id", kNeverNull, "Identifier", "Identificador",
               "`CUST_` and 12 digits, a permutation of the customers' numbers"),
    TextColumn("name", kNeverNull, "Full name", "Nome completo",
               "made-up first name and two surnames"),
    TextColumn("cpf", kNeverNull, "Taxpayer number", "CPF",
               "unique; ninth digit by the fiscal region of the state, two check digits"),
    TextColumn("email", kNeverNull, "E-mail address", "Endereço de e-mail",
               "of the name, at an example domain"),
    TextColumn("phone", kNeverNull, "Telephone number", "Telefone",
               "mobile number with the area code of the city"),
    DateColumn("birth_date", kNeverNull, "Day of birth", "Data de nascimento",
               "age in the range of the profile"),
    TextColumn("address.street", kNeverNull, "Street and number", "Rua e número", "own list"),
    TextColumn("address.neighborhood", kNeverNull, "Neighbourhood", "Bairro", "own list"),
    TextColumn("address.city", kNeverNull, "City", "Cidade", "a city of the state"),
    CategoryColumn("address.state", kNeverNull, kStateCodes, "State", "Estado (UF)", "by weight"),
    TextColumn("address.postal_code", kNeverNull, "Postal code", "CEP", "in the range of the city"),
    MoneyColumn("monthly_income", kNeverNull, "Income a month", "Renda mensal",
                "bracket by weight, times the factor of the profile"),
    CategoryColumn("profession", kNeverNull, lists::kProfessions, "Profession", "Profissão",
                   "own list"),
    CountColumn("credit_score", kNeverNull, "", "Credit score, 300 to 900",
                "Score de crédito, 300 a 900", "from the age of the account and the income"),
    CategoryColumn("risk_level", kNeverNull, kRiskLevels, "Risk level", "Nível de risco",
                   "by the age of the account"),
    CategoryColumn("behavioral_profile", kNeverNull, kProfileNames, "Behavioural profile",
                   "Perfil comportamental", "by weight: 25, 15, 10, 8, 20, 22"),
});

constexpr auto kAccountColumns = std::to_array<Column>({
    TextColumn("account_id", kNeverNull, "Identifier", "Identificador",
               "`ACC_` and 15 digits, as in `transactions.counterparty_account`"),
    TextColumn("customer_id", kNeverNull, "Owner", "Titular", "one account each"),
    CategoryColumn("bank_code", kNeverNull, lists::kBankCodes, "Code of the bank",
                   "Código do banco", "by weight"),
    TextColumn("branch", kNeverNull, "Branch", "Agência", "four digits"),
    TextColumn("account_number", kNeverNull, "Account number", "Número da conta",
               "eight digits, a dash and a digit; unique"),
    CategoryColumn("account_type", kNeverNull, kAccountTypes, "Kind of account", "Tipo de conta",
                   "by weight, which the profile decides"),
    TimeColumn("opened_at", kNeverNull, "When it was opened", "Abertura da conta",
               "before the first row of the customer"),
    MoneyColumn("opening_balance", kNeverNull, "Balance at the beginning", "Saldo inicial",
                "0.2 to 1.5 incomes"),
    MoneyColumn("credit_limit", kNeverNull, "Limit of the credit card", "Limite de crédito",
                "income times 2 to 8"),
    MoneyColumn("pix_night_limit", kNeverNull, "Limit of PIX from 20:00 to 06:00",
                "Limite noturno de PIX", "1,000 BRL"),
    CategoryColumn("fraud_role", kMayBeNull, kAccountRoleNames, "Label: what the account is for",
                   "Rótulo: papel da conta na fraude", "null for honest accounts"),
});

constexpr auto kDeviceColumns = std::to_array<Column>({
    TextColumn("device_id", kNeverNull, "Identifier", "Identificador",
               "`DEV_` and 15 digits; in several rows if several customers use it"),
    TextColumn("customer_id", kNeverNull, "Whose account it is used for",
               "Cliente em cuja conta é usado", "every pair that occurs in `transactions` is here"),
    CategoryColumn("type", kNeverNull, lists::kDeviceTypes, "Kind of device", "Tipo de aparelho",
                   "by the profile"),
    CategoryColumn("manufacturer", kNeverNull, lists::kManufacturers, "Manufacturer", "Fabricante",
                   "own list"),
    CategoryColumn("model", kNeverNull, lists::kDeviceModelNames, "Model", "Modelo",
                   "own list, of the manufacturer"),
    CategoryColumn("operating_system", kNeverNull, lists::kOperatingSystems, "Operating system",
                   "Sistema operacional", "of the kind of device"),
    TextColumn("fingerprint", kNeverNull, "Fingerprint", "Impressão digital do aparelho",
               "32 hexadecimal digits of the device"),
    TimeColumn("first_use", kNeverNull, "First use with this account", "Primeiro uso nesta conta",
               "before its first row"),
    FlagColumn("is_rooted_jailbroken", kNeverNull, "Whether it is rooted", "Aparelho com root",
               "3 % of devices"),
});

}  // namespace

const Table kCustomers = {"customers", "One row a person with an account.",
                          "Uma linha por pessoa com conta.", kCustomerColumns};
const Table kAccounts = {"accounts", "One row an account of a customer.",
                         "Uma linha por conta de cliente.", kAccountColumns};
const Table kDevices = {"devices", "One row a device and customer.",
                        "Uma linha por aparelho e cliente.", kDeviceColumns};

}  // namespace reveza::datagen::coherent
