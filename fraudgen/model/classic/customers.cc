#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/devices.h"
#include "fraudgen/lists/people.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/classic/people.h"
#include "fraudgen/model/classic/tables.h"
#include "fraudgen/schema/fixed_text.h"
#include "fraudgen/values/cpf.h"
#include "fraudgen/values/random.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen::classic {
namespace {

constexpr uint32_t kSenior = static_cast<uint32_t>(lists::ProfileKind::kTraditionalSenior);
constexpr uint32_t kSpender = static_cast<uint32_t>(lists::ProfileKind::kHighSpender);

constexpr std::array<uint32_t, 3> kDigitalAccountTypes = {25, 5, 70};  // in category order
constexpr std::array<uint32_t, 3> kAccountTypes = {40, 20, 40};
constexpr std::array<uint32_t, 3> kAccountStatuses = {95, 3, 2};
// Weights of high, medium and low risk: for accounts younger than 30 days, younger than 180 days
// and older ones; for high spenders; for seniors.
constexpr std::array<std::array<uint32_t, 3>, 5> kRisks = {
    {{30, 50, 20}, {10, 40, 50}, {5, 25, 70}, {15, 35, 50}, {20, 40, 40}}};

// Suffixes that turn a surname into the name of a fictitious city.
constexpr std::array<std::string_view, 16> kCityEndings = {
    " do Sul",   " do Norte", " de Minas",  " do Campo",  " Grande", " da Serra",
    " do Oeste", " de Goiás", " Paulista",  " da Mata",   " Alegre", " da Praia",
    " Verde",    " Velho",    " do Amparo", " das Flores"};

// A higher income raises the score.
constexpr int64_t kHighIncome = 1'000'000;
constexpr int64_t kMiddleIncome = 500'000;

class Customers final : public TableRows {
 public:
  explicit Customers(const World& world);
  void Fill(const BatchRows& rows, Batch& batch) const override;

 private:
  using enum CustomersColumn;

  // Fields of random numbers. Their order is part of the output; kTraits is drawn by World.
  enum class Draw : uint32_t {
    kTraits,
    kName,
    kEmail,
    kPhone,
    kPhoneDigits,
    kBirth,
    kStreet,
    kCity,
    kPostalCode,
    kBracket,
    kIncome,
    kProfession,
    kCreated,
    kAccount,
    kLimit,
    kScore,
    kRisk,
    kBank,
    kAccountNumber,
    kEnd
  };

  void FillPerson(uint64_t first, Batch& batch) const;
  void FillAddress(uint64_t first, Batch& batch) const;
  void FillMoney(uint64_t first, Batch& batch) const;
  void FillBank(uint64_t first, Batch& batch) const;
  int64_t CreatedAt(uint64_t customer, uint32_t profile) const;
  uint16_t RiskOf(uint64_t customer, uint32_t profile, int64_t age_days) const;

