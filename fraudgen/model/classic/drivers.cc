#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "fraudgen/lists/rides.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/classic/people.h"
#include "fraudgen/model/classic/tables.h"
#include "fraudgen/schema/fixed_text.h"
#include "fraudgen/values/cpf.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::classic {
namespace {

constexpr std::array<uint32_t, 5> kLicenceWeights = {60, 25, 8, 5, 2};

constexpr std::array<Range<int64_t>, 4> kTrips = {
    {{10, 100}, {100, 1'000}, {1'000, 5'000}, {5'000, 15'000}}};
constexpr std::array<uint32_t, 4> kTripWeights = {15, 50, 25, 10};
constexpr std::array<uint32_t, 3> kAppCountWeights = {40, 40, 20};

void AppendPlate(std::string& text, uint64_t bits) {
  const bool mercosul = TakeBelow(100, bits) < 70;
  for (const char sign : std::string_view(mercosul ? "LLLDLDD" : "LLL-DDDD")) {
    if (sign == '-') {
      text += sign;
    } else {
      const bool letter = sign == 'L';
      text += static_cast<char>((letter ? 'A' : '0') + TakeBelow(letter ? 26 : 10, bits));
    }
  }
}

// Returns the apps in random order; a driver uses the first few.
std::array<std::size_t, lists::kRideApps.size()> ShuffledApps(uint64_t bits) {
  std::array<std::size_t, lists::kRideApps.size()> apps{};
  std::iota(apps.begin(), apps.end(), std::size_t{0});
  for (std::size_t i = 0; i + 1 < apps.size(); ++i) {
    std::swap(apps[i], apps[i + TakeBelow(apps.size() - i, bits)]);
  }
  return apps;
}

class Drivers final : public TableRows {
 public:
  explicit Drivers(const World& world);
  void Fill(const BatchRows& rows, Batch& batch) const override;

 private:
  using enum DriversColumn;

  // Fields of random numbers. Their order is part of the output; kFleet is drawn by World.
  enum class Draw : uint32_t {
    kFleet,
    kName,
    kPhone,
    kPhoneDigits,
    kEmail,
    kRegion,
    kLicence,
    kLicenceUse,
    kPlate,
    kVehicle,
    kRating,
    kTrips,
    kRegistration,
    kApps,
    kActive,
    kEnd
  };

  void FillPerson(uint64_t first, Batch& batch) const;
  void FillVehicle(uint64_t first, Batch& batch) const;
  void FillWork(uint64_t first, Batch& batch) const;

  const World& world_;
  CpfSequence cpfs_;
  Fields<Draw> random_;
  WeightedChoice licences_;
  WeightedChoice trips_;
  WeightedChoice app_counts_;
};

Drivers::Drivers(const World& world)
    : world_(world),
      cpfs_(world.seed(), world.identities()),
      random_(world.seed(), TableKey::kDrivers),
      licences_(kLicenceWeights),
      trips_(kTripWeights),
      app_counts_(kAppCountWeights) {}

void Drivers::Fill(const BatchRows& rows, Batch& batch) const {
  const uint64_t first = rows[0];
  FillPerson(first, batch);
  FillVehicle(first, batch);
  FillWork(first, batch);
}

void Drivers::FillPerson(uint64_t first, Batch& batch) const {
  constexpr Identifier<4, 10> kId = {"DRV_"};
  constexpr uint64_t kRegions = 10;
  const std::size_t rows = batch.rows();
  char* id = BeginFixedTexts(Texts(batch, kDriverId), rows, kId.kWidth);
  char* licence = BeginFixedTexts(Texts(batch, kCnhNumber), rows, 11);
  const auto [names, phones, emails, cpfs] = Texts(batch, kName, kPhone, kEmail, kCpf);
  const auto categories = Codes(batch, kCnhCategory);
  const auto expirations = Numbers(batch, kCnhExpiration);
  for (std::size_t i = 0; i < rows; ++i) {
    const uint64_t driver = first + i;
    kId.Write(id + i * kId.kWidth, driver + 1);
    AppendName(names, random_[Draw::kName].Bits(driver));
    AppendPhone(phones, random_[Draw::kPhone].Bits(driver),
                random_[Draw::kPhoneDigits].Bits(driver));
    AppendEmail(emails, random_[Draw::kEmail].Bits(driver));
    // CPF numbers follow those of the customers, so that all are unique.
    const auto region = static_cast<uint32_t>(random_[Draw::kRegion].Below(kRegions, driver));
    cpfs.AppendText(View(cpfs_.At(world_.customers() + driver, region)));
    WriteDigits<11>(licence + i * 11, random_[Draw::kLicence].Below(100'000'000'000, driver));
    const uint64_t bits = random_[Draw::kLicenceUse].Bits(driver);
    categories[i] = static_cast<uint16_t>(licences_.Of(bits));
    expirations[i] =
        world_.as_of_day() + 365 * (1 + static_cast<int64_t>(UpperProduct(LowerHalf(bits), 5)));
  }
}

// Cars are uniform, regardless of their comfort level, as in the original.
void Drivers::FillVehicle(uint64_t first, Batch& batch) const {
  ColumnValues& plates = Texts(batch, kVehiclePlate);
  const auto [brands, models, colors] = Codes(batch, kVehicleBrand, kVehicleModel, kVehicleColor);
  const auto years = Numbers(batch, kVehicleYear);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t driver = first + i;
    AppendPlate(plates.bytes, random_[Draw::kPlate].Bits(driver));
    plates.AppendText("");
    uint64_t bits = random_[Draw::kVehicle].Bits(driver);
    models[i] = static_cast<uint16_t>(TakeBelow(lists::kVehicles.size(), bits));
    brands[i] = lists::kBrandOfVehicle[models[i]];
    years[i] = 2015 + static_cast<int64_t>(TakeBelow(11, bits));
    colors[i] = static_cast<uint16_t>(TakeBelow(lists::kVehicleColors.size(), bits));
  }
}

void Drivers::FillWork(uint64_t first, Batch& batch) const {
  const auto [ratings, trips, registrations] =
      Numbers(batch, kRating, kTripsCompleted, kRegistrationDate);
  const auto [apps, categories] = Texts(batch, kActiveApps, kCategoriesEnabled);
  const auto [states, cities] = Codes(batch, kOperatingState, kOperatingCity);
  const auto active = Flags(batch, kIsActive);
  const uint16_t* const models = Codes(batch, kVehicleModel);
  const auto months_ago = [&](int32_t months) {
    return DaysOf(AddMonths(world_.as_of(), -months));
  };
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t driver = first + i;
    ratings[i] = ClampedNormal(random_[Draw::kRating].Bits(driver), 470, 20, 400, 500);
    const Range<int64_t>& range = kTrips[trips_.Of(random_[Draw::kTrips].Bits(driver))];
    trips[i] = random_[Draw::kTrips].Between(range.min, range.max, driver, 1);
    const auto [earliest, latest] = trips[i] < 100     ? std::pair(6, 1)
                                    : trips[i] < 1'000 ? std::pair(24, 6)
                                                       : std::pair(60, 24);
    registrations[i] =
        random_[Draw::kRegistration].Between(months_ago(earliest), months_ago(latest), driver);
    states[i] = cities[i] = static_cast<uint16_t>(world_.fleet().StateOf(driver));
    active[i] = Percent(random_[Draw::kActive].Bits(driver)) < 95;

    const std::size_t count = 1 + app_counts_.Of(random_[Draw::kApps].Bits(driver));
    const auto order = ShuffledApps(random_[Draw::kApps].Bits(driver, 1));
    const lists::ComfortLevel level = lists::kVehicles[models[i]].level;
    std::string_view before_app;
    std::string_view before_category;
    for (std::size_t k = 0; k < count; ++k) {
      apps.bytes += std::exchange(before_app, ";");
      apps.bytes += lists::kRideApps[order[k]].name;
      for (const lists::RideCategory& category :
           lists::Part(lists::kRideCategories, lists::kCategoriesOfApp[order[k]])) {
        // A car qualifies for its own comfort level and those below.
        if (category.level > level) continue;
        categories.bytes += std::exchange(before_category, ";");
        categories.bytes += category.name;
      }
    }
    apps.AppendText("");
    categories.AppendText("");
  }
}

}  // namespace

std::unique_ptr<TableRows> MakeDrivers(const World& world) {
  return std::make_unique<Drivers>(world);
}

}  // namespace reveza::fraudgen::classic
