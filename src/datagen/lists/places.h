// Where people live and go. Cities are real, and agree with their state, area code and postal
// codes; streets and neighbourhoods are tied to no city. Constant data, safe from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "datagen/lists/slices.h"

namespace reveza::datagen::lists {

enum class Region : uint8_t { kNorth, kNortheast, kCenterWest, kSoutheast, kSouth };
inline constexpr std::size_t kRegions = 5;

struct State {
  std::string_view code;
  std::string_view name;
  Region region;
  uint32_t weight;         // in halves of the weights of the original
  int32_t latitude;        // of the capital, in millionths of a degree
  int32_t longitude;       // likewise
  uint32_t fiscal_region;  // ninth digit of a CPF
  std::string_view capital;
};
// In the order of the categories of address.state.
inline constexpr auto kStates = std::to_array<State>({
#include "datagen/lists/states.inc"
});

struct City {
  std::string_view state;
  std::string_view name;
  uint32_t area_code;          // of its telephones (DDD)
  uint32_t first_postal_area;  // five digits, the beginning of a postal code (CEP)
  uint32_t last_postal_area;
  uint32_t weight;
};
inline constexpr auto kCities = std::to_array<City>({
#include "datagen/lists/cities.inc"
});
inline constexpr auto kCitiesOfState = SlicesOf<kStates.size()>(
    kCities, [](const City& city, std::size_t state) { return city.state == kStates[state].code; });
// `state`: the index into kStates. The capital comes first.
constexpr std::span<const City> CitiesOf(std::size_t state) {
  return Part(kCities, kCitiesOfState[state]);
}

enum class PlaceKind : uint8_t {
  kAirport,
  kBusStation,
  kStadium,
  kPark,
  kUniversity,
  kHospital,
  kBeach,
  kTouristSpot,
  kMarket,
  kBusinessCenter,
};
inline constexpr std::array<std::string_view, 10> kPlaceKindNames = {
    "AIRPORT",  "BUS_STATION", "STADIUM",      "PARK",   "UNIVERSITY",
    "HOSPITAL", "BEACH",       "TOURIST_SPOT", "MARKET", "BUSINESS_CENTER"};

// A public place of a capital.
struct PointOfInterest {
  std::string_view state;
  std::string_view name;
  PlaceKind kind;
  int32_t latitude;  // in millionths of a degree
  int32_t longitude;
};
inline constexpr auto kPointsOfInterest = std::to_array<PointOfInterest>({
#include "datagen/lists/points_of_interest.inc"
});

inline constexpr auto kPointsOfInterestOfState = SlicesOf<kStates.size()>(
    kPointsOfInterest, [](const PointOfInterest& place, std::size_t state) {
      return place.state == kStates[state].code;
    });
constexpr std::span<const PointOfInterest> PointsOfInterestOf(std::size_t state) {
  return Part(kPointsOfInterest, kPointsOfInterestOfState[state]);
}

inline constexpr auto kStreets = std::to_array<std::string_view>({
#include "datagen/lists/streets.inc"
});
inline constexpr auto kNeighborhoods = std::to_array<std::string_view>({
#include "datagen/lists/neighborhoods.inc"
});

}  // namespace reveza::datagen::lists