  const World& world_;
  CpfSequence cpfs_;
  Fields<Draw> random_;
  WeightedChoice brackets_;
  WeightedChoice digital_account_types_;
  WeightedChoice account_types_;
  WeightedChoice account_statuses_;
  WeightedChoice banks_;
  std::vector<WeightedChoice> risks_;  // young, middle and old account, spender, senior
};

Customers::Customers(const World& world)
    : world_(world),
      cpfs_(world.seed(), world.identities()),
      random_(world.seed(), TableKey::kCustomers),
      brackets_(lists::kIncomeBracketWeights),
      digital_account_types_(kDigitalAccountTypes),
      account_types_(kAccountTypes),
      account_statuses_(kAccountStatuses),
      banks_(lists::ChoiceOfRows(lists::kBanks)) {
  for (const auto& weights : kRisks) risks_.emplace_back(weights);
}

void Customers::Fill(const BatchRows& rows, Batch& batch) const {
  const uint64_t first = rows[0];
  FillPerson(first, batch);
  FillAddress(first, batch);
  FillMoney(first, batch);
  FillBank(first, batch);
}

void Customers::FillPerson(uint64_t first, Batch& batch) const {
  constexpr Identifier<5, 12> kId = {"CUST_"};
  const std::size_t rows = batch.rows();
  char* id = BeginFixedTexts(Texts(batch, kCustomerId), rows, kId.kWidth);
  const auto [names, cpfs, emails, phones] = Texts(batch, kName, kCpf, kEmail, kPhone);
  const auto births = Numbers(batch, kBirthDate);
  const auto [profiles, professions] = Codes(batch, kBehavioralProfile, kProfession);
  const auto profile_present = Present(batch, kBehavioralProfile);
  for (std::size_t i = 0; i < rows; ++i) {
    const uint64_t customer = first + i;
    const Traits traits = world_.TraitsOf(customer);
    kId.Write(id + i * kId.kWidth, customer + 1);
    AppendName(names, random_[Draw::kName].Bits(customer));
    cpfs.AppendText(View(cpfs_.At(customer, lists::kStates[traits.state].fiscal_region)));
    AppendEmail(emails, random_[Draw::kEmail].Bits(customer));
    AppendPhone(phones, random_[Draw::kPhone].Bits(customer),
                random_[Draw::kPhoneDigits].Bits(customer));

    const Range<int64_t> ages =
        world_.profiles() ? lists::Profiles()[traits.profile].age : Range<int64_t>{18, 80};
    const FieldRandom& random = random_[Draw::kBirth];
    const auto age = static_cast<int32_t>(random.Between(ages.min, ages.max, customer));
    const int64_t latest = DaysOf(AddMonths(world_.as_of(), -12 * age));
    const int64_t earliest = DaysOf(AddMonths(world_.as_of(), -12 * (age + 1))) + 1;
    births[i] = random.Between(earliest, latest, customer, 1);

    profile_present[i] = world_.profiles();
    profiles[i] = world_.profiles() ? static_cast<uint16_t>(traits.profile) : uint16_t{0};
    professions[i] = static_cast<uint16_t>(
        random_[Draw::kProfession].Below(lists::kProfessions.size(), customer));
  }
}

// City and postal code are independent of the state, as in the original.
void Customers::FillAddress(uint64_t first, Batch& batch) const {
  const auto [streets, neighborhoods, cities, postal_codes] =
      Texts(batch, kAddressStreet, kAddressNeighborhood, kAddressCity, kAddressPostalCode);
  const auto states = Codes(batch, kAddressState);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t customer = first + i;
    states[i] = static_cast<uint16_t>(world_.TraitsOf(customer).state);

    uint64_t bits = random_[Draw::kStreet].Bits(customer);
    streets.bytes += lists::kStreets[UpperProduct(bits, lists::kStreets.size())];
    streets.bytes += ", ";
    AppendInteger(streets.bytes, 1 + static_cast<int64_t>(UpperProduct(bits << 20, 2'999)));
    streets.AppendText("");
    neighborhoods.AppendText(
        lists::kNeighborhoods[UpperProduct(bits << 40, lists::kNeighborhoods.size())]);

    bits = random_[Draw::kCity].Bits(customer);
    cities.bytes += lists::kSurnames[UpperProduct(bits, lists::kSurnames.size())];
    cities.AppendText(kCityEndings[UpperProduct(LowerHalf(bits), kCityEndings.size())]);

    bits = random_[Draw::kPostalCode].Bits(customer);
    AppendDigits(postal_codes.bytes, bits, 5);
    if ((bits & 1) != 0) postal_codes.bytes += '-';
    AppendDigits(postal_codes.bytes, bits << 31, 3);
    postal_codes.AppendText("");
  }
}

// Accounts of seniors are older.
int64_t Customers::CreatedAt(uint64_t customer, uint32_t profile) const {
  const bool senior = profile == kSenior;
  const int64_t earliest = DaysOf(AddMonths(world_.as_of(), senior ? -120 : -60));
  const int64_t latest = DaysOf(AddMonths(world_.as_of(), senior ? -24 : -1));
  return random_[Draw::kCreated].Between(earliest * kMicrosecondsPerDay,
                                         latest * kMicrosecondsPerDay, customer);
}

uint16_t Customers::RiskOf(uint64_t customer, uint32_t profile, int64_t age_days) const {
  std::size_t row = age_days < 30 ? 0 : age_days < 180 ? 1 : 2;
  if (profile == kSpender) row = 3;
  if (profile == kSenior) row = 4;
  return static_cast<uint16_t>(risks_[row].Of(random_[Draw::kRisk].Bits(customer)));
}

void Customers::FillMoney(uint64_t first, Batch& batch) const {
  constexpr uint64_t kSteps = 10'000;  // of a factor
  const auto [incomes, created, limits, scores] =
      Numbers(batch, kMonthlyIncome, kAccountCreatedAt, kCreditLimit, kCreditScore);
  const auto risks = Codes(batch, kRiskLevel);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t customer = first + i;
    const uint32_t profile = world_.TraitsOf(customer).profile;
    const Range<int64_t>& bracket =
        lists::kIncomeBrackets[brackets_.Of(random_[Draw::kBracket].Bits(customer))];
    int64_t income = random_[Draw::kIncome].Between(bracket.min * 100, bracket.max * 100, customer);
    if (profile != World::kNoProfile) {
      const lists::Profile& row = lists::Profiles()[profile];
      const int64_t factor = random_[Draw::kIncome].Between(
          row.income_percent.min * 100, row.income_percent.max * 100, customer, 1);
      income = (income * factor + kSteps / 2) / static_cast<int64_t>(kSteps);
    }
    incomes[i] = income;
    const int64_t limit_factor = random_[Draw::kLimit].Between(2 * kSteps, 8 * kSteps, customer);
    limits[i] = (income * limit_factor + kSteps / 2) / static_cast<int64_t>(kSteps);

    created[i] = CreatedAt(customer, profile);
    const int64_t age_days =
        (world_.as_of_day() * kMicrosecondsPerDay - created[i]) / kMicrosecondsPerDay;
    const int64_t bonus = income > kHighIncome ? 100 : income > kMiddleIncome ? 50 : 0;
    // In hundredths, finally rounded down.
    const int64_t score =
        30'000 + 500 * age_days / 30 + 100 * bonus +
        ClampedNormal(random_[Draw::kScore].Bits(customer), 10'000, 5'000, -100'000, 100'000);
    scores[i] = std::clamp<int64_t>(score / 100, 300, 900);
    risks[i] = RiskOf(customer, profile, age_days);
  }
}

void Customers::FillBank(uint64_t first, Batch& batch) const {
  const auto [types, statuses, codes, names] =
      Codes(batch, kAccountType, kAccountStatus, kBankCode, kBankName);
  const auto [branches, accounts] = Texts(batch, kBranch, kAccountNumber);
  char* branch = BeginFixedTexts(branches, batch.rows(), 4);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t customer = first + i;
    const uint32_t profile = world_.TraitsOf(customer).profile;
    const bool digital = profile == static_cast<uint32_t>(lists::ProfileKind::kYoungDigital) ||
                         profile == static_cast<uint32_t>(lists::ProfileKind::kSubscriptionHeavy);
    uint64_t bits = random_[Draw::kAccount].Bits(customer);
    types[i] = static_cast<uint16_t>((digital ? digital_account_types_ : account_types_).Of(bits));
    statuses[i] = static_cast<uint16_t>(account_statuses_.Of(LowerHalf(bits)));

    bits = random_[Draw::kBank].Bits(customer);
    codes[i] = names[i] = static_cast<uint16_t>(banks_.Of(bits));
    WriteDigits<4>(branch + i * 4, 1 + UpperProduct(LowerHalf(bits), 9'999));

    bits = random_[Draw::kAccountNumber].Bits(customer);
    AppendInteger(accounts.bytes, 10'000 + static_cast<int64_t>(UpperProduct(bits, 990'000)));
    accounts.bytes += '-';
    AppendDigits(accounts.bytes, LowerHalf(bits), 1);
    accounts.AppendText("");
  }
}

}  // namespace

