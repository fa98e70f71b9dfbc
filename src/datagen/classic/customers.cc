#include "datagen/classic/customers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "datagen/classic/draws.h"
#include "datagen/fixed_text.h"
#include "datagen/lists/commerce.h"
#include "datagen/lists/people.h"
#include "datagen/lists/places.h"
#include "datagen/lists/weights.h"
#include "datagen/normal.h"
#include "datagen/text_format.h"

namespace reveza::datagen::classic {
namespace {

constexpr uint32_t kSenior = static_cast<uint32_t>(lists::ProfileKind::kTraditionalSenior);
constexpr uint32_t kSpender = static_cast<uint32_t>(lists::ProfileKind::kHighSpender);

constexpr std::array<uint32_t, 3> kDigitalAccountTypes = {25, 5, 70};  // as the categories
constexpr std::array<uint32_t, 3> kAccountTypes = {40, 20, 40};
constexpr std::array<uint32_t, 3> kAccountStatuses = {95, 3, 2};
// High, medium and low risk of an account of less than 30 days, of less than 180, of an older one;
// of a profile that spends, of an elderly one.
constexpr std::array<std::array<uint32_t, 3>, 5> kRisks = {
    {{30, 50, 20}, {10, 40, 50}, {5, 25, 70}, {15, 35, 50}, {20, 40, 40}}};

// What follows a surname to make the name of a city that does not exist.
constexpr std::array<std::string_view, 16> kCityEndings = {
    " do Sul",   " do Norte", " de Minas",  " do Campo",  " Grande", " da Serra",
    " do Oeste", " de Goiás", " Paulista",  " da Mata",   " Alegre", " da Praia",
    " Verde",    " Velho",    " do Amparo", " das Flores"};

// Above it the score rises.
constexpr int64_t kHighIncome = 1'000'000;
constexpr int64_t kMiddleIncome = 500'000;

}  // namespace

Customers::Customers(const World& world)
    : world_(world),
      cpfs_(world.seed(), world.identities()),
      brackets_(lists::ChoiceOf(lists::kIncomeBracketWeights)),
      digital_account_types_(lists::ChoiceOf(kDigitalAccountTypes)),
      account_types_(lists::ChoiceOf(kAccountTypes)),
      account_statuses_(lists::ChoiceOf(kAccountStatuses)),
      banks_(lists::ChoiceOf(lists::MemberOf<uint32_t>(lists::kBanks, &lists::Bank::weight))) {
  for (uint32_t draw = 0; draw < kDraws; ++draw) {
    draws_.push_back(world.Random(TableKey::kCustomers, draw));
  }
  for (const auto& weights : kRisks) risks_.push_back(lists::ChoiceOf(weights));
}

void Customers::Fill(uint64_t first, Batch& batch) const {
  FillPerson(first, batch);
  FillAddress(first, batch);
  FillMoney(first, batch);
  FillBank(first, batch);
}

void Customers::FillPerson(uint64_t first, Batch& batch) const {
  constexpr Identifier<5, 12> kId = {"CUST_"};
  const std::size_t rows = batch.rows();
  char* id = BeginFixedTexts(Texts(batch, CustomerColumn::kCustomerId), rows, kId.kWidth);
  ColumnValues& names = Texts(batch, CustomerColumn::kName);
  ColumnValues& cpfs = Texts(batch, CustomerColumn::kCpf);
  ColumnValues& emails = Texts(batch, CustomerColumn::kEmail);
  ColumnValues& phones = Texts(batch, CustomerColumn::kPhone);
  const auto births = Numbers(batch, CustomerColumn::kBirthDate);
  const auto profiles = Codes(batch, CustomerColumn::kBehavioralProfile);
  const auto profile_present = Present(batch, CustomerColumn::kBehavioralProfile);
  const auto professions = Codes(batch, CustomerColumn::kProfession);
  const auto end = [](ColumnValues& column) {
    column.ends.push_back(static_cast<int32_t>(column.bytes.size()));
  };
  for (std::size_t i = 0; i < rows; ++i) {
    const uint64_t customer = first + i;
    const Traits traits = world_.TraitsOf(customer);
    kId.Write(id + i * kId.kWidth, customer + 1);
    People::AppendName(names.bytes, Random(Draw::kName).Bits(customer));
    end(names);
    cpfs.AppendText(View(cpfs_.At(customer, lists::kStates[traits.state].fiscal_region)));
    people_.AppendEmail(emails.bytes, Random(Draw::kEmail).Bits(customer));
    end(emails);
    People::AppendPhone(phones.bytes, Random(Draw::kPhone).Bits(customer),
                        Random(Draw::kPhoneDigits).Bits(customer));
    end(phones);

    int32_t least_age = 18;
    int32_t most_age = 80;
    if (world_.profiles()) {
      least_age = lists::Profiles()[traits.profile].least_age;
      most_age = lists::Profiles()[traits.profile].most_age;
    }
    const FieldRandom& random = Random(Draw::kBirth);
    const auto age = static_cast<int32_t>(random.Between(least_age, most_age, customer));
    const int64_t latest = DaysOf(AddMonths(world_.as_of(), -12 * age));
    const int64_t earliest = DaysOf(AddMonths(world_.as_of(), -12 * (age + 1))) + 1;
    births[i] = random.Between(earliest, latest, customer, 1);

    profile_present[i] = world_.profiles();
    profiles[i] = world_.profiles() ? static_cast<uint16_t>(traits.profile) : uint16_t{0};
    professions[i] = static_cast<uint16_t>(
        Random(Draw::kProfession).Below(lists::kProfessions.size(), customer));
  }
}

// City and postal code have nothing to do with the state.
void Customers::FillAddress(uint64_t first, Batch& batch) const {
  ColumnValues& streets = Texts(batch, CustomerColumn::kStreet);
  ColumnValues& neighborhoods = Texts(batch, CustomerColumn::kNeighborhood);
  ColumnValues& cities = Texts(batch, CustomerColumn::kCity);
  ColumnValues& postal_codes = Texts(batch, CustomerColumn::kPostalCode);
  const auto states = Codes(batch, CustomerColumn::kState);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t customer = first + i;
    states[i] = static_cast<uint16_t>(world_.TraitsOf(customer).state);

    uint64_t bits = Random(Draw::kStreet).Bits(customer);
    streets.bytes += lists::kStreets[UpperProduct(bits, lists::kStreets.size())];
    streets.bytes += ", ";
    AppendInteger(streets.bytes, 1 + static_cast<int64_t>(UpperProduct(bits << 20, 2'999)));
    streets.AppendText("");
    neighborhoods.AppendText(
        lists::kNeighborhoods[UpperProduct(bits << 40, lists::kNeighborhoods.size())]);

    bits = Random(Draw::kCity).Bits(customer);
    cities.bytes += lists::kSurnames[UpperProduct(bits, lists::kSurnames.size())];
    cities.AppendText(kCityEndings[UpperProduct(LowerHalf(bits), kCityEndings.size())]);

    bits = Random(Draw::kPostalCode).Bits(customer);
    AppendDigits(postal_codes.bytes, bits, 5);
    if ((bits & 1) != 0) postal_codes.bytes += '-';
    AppendDigits(postal_codes.bytes, bits << 31, 3);
    postal_codes.AppendText("");
  }
}

// Seniors have had their account for longer.
int64_t Customers::CreatedAt(uint64_t customer, uint32_t profile) const {
  const bool senior = profile == kSenior;
  const int64_t earliest = DaysOf(AddMonths(world_.as_of(), senior ? -120 : -60));
  const int64_t latest = DaysOf(AddMonths(world_.as_of(), senior ? -24 : -1));
  return Random(Draw::kCreated)
      .Between(earliest * kMicrosecondsPerDay, latest * kMicrosecondsPerDay, customer);
}

uint16_t Customers::RiskOf(uint64_t customer, uint32_t profile, int64_t age_days) const {
  std::size_t row = age_days < 30 ? 0 : age_days < 180 ? 1 : 2;
  if (profile == kSpender) row = 3;
  if (profile == kSenior) row = 4;
  return static_cast<uint16_t>(risks_[row].Of(Random(Draw::kRisk).Bits(customer)));
}

void Customers::FillMoney(uint64_t first, Batch& batch) const {
  constexpr uint64_t kSteps = 10'000;  // of a factor
  const auto incomes = Numbers(batch, CustomerColumn::kMonthlyIncome);
  const auto created = Numbers(batch, CustomerColumn::kAccountCreatedAt);
  const auto limits = Numbers(batch, CustomerColumn::kCreditLimit);
  const auto scores = Numbers(batch, CustomerColumn::kCreditScore);
  const auto risks = Codes(batch, CustomerColumn::kRiskLevel);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t customer = first + i;
    const uint32_t profile = world_.TraitsOf(customer).profile;
    const lists::IncomeBracket& bracket =
        lists::kIncomeBrackets[brackets_.Of(Random(Draw::kBracket).Bits(customer))];
    int64_t income =
        Random(Draw::kIncome).Between(bracket.least * 100, bracket.most * 100, customer);
    if (profile != World::kNoProfile) {
      const lists::Profile& row = lists::Profiles()[profile];
      const int64_t factor =
          Random(Draw::kIncome)
              .Between(row.least_income_percent * 100, row.most_income_percent * 100, customer, 1);
      income = (income * factor + kSteps / 2) / static_cast<int64_t>(kSteps);
    }
    incomes[i] = income;
    const int64_t limit_factor = Random(Draw::kLimit).Between(2 * kSteps, 8 * kSteps, customer);
    limits[i] = (income * limit_factor + kSteps / 2) / static_cast<int64_t>(kSteps);

    created[i] = CreatedAt(customer, profile);
    const int64_t age_days =
        (world_.as_of_day() * kMicrosecondsPerDay - created[i]) / kMicrosecondsPerDay;
    const int64_t bonus = income > kHighIncome ? 100 : income > kMiddleIncome ? 50 : 0;
    // In hundredths, rounded down in the end.
    const int64_t score =
        30'000 + 500 * age_days / 30 + 100 * bonus +
        ClampedNormal(Random(Draw::kScore).Bits(customer), 10'000, 5'000, -100'000, 100'000);
    scores[i] = std::clamp<int64_t>(score / 100, 300, 900);
    risks[i] = RiskOf(customer, profile, age_days);
  }
}

void Customers::FillBank(uint64_t first, Batch& batch) const {
  const auto types = Codes(batch, CustomerColumn::kAccountType);
  const auto statuses = Codes(batch, CustomerColumn::kAccountStatus);
  const auto codes = Codes(batch, CustomerColumn::kBankCode);
  const auto names = Codes(batch, CustomerColumn::kBankName);
  ColumnValues& branches = Texts(batch, CustomerColumn::kBranch);
  ColumnValues& accounts = Texts(batch, CustomerColumn::kAccountNumber);
  char* branch = BeginFixedTexts(branches, batch.rows(), 4);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t customer = first + i;
    const uint32_t profile = world_.TraitsOf(customer).profile;
    const bool digital = profile == static_cast<uint32_t>(lists::ProfileKind::kYoungDigital) ||
                         profile == static_cast<uint32_t>(lists::ProfileKind::kSubscriptionHeavy);
    uint64_t bits = Random(Draw::kAccount).Bits(customer);
    types[i] = static_cast<uint16_t>((digital ? digital_account_types_ : account_types_).Of(bits));
    statuses[i] = static_cast<uint16_t>(account_statuses_.Of(LowerHalf(bits)));

    bits = Random(Draw::kBank).Bits(customer);
    codes[i] = names[i] = static_cast<uint16_t>(banks_.Of(bits));
    WriteDigits<4>(branch + i * 4, 1 + UpperProduct(LowerHalf(bits), 9'999));

    bits = Random(Draw::kAccountNumber).Bits(customer);
    AppendInteger(accounts.bytes, 10'000 + static_cast<int64_t>(UpperProduct(bits, 990'000)));
    accounts.bytes += '-';
    AppendDigits(accounts.bytes, LowerHalf(bits), 1);
    accounts.AppendText("");
  }
}

}  // namespace reveza::datagen::classic
