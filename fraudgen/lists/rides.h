// Ride apps with their categories and fares, cars, and weather. The weights are those of the
// original data set. Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/slices.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::lists {

enum class ComfortLevel : uint8_t { kEconomy, kComfort, kBlack };

struct RideApp {
  std::string_view name;
  uint32_t weight;
  int64_t fee_percent;
};
inline constexpr auto kRideApps = std::to_array<RideApp>(
    {{"UBER", 45, 25}, {"99", 35, 20}, {"CABIFY", 10, 22}, {"INDRIVER", 10, 15}});
inline constexpr auto kRideAppNames = MemberOf<std::string_view>(kRideApps, &RideApp::name);

// A service level of an app; the fare is base + kilometres * per_kilometre + minutes * per_minute.
struct RideCategory {
  std::size_t app;
  std::string_view name;
  ComfortLevel level;
  int64_t base;  // in cents, all three
  int64_t per_kilometre;
  int64_t per_minute;
};
inline constexpr std::array<RideCategory, 12> kRideCategories = {{
    {0, "UberX", ComfortLevel::kEconomy, 500, 120, 25},
    {0, "Comfort", ComfortLevel::kComfort, 700, 180, 35},
    {0, "Black", ComfortLevel::kBlack, 1000, 250, 50},
    {0, "Flash", ComfortLevel::kEconomy, 550, 125, 28},
    {1, "Pop", ComfortLevel::kEconomy, 450, 110, 20},
    {1, "99Comfort", ComfortLevel::kComfort, 650, 170, 32},
    {1, "Black", ComfortLevel::kBlack, 1000, 250, 50},
    {2, "Lite", ComfortLevel::kEconomy, 480, 115, 22},
    {2, "Cabify", ComfortLevel::kComfort, 680, 175, 33},
    {2, "Plus", ComfortLevel::kBlack, 950, 240, 48},
    {3, "Economy", ComfortLevel::kEconomy, 400, 100, 18},
    {3, "Comfort", ComfortLevel::kComfort, 700, 180, 35},
}};
inline constexpr auto kCategoriesOfApp = SlicesOf<kRideApps.size()>(
    kRideCategories,
    [](const RideCategory& category, std::size_t app) { return category.app == app; });

// The distinct names (the categories of rides.category), and the index of each row of
// kRideCategories among them.
inline constexpr std::array<std::string_view, 10> kRideCategoryNames = {
    "UberX", "Comfort", "Black", "Flash", "Pop", "99Comfort", "Lite", "Cabify", "Plus", "Economy"};
inline constexpr auto kNameOfRideCategory =
    IndexesIn(kRideCategoryNames, kRideCategories, &RideCategory::name);

struct Vehicle {
  ComfortLevel level;
  std::string_view brand;
  std::string_view model;
};
inline constexpr auto kVehicles = std::to_array<Vehicle>({
#include "generated/fraudgen/lists/vehicles.inc"
});
inline constexpr auto kVehicleModels = MemberOf<std::string_view>(kVehicles, &Vehicle::model);
// Each brand once.
inline constexpr std::array<std::string_view, 7> kVehicleBrands = {
    "Caturama", "Jangada", "Tapir", "Sagui", "Ocelote", "Harpia", "Montese"};
inline constexpr auto kBrandOfVehicle = IndexesIn(kVehicleBrands, kVehicles, &Vehicle::brand);
inline constexpr std::array<std::string_view, 9> kVehicleColors = {
    "PRATA", "BRANCO", "PRETO", "CINZA", "VERMELHO", "AZUL", "MARROM", "BEGE", "VERDE"};

enum class Weather : uint8_t { kClear, kCloudy, kLightRain, kRain, kHeavyRain, kStorm };
inline constexpr std::array<std::string_view, 6> kWeatherNames = {
    "CLEAR", "CLOUDY", "LIGHT_RAIN", "RAIN", "HEAVY_RAIN", "STORM"};
inline constexpr std::array<uint32_t, 6> kDryWeatherWeights = {50, 50, 0, 0, 0, 0};
inline constexpr std::array<uint32_t, 6> kWetWeatherWeights = {0, 0, 50, 30, 15, 5};

