#include "datagen/classic/drivers.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "datagen/classic/draws.h"
#include "datagen/fixed_text.h"
#include "datagen/lists/rides.h"
#include "datagen/lists/weights.h"
#include "datagen/normal.h"

namespace reveza::datagen::classic {
namespace {

constexpr std::array<uint32_t, 5> kLicenceWeights = {60, 25, 8, 5, 2};
constexpr std::array<std::string_view, 5> kOperatingStates = {"SP", "RJ", "MG", "BA", "DF"};

struct Trips {
  int64_t least;
  int64_t most;
};
constexpr std::array<Trips, 4> kTrips = {
    {{10, 100}, {100, 1'000}, {1'000, 5'000}, {5'000, 15'000}}};
constexpr std::array<uint32_t, 4> kTripWeights = {15, 50, 25, 10};
constexpr std::array<uint32_t, 3> kAppCountWeights = {40, 40, 20};

constexpr bool OperatesIn(std::size_t state) {
  return std::ranges::find(kOperatingStates, lists::kStates[state].code) != kOperatingStates.end();
}

constexpr uint64_t kWeightOfOperatingStates = [] {
  uint64_t weight = 0;
  for (std::size_t state = 0; state < lists::kStates.size(); ++state) {
    if (OperatesIn(state)) weight += lists::kStates[state].weight;
  }
  return weight;
}();
static_assert(kWeightOfOperatingStates > 0);

// What a car of a level can serve: its own level and those below it.
bool CanServe(lists::ComfortLevel vehicle, lists::ComfortLevel category) {
  return category <= vehicle;
}

// Takes the upper part of the bits, and leaves the rest for the next to take.
uint64_t TakeBelow(uint64_t limit, uint64_t& bits) {
  const auto product = static_cast<unsigned __int128>(bits) * limit;
  bits = static_cast<uint64_t>(product);
  return static_cast<uint64_t>(product >> 64);
}

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

// The apps in an order that the bits decide, of which a driver uses the first few.
std::array<std::size_t, lists::kRideApps.size()> ShuffledApps(uint64_t bits) {
  std::array<std::size_t, lists::kRideApps.size()> apps{};
  std::iota(apps.begin(), apps.end(), std::size_t{0});
  for (std::size_t i = 0; i + 1 < apps.size(); ++i) {
    std::swap(apps[i], apps[i + TakeBelow(apps.size() - i, bits)]);
  }
  return apps;
}

}  // namespace

// As many drivers for each state as its weight says, rounded such that they add up.
Fleet::Fleet(uint64_t key, uint64_t drivers) : order_(key, drivers) {
  uint64_t weight = 0;
  for (std::size_t state = 0; state < lists::kStates.size(); ++state) {
    first_[state] = (drivers * weight + kWeightOfOperatingStates / 2) / kWeightOfOperatingStates;
    if (OperatesIn(state)) weight += lists::kStates[state].weight;
  }
  first_.back() = drivers;
}

uint32_t Fleet::StateOf(uint64_t driver) const {
  const auto next = std::ranges::upper_bound(first_, order_.At(driver));
  return static_cast<uint32_t>(next - first_.begin()) - 1;
}

uint64_t Fleet::DriverIn(uint32_t state, uint64_t bits) const {
  const uint64_t first = first_[state];
  const uint64_t count = first_[state + 1] - first;
  if (count == 0) return UpperProduct(bits, order_.size());
  return order_.IndexOf(first + UpperProduct(bits, count));
}

Drivers::Drivers(const World& world)
    : world_(world),
      cpfs_(world.seed(), world.identities()),
      fleet_(world.Random(TableKey::kDrivers, static_cast<uint32_t>(Draw::kFleet)).Bits(0),
             world.drivers()),
      licences_(lists::ChoiceOf(kLicenceWeights)),
      trips_(lists::ChoiceOf(kTripWeights)),
      app_counts_(lists::ChoiceOf(kAppCountWeights)) {
  for (uint32_t draw = 0; draw < kDraws; ++draw) {
    draws_.push_back(world.Random(TableKey::kDrivers, draw));
  }
}

void Drivers::Fill(uint64_t first, Batch& batch) const {
  FillPerson(first, batch);
  FillVehicle(first, batch);
  FillWork(first, batch);
}

void Drivers::FillPerson(uint64_t first, Batch& batch) const {
  constexpr Identifier<4, 10> kId = {"DRV_"};
  constexpr uint64_t kRegions = 10;
  const std::size_t rows = batch.rows();
  char* id = BeginFixedTexts(Texts(batch, DriverColumn::kDriverId), rows, kId.kWidth);
  char* licence = BeginFixedTexts(Texts(batch, DriverColumn::kCnhNumber), rows, 11);
  ColumnValues& names = Texts(batch, DriverColumn::kName);
  ColumnValues& phones = Texts(batch, DriverColumn::kPhone);
  ColumnValues& emails = Texts(batch, DriverColumn::kEmail);
  ColumnValues& cpfs = Texts(batch, DriverColumn::kCpf);
  const auto categories = Codes(batch, DriverColumn::kCnhCategory);
  const auto expirations = Numbers(batch, DriverColumn::kCnhExpiration);
  for (std::size_t i = 0; i < rows; ++i) {
    const uint64_t driver = first + i;
    kId.Write(id + i * kId.kWidth, driver + 1);
    People::AppendName(names.bytes, Random(Draw::kName).Bits(driver));
    names.AppendText("");
    People::AppendPhone(phones.bytes, Random(Draw::kPhone).Bits(driver),
                        Random(Draw::kPhoneDigits).Bits(driver));
    phones.AppendText("");
    people_.AppendEmail(emails.bytes, Random(Draw::kEmail).Bits(driver));
    emails.AppendText("");
    // After those of the customers, so that no two people have the same.
    const auto region = static_cast<uint32_t>(Random(Draw::kRegion).Below(kRegions, driver));
    cpfs.AppendText(View(cpfs_.At(world_.customers() + driver, region)));
    WriteDigits<11>(licence + i * 11, Random(Draw::kLicence).Below(100'000'000'000, driver));
    const uint64_t bits = Random(Draw::kLicenceUse).Bits(driver);
    categories[i] = static_cast<uint16_t>(licences_.Of(bits));
    expirations[i] =
        world_.as_of_day() + 365 * (1 + static_cast<int64_t>(UpperProduct(LowerHalf(bits), 5)));
  }
}

// Any car is as likely as any other, whatever its level.
void Drivers::FillVehicle(uint64_t first, Batch& batch) const {
  ColumnValues& plates = Texts(batch, DriverColumn::kVehiclePlate);
  const auto brands = Codes(batch, DriverColumn::kVehicleBrand);
  const auto models = Codes(batch, DriverColumn::kVehicleModel);
  const auto years = Numbers(batch, DriverColumn::kVehicleYear);
  const auto colors = Codes(batch, DriverColumn::kVehicleColor);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t driver = first + i;
    AppendPlate(plates.bytes, Random(Draw::kPlate).Bits(driver));
    plates.AppendText("");
    uint64_t bits = Random(Draw::kVehicle).Bits(driver);
    models[i] = static_cast<uint16_t>(TakeBelow(lists::kVehicles.size(), bits));
    brands[i] = lists::kBrandOfVehicle[models[i]];
    years[i] = 2015 + static_cast<int64_t>(TakeBelow(11, bits));
    colors[i] = static_cast<uint16_t>(TakeBelow(lists::kVehicleColors.size(), bits));
  }
}

void Drivers::FillWork(uint64_t first, Batch& batch) const {
  const auto ratings = Numbers(batch, DriverColumn::kRating);
  const auto trips = Numbers(batch, DriverColumn::kTripsCompleted);
  const auto registrations = Numbers(batch, DriverColumn::kRegistrationDate);
  ColumnValues& apps = Texts(batch, DriverColumn::kActiveApps);
  const auto states = Codes(batch, DriverColumn::kOperatingState);
  const auto cities = Codes(batch, DriverColumn::kOperatingCity);
  ColumnValues& categories = Texts(batch, DriverColumn::kCategoriesEnabled);
  const auto active = Flags(batch, DriverColumn::kIsActive);
  const uint16_t* const models = Codes(batch, DriverColumn::kVehicleModel);
  const auto months_ago = [&](int32_t months) {
    return DaysOf(AddMonths(world_.as_of(), -months));
  };
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t driver = first + i;
    ratings[i] = ClampedNormal(Random(Draw::kRating).Bits(driver), 470, 20, 400, 500);
    const Trips& range = kTrips[trips_.Of(Random(Draw::kTrips).Bits(driver))];
    trips[i] = Random(Draw::kTrips).Between(range.least, range.most, driver, 1);
    const auto [earliest, latest] = trips[i] < 100     ? std::pair(6, 1)
                                    : trips[i] < 1'000 ? std::pair(24, 6)
                                                       : std::pair(60, 24);
    registrations[i] =
        Random(Draw::kRegistration).Between(months_ago(earliest), months_ago(latest), driver);
    states[i] = cities[i] = static_cast<uint16_t>(fleet_.StateOf(driver));
    active[i] = Percent(Random(Draw::kActive).Bits(driver)) < 95;

    const std::size_t count = 1 + app_counts_.Of(Random(Draw::kApps).Bits(driver));
    const auto order = ShuffledApps(Random(Draw::kApps).Bits(driver, 1));
    const lists::ComfortLevel level = lists::kVehicles[models[i]].level;
    std::string_view before_app;
    std::string_view before_category;
    for (std::size_t k = 0; k < count; ++k) {
      apps.bytes += std::exchange(before_app, ";");
      apps.bytes += lists::kRideApps[order[k]].name;
      for (const lists::RideCategory& category :
           lists::Part(lists::kRideCategories, lists::kCategoriesOfApp[order[k]])) {
        if (!CanServe(level, category.level)) continue;
        categories.bytes += std::exchange(before_category, ";");
        categories.bytes += category.name;
      }
    }
    apps.AppendText("");
    categories.AppendText("");
  }
}

}  // namespace reveza::datagen::classic
