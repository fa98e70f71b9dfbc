// States, cities, points of interest and streets. Cities are real, with matching state, area code
// and postal codes; streets and neighbourhoods belong to no particular city. Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fraudgen/lists/slices.h"

namespace reveza::fraudgen::lists {

enum class Region : uint8_t { kNorth, kNortheast, kCenterWest, kSoutheast, kSouth };
inline constexpr std::size_t kRegions = 5;

struct State {
  std::string_view code;
  std::string_view name;
  Region region;
  uint32_t weight;         // in halves of the original data set's weights
  int32_t latitude;        // of the capital, in millionths of a degree
  int32_t longitude;       // likewise
  uint32_t fiscal_region;  // ninth digit of a CPF
  std::string_view capital;
};
// In the order of address.state's categories.
inline constexpr auto kStates = std::to_array<State>({
#include "generated/fraudgen/lists/states.inc"
});

inline constexpr auto kStateCodes = MemberOf<std::string_view>(kStates, &State::code);
inline constexpr auto kStateCapitals = MemberOf<std::string_view>(kStates, &State::capital);

struct City {
  std::string_view state;
  std::string_view name;
  uint32_t area_code;          // telephone prefix (DDD)
  uint32_t first_postal_area;  // first five digits of a postal code (CEP)
  uint32_t last_postal_area;
  uint32_t weight;
};
inline constexpr auto kCities = std::to_array<City>({
#include "generated/fraudgen/lists/cities.inc"
});
inline constexpr auto kCitiesOfState = SlicesOf<kStates.size()>(
    kCities, [](const City& city, std::size_t state) { return city.state == kStates[state].code; });
// The index into kStates of each city.
inline constexpr auto kStateOfCity = IndexesIn(kStateCodes, kCities, &City::state);
// Returns the cities of `state`, an index into kStates; the capital comes first.
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

// A public place in a capital.
struct PointOfInterest {
  std::string_view state;
  std::string_view name;
  PlaceKind kind;
  int32_t latitude;  // in millionths of a degree
  int32_t longitude;
};
inline constexpr auto kPointsOfInterest = std::to_array<PointOfInterest>({
#include "generated/fraudgen/lists/points_of_interest.inc"
});
inline constexpr auto kPointOfInterestNames =
    MemberOf<std::string_view>(kPointsOfInterest, &PointOfInterest::name);
inline constexpr auto kPointsOfInterestOfState = SlicesOf<kStates.size()>(
    kPointsOfInterest, [](const PointOfInterest& place, std::size_t state) {
      return place.state == kStates[state].code;
    });

inline constexpr auto kStreets = std::to_array<std::string_view>({
#include "generated/fraudgen/lists/streets.inc"
});
inline constexpr auto kNeighborhoods = std::to_array<std::string_view>({
#include "generated/fraudgen/lists/neighborhoods.inc"
});

}  // namespace reveza::fraudgen::lists