// Percentage of rainy days by region and month.
inline constexpr std::array<std::array<int32_t, 12>, kRegions> kRainPercent = {{
    {70, 75, 80, 75, 60, 30, 20, 15, 20, 30, 45, 60},  // North
    {25, 30, 45, 55, 60, 55, 50, 35, 20, 15, 15, 20},  // Northeast
    {65, 60, 55, 30, 15, 5, 5, 10, 25, 45, 55, 60},    // Center-West
    {60, 55, 50, 35, 25, 15, 15, 15, 25, 40, 50, 55},  // Southeast
    {45, 45, 40, 40, 40, 40, 45, 45, 50, 50, 45, 45},  // South
}};

// Degrees Celsius, by region; in summer, autumn, winter and spring.
inline constexpr std::array<std::array<Range<int32_t>, 4>, kRegions> kTemperatures = {{
    {{{26, 34}, {25, 33}, {24, 32}, {26, 35}}},
    {{{26, 35}, {24, 32}, {22, 30}, {25, 34}}},
    {{{22, 35}, {20, 32}, {15, 30}, {22, 36}}},
    {{{22, 35}, {18, 28}, {12, 25}, {18, 30}}},
    {{{20, 32}, {14, 25}, {5, 18}, {14, 26}}},
}};

// Returns the temperature at an hour in percent of the season's.
constexpr int64_t TemperaturePercent(int64_t hour) {
  if (hour >= 6 && hour <= 9) return 90;
  if (hour >= 12 && hour <= 16) return 105;
  return hour >= 18 && hour <= 22 ? 95 : 85;
}

// Surge multiplier in tenths, by hour of the day and by weather.
inline constexpr std::array<int32_t, 24> kSurgeOfHour = {
    10, 10, 12, 13, 12, 10, 12, 15, 18, 14, 10, 10, 11, 10, 10, 10, 11, 14, 18, 16, 13, 12, 13, 14};
inline constexpr std::array<int32_t, 6> kSurgeOfWeather = {10, 10, 13, 16, 20, 25};
// Returns the multiplier in thousandths: 0.6 of the hour's, 0.4 of the weather's, plus 0.2 of their
// combined excess over 1.
constexpr int64_t SurgeThousandths(std::size_t hour, std::size_t weather) {
  const int64_t of_hour = kSurgeOfHour[hour];
  const int64_t of_weather = kSurgeOfWeather[weather];
  return 60 * of_hour + 40 * of_weather + 2 * of_hour * of_weather - 200;
}

inline constexpr std::array<std::string_view, 4> kRideStatusNames = {
    "COMPLETED", "CANCELLED_PASSENGER", "CANCELLED_DRIVER", "NO_DRIVER"};
inline constexpr std::array<uint32_t, 4> kRideStatusWeights = {85, 6, 4, 5};
inline constexpr std::array<std::string_view, 5> kRidePaymentNames = {
    "CREDIT_CARD", "PIX", "DEBIT_CARD", "CASH", "CORPORATE_VOUCHER"};
inline constexpr std::array<uint32_t, 5> kRidePaymentWeights = {35, 30, 15, 15, 5};
inline constexpr std::array<std::string_view, 7> kRideFraudTypeNames = {
    "GPS_SPOOFING",         "PROMO_ABUSE",  "GHOST_RIDE",      "SURGE_ABUSE",
    "MULTI_ACCOUNT_DRIVER", "RATING_FRAUD", "SPLIT_FARE_FRAUD"};
inline constexpr std::array<uint32_t, 7> kRideFraudTypeWeights = {20, 18, 15, 15, 12, 10, 10};
// Ratings from five down to one.
inline constexpr std::array<uint32_t, 5> kDriverRatingWeights = {70, 20, 5, 3, 2};
inline constexpr std::array<uint32_t, 5> kPassengerRatingWeights = {75, 18, 4, 2, 1};

// The passenger's reasons, then the driver's.
inline constexpr std::size_t kCancellationReasonsEach = 6;
inline constexpr std::array<std::string_view, 2 * kCancellationReasonsEach> kCancellationReasons = {
    "LONG_WAIT",        "CHANGED_PLANS",        "WRONG_ADDRESS",       "PRICE_TOO_HIGH",
    "FOUND_OTHER_RIDE", "DRIVER_TOO_FAR",       "PASSENGER_ABSENT",    "UNSAFE_AREA",
    "VEHICLE_PROBLEM",  "PASSENGER_MISBEHAVED", "DESTINATION_TOO_FAR", "TRAFFIC"};

}  // namespace reveza::fraudgen::lists
