#include "fraudgen/lists/rides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/classic/tables.h"
#include "fraudgen/model/classic/testing_rows.h"

namespace reveza::fraudgen::classic {
namespace rides_test {

using Column = RidesColumn;

const Rows& Trips() { return TestRows().Of(kRides); }
int64_t At(Column column, std::size_t row) { return Trips()[column].numbers[row]; }
std::size_t IndexAt(Column column, std::size_t row) {
  return static_cast<std::size_t>(At(column, row));
}
bool Completed(std::size_t row) { return At(Column::kStatus, row) == 0; }

TEST(ClassicRides, CategoriesFollowTheWeights) {
  const Rows& rows = Trips();
  ASSERT_EQ(rows.size(), 20'000u);
  EXPECT_EQ(rows[Column::kRideId].texts.back(), "RIDE_000000019999");
  ExpectFits(CountsOf(rows[Column::kApp], 4), std::vector<uint32_t>{45, 35, 10, 10});
  ExpectFits(CountsOf(rows[Column::kStatus], 4), lists::kRideStatusWeights);
  ExpectFits(CountsOf(rows[Column::kPaymentMethod], 5), lists::kRidePaymentWeights);
  ExpectFits(CountsOf(rows[Column::kFraudType], 7), lists::kRideFraudTypeWeights);
  std::vector<uint64_t> hours(24, 0);
  std::vector<uint64_t> uber(4, 0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    ++hours.at(static_cast<std::size_t>(At(Column::kTimestamp, row) % kMicrosecondsPerDay /
                                        (3'600 * kMicrosecondsPerSecond)));
    if (At(Column::kApp, row) == 0) ++uber.at(IndexAt(Column::kCategory, row));
  }
  ExpectFits(hours, lists::kRideHourWeights);
  ExpectUniform(uber);
}

TEST(ClassicRides, DriverWorksInThePassengersState) {
  std::map<std::string, int64_t> driver_states;
  const Rows& drivers = TestRows().Of(kDrivers);
  for (std::size_t row = 0; row < drivers.size(); ++row) {
    driver_states[drivers[DriversColumn::kDriverId].texts[row]] =
        drivers[DriversColumn::kOperatingState].numbers[row];
  }
  std::map<std::string, int64_t> passenger_states;
  const Rows& customers = TestRows().Of(kCustomers);
  for (std::size_t row = 0; row < customers.size(); ++row) {
    passenger_states[customers[CustomersColumn::kCustomerId].texts[row]] =
        customers[CustomersColumn::kAddressState].numbers[row];
  }
  std::map<std::string, uint64_t> elsewhere;
  for (std::size_t row = 0; row < Trips().size(); ++row) {
    const int64_t state = passenger_states.at(Trips()[Column::kPassengerId].texts[row]);
    ASSERT_EQ(At(Column::kPickupLocationState, row), state);
    ASSERT_EQ(At(Column::kDropoffLocationState, row), state);
    ASSERT_EQ(At(Column::kPickupLocationCity, row), state);
    ASSERT_EQ(At(Column::kDropoffLocationCity, row), state);
    const std::string& driver = Trips()[Column::kDriverId].texts[row];
    const int64_t works_in = driver_states.at(driver);
    const bool served = state <= 3 || state == 19;
    if (served) {
      ASSERT_EQ(works_in, state);
    } else {
      ++elsewhere[driver];
    }
  }
  EXPECT_GT(elsewhere.size(), drivers.size() * 9 / 10) << "any driver if the state has none";
}

TEST(ClassicRides, PlacesAreInTheStateOrInSaoPaulo) {
  for (std::size_t row = 0; row < Trips().size(); ++row) {
    const auto& from = lists::kPointsOfInterest[IndexAt(Column::kPickupLocationName, row)];
    const auto& to = lists::kPointsOfInterest[IndexAt(Column::kDropoffLocationName, row)];
    ASSERT_EQ(from.state, to.state);
    ASSERT_NE(from.kind, to.kind);
    ASSERT_EQ(At(Column::kPickupLocationPoiType, row), static_cast<int64_t>(from.kind));
    ASSERT_EQ(At(Column::kPickupLocationLat, row), from.latitude);
    ASSERT_EQ(At(Column::kPickupLocationLon, row), from.longitude);
    ASSERT_EQ(At(Column::kDropoffLocationLat, row), to.latitude);
    ASSERT_EQ(At(Column::kDropoffLocationLon, row), to.longitude);
    const std::string_view state = lists::kStates[IndexAt(Column::kPickupLocationState, row)].code;
    const bool known =
        state == "SP" || state == "RJ" || state == "MG" || state == "BA" || state == "DF";
    ASSERT_EQ(from.state, known ? state : "SP");
  }
}

// The original's haversine formula.
double MetresOnGlobe(double latitude, double longitude, double other_latitude,
                     double other_longitude) {
  constexpr double kRadian = 3.14159265358979323846 / 180;
  const double north = std::sin((other_latitude - latitude) * kRadian / 2);
  const double east = std::sin((other_longitude - longitude) * kRadian / 2);
  const double square = north * north + std::cos(latitude * kRadian) *
                                            std::cos(other_latitude * kRadian) * east * east;
  return 2 * 6'371'000 * std::asin(std::sqrt(square));
}

TEST(ClassicRides, DistancesMatchHaversine) {
  for (const lists::PointOfInterest& from : lists::kPointsOfInterest) {
    for (const lists::PointOfInterest& to : lists::kPointsOfInterest) {
      if (from.state != to.state) continue;
      const double globe = MetresOnGlobe(from.latitude / 1e6, from.longitude / 1e6,
                                         to.latitude / 1e6, to.longitude / 1e6);
      EXPECT_NEAR(static_cast<double>(
                      MetresBetween(from.latitude, from.longitude, to.latitude, to.longitude)),
                  globe, 3 + globe / 1'000)
          << from.name << " to " << to.name;
    }
  }
}

TEST(ClassicRides, DurationMatchesDistanceAndSpeed) {
  Range detours;
  for (std::size_t row = 0; row < Trips().size(); ++row) {
    const double crow =
        MetresOnGlobe(static_cast<double>(At(Column::kPickupLocationLat, row)) / 1e6,
                      static_cast<double>(At(Column::kPickupLocationLon, row)) / 1e6,
                      static_cast<double>(At(Column::kDropoffLocationLat, row)) / 1e6,
                      static_cast<double>(At(Column::kDropoffLocationLon, row)) / 1e6);
    const auto distance = static_cast<double>(At(Column::kDistanceKm, row)) * 10;
    if (crow > 2'000) detours.Add(static_cast<int64_t>(1'000 * distance / crow));
    ASSERT_GE(distance, 1'000);
    const auto minutes = static_cast<double>(At(Column::kDurationMinutes, row));
    ASSERT_GE(minutes, 5);
    const double hours = minutes / 60;
    if (minutes > 10) {
      EXPECT_GT(distance / 1'000 / hours, 14.9);
      EXPECT_LT(distance / 1'000 / (hours + 1.0 / 60), 45.1);
    }
  }
  EXPECT_GE(detours.min, 1'295);
  EXPECT_LE(detours.max, 1'505);
  EXPECT_NEAR(detours.mean, 1'400, 2);
}

TEST(ClassicRides, TimesOfARideAreInOrder) {
  for (std::size_t row = 0; row < Trips().size(); ++row) {
    ASSERT_EQ(At(Column::kRequestDatetime, row), At(Column::kTimestamp, row));
    for (const Column column :
         {Column::kAcceptDatetime, Column::kPickupDatetime, Column::kDropoffDatetime,
          Column::kWaitTimeMinutes, Column::kDriverRating, Column::kPassengerRating}) {
      ASSERT_EQ(Trips()[column].null[row], !Completed(row));
    }
    const int64_t status = At(Column::kStatus, row);
    ASSERT_EQ(Trips()[Column::kCancellationReason].null[row], status == 0 || status == 3);
    if (status == 1) {
      ASSERT_LT(At(Column::kCancellationReason, row), 6);
    }
    if (status == 2) {
      ASSERT_GE(At(Column::kCancellationReason, row), 6);
    }
    if (!Completed(row)) continue;
    const int64_t accept = At(Column::kAcceptDatetime, row) - At(Column::kRequestDatetime, row);
    ASSERT_GE(accept, 10 * kMicrosecondsPerSecond);
    ASSERT_LE(accept, 60 * kMicrosecondsPerSecond);
    const int64_t minute = 60 * kMicrosecondsPerSecond;
    ASSERT_EQ(At(Column::kPickupDatetime, row) - At(Column::kAcceptDatetime, row),
              At(Column::kWaitTimeMinutes, row) * minute);
    ASSERT_EQ(At(Column::kDropoffDatetime, row) - At(Column::kPickupDatetime, row),
              At(Column::kDurationMinutes, row) * minute);
    ASSERT_TRUE(At(Column::kWaitTimeMinutes, row) >= 2 && At(Column::kWaitTimeMinutes, row) <= 15);
  }
  const auto ratings = [](Column column) {
    auto counts = CountsOf(Trips()[column], 6);
    counts.erase(counts.begin());
    std::ranges::reverse(counts);
    return counts;
  };
  std::vector<uint64_t> driver = ratings(Column::kDriverRating);
  ExpectFits(driver, lists::kDriverRatingWeights);
  ExpectFits(ratings(Column::kPassengerRating), lists::kPassengerRatingWeights);
}

TEST(ClassicRides, FareFollowsTheTariff) {
  std::size_t completed = 0;
  std::size_t tipped = 0;
  for (std::size_t row = 0; row < Trips().size(); ++row) {
    const int64_t fare = At(Column::kFinalFare, row);
    if (!Completed(row)) {
      for (const Column column : {Column::kBaseFare, Column::kFinalFare, Column::kDriverPay,
                                  Column::kPlatformFee, Column::kTip}) {
        ASSERT_EQ(At(column, row), 0);
      }
      continue;
    }
    ++completed;
    const std::string_view name = lists::kRideCategoryNames[IndexAt(Column::kCategory, row)];
    const auto category = std::ranges::find_if(lists::kRideCategories, [&](const auto& one) {
      return one.app == IndexAt(Column::kApp, row) && one.name == name;
    });
    ASSERT_NE(category, lists::kRideCategories.end());
    const double base =
        static_cast<double>(category->base) +
        static_cast<double>(At(Column::kDistanceKm, row)) / 100 *
            static_cast<double>(category->per_kilometre) +
        static_cast<double>(At(Column::kDurationMinutes, row) * category->per_minute);
    ASSERT_NEAR(static_cast<double>(At(Column::kBaseFare, row)), base, 0.51);
    const double surged =
        static_cast<double>(At(Column::kBaseFare, row) * At(Column::kSurgeMultiplier, row)) / 100;
    ASSERT_NEAR(static_cast<double>(fare), std::max(800.0, surged), 0.51);
    ASSERT_EQ(At(Column::kDriverPay, row) + At(Column::kPlatformFee, row), fare);
    const double percent =
        static_cast<double>(lists::kRideApps[IndexAt(Column::kApp, row)].fee_percent);
    ASSERT_NEAR(static_cast<double>(At(Column::kPlatformFee, row)),
                static_cast<double>(fare) * percent / 100, 0.51);
    const double tip = static_cast<double>(At(Column::kTip, row)) / static_cast<double>(fare);
    tipped += tip > 0 ? 1 : 0;
    if (tip > 0) {
      ASSERT_TRUE(tip > 0.099 && tip < 0.251) << tip;
    }
  }
  ExpectShare(tipped, completed, 20);
}

TEST(ClassicRides, SurgeAndTemperatureFollowHourAndWeather) {
  std::map<std::size_t, uint64_t> by_weather;
  std::size_t july = 0;
  std::size_t july_wet = 0;
  for (std::size_t row = 0; row < Trips().size(); ++row) {
    const auto hour = static_cast<std::size_t>(At(Column::kTimestamp, row) % kMicrosecondsPerDay /
                                               (3'600 * kMicrosecondsPerSecond));
    const std::size_t weather = IndexAt(Column::kWeatherCondition, row);
    const double h = lists::kSurgeOfHour[hour] / 10.0;
    const double w = lists::kSurgeOfWeather[weather] / 10.0;
    const double surge = std::clamp(0.6 * h + 0.4 * w + 0.2 * (h * w - 1), 1.0, 3.0);
    ASSERT_NEAR(static_cast<double>(At(Column::kSurgeMultiplier, row)) / 100, surge, 0.0051);
    ASSERT_GT(At(Column::kTemperature, row), -60);
    ASSERT_LT(At(Column::kTemperature, row), 420);
    ++by_weather[weather];
    const CivilDate date = DateOf(At(Column::kTimestamp, row) / kMicrosecondsPerDay);
    const auto region = lists::kStates[IndexAt(Column::kPickupLocationState, row)].region;
    if (date.month == 7 && region == lists::Region::kSoutheast && hour > 6 && hour < 14) {
      ++july;
      july_wet += weather >= 2 ? 1 : 0;
    }
  }
  ExpectShare(july_wet, july, 15);
  ExpectFits({by_weather[2], by_weather[3], by_weather[4], by_weather[5]},
             std::vector<uint32_t>{50, 30, 15, 5});
  ExpectFits({by_weather[0], by_weather[1]}, std::vector<uint32_t>{1, 1});
}

TEST(ClassicRides, FraudIsIndependentOfOtherFields) {
  std::map<bool, Range> fares;
  for (std::size_t row = 0; row < Trips().size(); ++row) {
    const bool fraud = At(Column::kIsFraud, row) != 0;
    ASSERT_EQ(Trips()[Column::kFraudType].null[row], !fraud);
    fares[fraud].Add(At(Column::kFinalFare, row));
  }
  EXPECT_EQ(fares[true].count, 400u);
  EXPECT_NEAR(fares[true].mean, fares[false].mean, 0.15 * fares[false].mean);
}

}  // namespace rides_test
}  // namespace reveza::fraudgen::classic