std::unique_ptr<TableRows> MakeCustomers(const World& world) {
  return std::make_unique<Customers>(world);
}

Devices::Devices(const World& world)
    : world_(world), random_(world.seed(), TableKey::kDevices), kinds_(lists::kDeviceKindWeights) {}

// A customer's first device is of the profile's preferred kind.
lists::DeviceKind Devices::KindOf(const Owner& owner, uint64_t number) const {
  const uint64_t bits = random_[Draw::kKind].Bits(number);
  if (!world_.profiles()) return static_cast<lists::DeviceKind>(kinds_.Of(bits));
  const auto preferred = lists::Profiles()[owner.traits.profile].devices;
  return owner.device == 0 ? preferred.front() : preferred[UpperProduct(bits, preferred.size())];
}

void Devices::Fill(std::span<const Owner> owners, Batch& batch) const {
  constexpr Identifier<4, 12> kDevice = {"DEV_"};
  constexpr Identifier<5, 12> kCustomer = {"CUST_"};
  constexpr std::size_t kPrint = 32;
  const std::size_t rows = batch.rows();
  char* device = BeginFixedTexts(Texts(batch, DevicesColumn::kDeviceId), rows, kDevice.kWidth);
  char* customer =
      BeginFixedTexts(Texts(batch, DevicesColumn::kCustomerId), rows, kCustomer.kWidth);
  char* print = BeginFixedTexts(Texts(batch, DevicesColumn::kFingerprint), rows, kPrint);
  const auto [types, manufacturers, models, systems] =
      Codes(batch, DevicesColumn::kType, DevicesColumn::kManufacturer, DevicesColumn::kModel,
            DevicesColumn::kOperatingSystem);
  const auto first_uses = Numbers(batch, DevicesColumn::kFirstUse);
  const auto [trusted, rooted] =
      Flags(batch, DevicesColumn::kIsTrusted, DevicesColumn::kIsRootedJailbroken);
  const int64_t two_years_ago = DaysOf(AddMonths(world_.as_of(), -24));
  const auto use_days = static_cast<uint64_t>(world_.as_of_day() - two_years_ago) + 1;
  for (std::size_t i = 0; i < rows; ++i) {
    const uint64_t number = World::DeviceNumber(owners[i].customer, owners[i].device);
    kDevice.Write(device + i * kDevice.kWidth, number);
    kCustomer.Write(customer + i * kCustomer.kWidth, owners[i].customer + 1);
    WriteHex(print + i * kPrint, random_[Draw::kPrintUpper].Bits(number));
    WriteHex(print + i * kPrint + kPrint / 2, random_[Draw::kPrintLower].Bits(number));

    const lists::DeviceKind kind = KindOf(owners[i], number);
    const auto kind_index = static_cast<std::size_t>(kind);
    types[i] = lists::kTypeOfDeviceKind[kind_index];
    uint64_t bits = random_[Draw::kModel].Bits(number);
    const auto makers = lists::ManufacturersOf(kind);
    manufacturers[i] = makers[UpperProduct(bits, makers.size())];
    const lists::Slice of_maker = lists::kModelsOfManufacturer[manufacturers[i]];
    models[i] =
        static_cast<uint16_t>(of_maker.first + UpperProduct(LowerHalf(bits), of_maker.count));
    const lists::Slice of_kind = lists::kOperatingSystemsOfKind[kind_index];
    systems[i] =
        static_cast<uint16_t>(of_kind.first + random_[Draw::kSystem].Below(of_kind.count, number));

    bits = random_[Draw::kUse].Bits(number);
    first_uses[i] = two_years_ago + static_cast<int64_t>(UpperProduct(bits, use_days));
    trusted[i] = Percent(bits << 24) < 85;
    rooted[i] = Percent(bits << 44) < 3;
  }
}

}  // namespace reveza::fraudgen::classic
