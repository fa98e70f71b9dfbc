#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/devices.h"
#include "fraudgen/lists/people.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/profiles.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/lists/weights.h"

namespace reveza::fraudgen::lists {
namespace lists_test {

template <typename Values>
void ExpectDistinct(const Values& values, std::size_t at_least) {
  const std::set<std::string_view> set(values.begin(), values.end());
  EXPECT_EQ(set.size(), values.size());
  EXPECT_GE(set.size(), at_least);
}

template <typename Weights>
uint32_t Sum(const Weights& weights) {
  return std::accumulate(weights.begin(), weights.end(), uint32_t{0});
}

// The ranges of each state's postal codes, first three digits.
const std::vector<std::pair<std::string_view, std::vector<std::pair<int, int>>>>& PostalAreas() {
  static const std::vector<std::pair<std::string_view, std::vector<std::pair<int, int>>>> kAreas = {
      {"SP", {{10, 199}}},
      {"RJ", {{200, 289}}},
      {"ES", {{290, 299}}},
      {"MG", {{300, 399}}},
      {"BA", {{400, 489}}},
      {"SE", {{490, 499}}},
      {"PE", {{500, 569}}},
      {"AL", {{570, 579}}},
      {"PB", {{580, 589}}},
      {"RN", {{590, 599}}},
      {"CE", {{600, 639}}},
      {"PI", {{640, 649}}},
      {"MA", {{650, 659}}},
      {"PA", {{660, 688}}},
      {"AP", {{689, 689}}},
      {"AM", {{690, 692}, {694, 698}}},
      {"RR", {{693, 693}}},
      {"AC", {{699, 699}}},
      {"DF", {{700, 727}, {730, 736}}},
      {"GO", {{728, 729}, {737, 767}}},
      {"RO", {{768, 769}}},
      {"TO", {{770, 779}}},
      {"MT", {{780, 788}}},
      {"MS", {{790, 799}}},
      {"PR", {{800, 879}}},
      {"SC", {{880, 899}}},
      {"RS", {{900, 999}}}};
  return kAreas;
}

// The area codes of each state.
const std::vector<std::pair<std::string_view, std::vector<uint32_t>>>& AreaCodes() {
  static const std::vector<std::pair<std::string_view, std::vector<uint32_t>>> kCodes = {
      {"SP", {11, 12, 13, 14, 15, 16, 17, 18, 19}},
      {"RJ", {21, 22, 24}},
      {"ES", {27, 28}},
      {"MG", {31, 32, 33, 34, 35, 37, 38}},
      {"PR", {41, 42, 43, 44, 45, 46}},
      {"SC", {47, 48, 49}},
      {"RS", {51, 53, 54, 55}},
      {"DF", {61}},
      {"GO", {61, 62, 64}},
      {"TO", {63}},
      {"MT", {65, 66}},
      {"MS", {67}},
      {"AC", {68}},
      {"RO", {69}},
      {"BA", {71, 73, 74, 75, 77}},
      {"SE", {79}},
      {"PE", {81, 87}},
      {"AL", {82}},
      {"PB", {83}},
      {"RN", {84}},
      {"CE", {85, 88}},
      {"PI", {86, 89}},
      {"PA", {91, 93, 94}},
      {"AM", {92, 97}},
      {"RR", {95}},
      {"AP", {96}},
      {"MA", {98, 99}}};
  return kCodes;
}

template <typename Pairs>
const auto& Find(const Pairs& pairs, std::string_view key) {
  return std::ranges::find(pairs, key, [](const auto& pair) { return pair.first; })->second;
}

TEST(Lists, AreDistinctAndLongEnough) {
  ExpectDistinct(kFirstNamesFemale, 140);
  ExpectDistinct(kFirstNamesMale, 140);
  ExpectDistinct(kSurnames, 140);
  ExpectDistinct(kProfessions, 200);
  ExpectDistinct(kStreets, 200);
  ExpectDistinct(kNeighborhoods, 200);
  ExpectDistinct(kMerchantNames, 300);
  ExpectDistinct(kMerchantCategoryCodes, 25);
  ExpectDistinct(kMerchantCategoryNames, 25);
  ExpectDistinct(kManufacturers, 20);
  ExpectDistinct(kDeviceModelNames, 100);
  ExpectDistinct(kOperatingSystems, 19);
  for (const Slice& merchants : kMerchantsOfCategory) EXPECT_GE(merchants.count, 12);
}

TEST(Lists, WeightsHaveTheExpectedSums) {
  EXPECT_EQ(Sum(kTransactionTypeWeights), 100u);
  EXPECT_EQ(Sum(kChannelWeights), 100u);
  EXPECT_EQ(Sum(kFraudTypeWeights), 100u);
  EXPECT_EQ(Sum(kRideFraudTypeWeights), 100u);
  EXPECT_EQ(Sum(kDeviceKindWeights), 100u);
  EXPECT_EQ(Sum(kIncomeBracketWeights), 100u);
  uint32_t states = 0;
  for (const State& state : kStates) states += state.weight;
  EXPECT_EQ(states, 2 * 104u + 1);
  uint32_t categories = 0;
  for (const MerchantCategory& category : kMerchantCategories) categories += category.weight;
  EXPECT_EQ(categories, 135u);
  uint32_t banks = 0;
  for (const Bank& bank : kBanks) banks += bank.weight;
  EXPECT_EQ(banks, 110u);
}

TEST(Lists, ProfilesAreConsistent) {
  uint32_t profiles = 0;
  for (const Profile& profile : Profiles()) {
    SCOPED_TRACE(profile.name);
    profiles += profile.weight;
    EXPECT_EQ(Sum(profile.transaction_types), 100u);
    EXPECT_EQ(Sum(profile.channels), 100u);
    uint32_t categories = 0;
    for (const CategoryWeight& category : profile.merchant_categories) {
      categories += category.weight;
    }
    EXPECT_EQ(categories, 100u);
    EXPECT_LT(profile.age.min, profile.age.max);
    EXPECT_LT(profile.amount.min, profile.amount.max);
    EXPECT_LE(profile.device_count.max, 3);
    EXPECT_EQ(profile.preferred_hours >> 24, 0u);
  }
  EXPECT_EQ(profiles, 100u);
  EXPECT_EQ(Profiles()[static_cast<std::size_t>(ProfileKind::kFamilyProvider)].name,
            "family_provider");
}

TEST(Lists, CitiesMatchPostalAndAreaCodesOfTheirState) {
  for (std::size_t state = 0; state < kStates.size(); ++state) {
    SCOPED_TRACE(kStates[state].code);
    const auto cities = CitiesOf(state);
    EXPECT_EQ(cities.size(), state == 0 ? 8u : 7u);
    EXPECT_EQ(cities.front().name, kStates[state].capital);
    const auto& areas = Find(PostalAreas(), kStates[state].code);
    const auto& codes = Find(AreaCodes(), kStates[state].code);
    for (const City& city : cities) {
      SCOPED_TRACE(city.name);
      EXPECT_LE(city.first_postal_area, city.last_postal_area);
      EXPECT_TRUE(std::ranges::any_of(areas, [&](const auto& area) {
        return static_cast<int>(city.first_postal_area / 100) >= area.first &&
               static_cast<int>(city.last_postal_area / 100) <= area.second;
      }));
      EXPECT_NE(std::ranges::find(codes, city.area_code), codes.end());
      EXPECT_GT(city.weight, 0u);
    }
  }
}

TEST(Lists, PostalCodesOfCitiesDoNotOverlap) {
  std::vector<City> cities(kCities.begin(), kCities.end());
  std::ranges::sort(cities, {}, &City::first_postal_area);
  for (std::size_t i = 1; i < cities.size(); ++i) {
    EXPECT_LT(cities[i - 1].last_postal_area, cities[i].first_postal_area) << cities[i].name;
  }
}

TEST(Lists, CapitalsHavePointsOfInterestNearby) {
  for (std::size_t state = 0; state < kStates.size(); ++state) {
    SCOPED_TRACE(kStates[state].code);
    std::set<PlaceKind> kinds;
    for (const PointOfInterest& place : Part(kPointsOfInterest, kPointsOfInterestOfState[state])) {
      kinds.insert(place.kind);
      EXPECT_LT(std::abs(place.latitude - kStates[state].latitude), 250'000) << place.name;
      EXPECT_LT(std::abs(place.longitude - kStates[state].longitude), 250'000) << place.name;
    }
    EXPECT_GE(kinds.size(), 4u);
  }
  EXPECT_EQ(Part(kPointsOfInterest, kPointsOfInterestOfState[0]).size(), 8u);
  EXPECT_EQ(kPlaceKindNames[static_cast<std::size_t>(PlaceKind::kBusinessCenter)],
            "BUSINESS_CENTER");
}

TEST(Lists, DeviceKindsHaveManufacturersModelsAndSystems) {
  EXPECT_EQ(ManufacturersOf(DeviceKind::kAndroidPhone).size(), 15u);
  EXPECT_EQ(ManufacturersOf(DeviceKind::kWindowsDesktop).size(), 11u);
  EXPECT_EQ(ManufacturersOf(DeviceKind::kAndroidTablet).size(), 8u);
  ASSERT_EQ(ManufacturersOf(DeviceKind::kMacDesktop).size(), 1u);
  EXPECT_EQ(kManufacturers[ManufacturersOf(DeviceKind::kMacDesktop)[0]], "Apple");
  const auto first = [](DeviceKind kind) {
    return kOperatingSystems[kOperatingSystemsOfKind[static_cast<std::size_t>(kind)].first];
  };
  EXPECT_EQ(first(DeviceKind::kAndroidPhone), "Android 11");
  EXPECT_EQ(first(DeviceKind::kAndroidTablet), "Android 12");
  EXPECT_EQ(first(DeviceKind::kIosPhone), "iOS 16");
  EXPECT_EQ(first(DeviceKind::kWindowsDesktop), "Windows 10");
  EXPECT_EQ(first(DeviceKind::kMacDesktop), "macOS Sonoma");
  EXPECT_EQ(first(DeviceKind::kIosTablet), "iPadOS 16");
  std::size_t models = 0;
  for (std::size_t kind = 0; kind < kDeviceKinds; ++kind) {
    for (const uint16_t maker : ManufacturersOf(static_cast<DeviceKind>(kind))) {
      const Slice slice = ModelsOf(maker, static_cast<DeviceKind>(kind));
      ASSERT_GT(slice.count, 0u) << kManufacturers[maker] << " has no model";
      models += slice.count;
      for (const DeviceModel& model : Part(kDeviceModels, slice)) {
        EXPECT_EQ(model.kind, static_cast<DeviceKind>(kind)) << model.name;
        EXPECT_EQ(model.manufacturer, kManufacturers[maker]) << model.name;
      }
    }
  }
  EXPECT_EQ(models, kDeviceModels.size()) << "each model has one kind and one manufacturer";
}

TEST(Lists, EveryComfortLevelHasCars) {
  std::size_t levels[3] = {};
  for (const Vehicle& vehicle : kVehicles) ++levels[static_cast<std::size_t>(vehicle.level)];
  EXPECT_EQ(levels[0], 8u);
  EXPECT_EQ(levels[1], 5u);
  EXPECT_EQ(levels[2], 5u);
  EXPECT_EQ(kCategoriesOfApp[0].count, 4);
  EXPECT_EQ(kRideCategories[kCategoriesOfApp[3].first].name, "Economy");
}

TEST(Lists, ChoiceOfNeverReturnsZeroWeight) {
  const WeightedChoice choice(kHonestStatusWeights);
  std::set<uint32_t> given;
  const FieldRandom random(1, 1, 1);
  for (uint64_t row = 0; row < 10'000; ++row) given.insert(choice.Of(random.Bits(row)));
  EXPECT_EQ(given, (std::set<uint32_t>{0, 1, 2}));
}

}  // namespace lists_test
}  // namespace reveza::fraudgen::lists
