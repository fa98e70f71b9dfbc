#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/testing_collector.h"
#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace rides_test {

constexpr uint64_t kRidesOfBlock = 6'000;

Parameters OnlyRides() {
  Parameters parameters;
  parameters.rows = 0;
  parameters.rides = 3 * kRidesOfBlock;
  parameters.rows_per_block = kRidesOfBlock;
  parameters.customers = 301;
  parameters.frauds = {.billionths = 50'000'000};
  return parameters;
}

Collector& SmallRides() {
  static Collector collector = Everything(*ModelOf(OnlyRides()));
  return collector;
}

std::set<std::string_view> NamesOf(const CoherentModel& model) {
  std::set<std::string_view> names;
  for (const Table* table : model.tables()) names.insert(table->name);
  return names;
}

TEST(CoherentRides, RowsAndFraudsAreExact) {
  const auto model = ModelOf(OnlyRides());
  ASSERT_EQ(model->blocks(), 3u);
  EXPECT_EQ(NamesOf(*model), (std::set<std::string_view>{"customers", "devices", "drivers", "rides",
                                                         "ride_alerts"}));
  for (uint64_t block = 0; block < 3; ++block) {
    Collector collector;
    ASSERT_TRUE(model->Make(block, model->tables(), collector));
    const Collected& rides = collector[kRides];
    EXPECT_EQ(rides.rows, model->RowsOf(kRides, block));
    EXPECT_EQ(rides.rows, kRidesOfBlock);
    const auto& frauds = rides["is_fraud"].numbers;
    EXPECT_EQ(std::count(frauds.begin(), frauds.end(), 1), 300);
    EXPECT_EQ(collector[kDrivers].rows, model->RowsOf(kDrivers, block));
    EXPECT_EQ(collector[kCustomers].rows, model->RowsOf(kCustomers, block));
  }
}

TEST(CoherentRides, OddSizesAreExact) {
  for (const auto& [rides, customers, per_block] :
       {std::tuple{1u, 1u, 1u}, {777u, 5u, 100u}, {1'000u, 1'000u, 600u}}) {
    Parameters parameters = OnlyRides();
    parameters.rides = rides;
    parameters.customers = customers;
    parameters.rows_per_block = per_block;
    const auto model = ModelOf(parameters);
    EXPECT_EQ(Everything(*model)[kRides].rows, rides);
  }
}

TEST(CoherentRides, DoNotChangePayments) {
  Parameters both = OnlyRides();
  both.rows = both.rides;
  const auto model = ModelOf(both);
  EXPECT_EQ(model->tables().size(), Tables().size());
  Parameters payments = both;
  payments.rides = 0;
  const auto other = ModelOf(payments);
  Collector with;
  Collector without;
  ASSERT_TRUE(model->Make(1, model->tables(), with));
  ASSERT_TRUE(other->Make(1, other->tables(), without));
  EXPECT_TRUE(with[kTransactions] == without[kTransactions]);
  EXPECT_TRUE(with[kCustomers] == without[kCustomers]);
  EXPECT_EQ(with[kRides].rows, kRidesOfBlock);
}

TEST(CoherentRides, BlocksDoNotDependOnTheInstanceOrOtherTables) {
  const auto model = ModelOf(OnlyRides());
  Collector first;
  Collector second;
  for (const uint64_t block : {2, 0}) ASSERT_TRUE(model->Make(block, model->tables(), first));
  const auto again = ModelOf(OnlyRides());
  for (const uint64_t block : {2, 0}) ASSERT_TRUE(again->Make(block, again->tables(), second));
  EXPECT_TRUE(first == second);
  for (const Table* table : model->tables()) {
    Collector alone;
    for (const uint64_t block : {2, 0}) {
      ASSERT_TRUE(model->Make(block, std::span(&table, 1), alone));
    }
    EXPECT_TRUE(alone[*table] == first[*table]) << table->name;
    EXPECT_GT(alone[*table].rows, 0u) << table->name;
  }
}

TEST(CoherentRides, CommutesAndNightsOutFollowTheirHours) {
  const Collected& rides = SmallRides()[kRides];
  std::map<RidePlaceKind, std::array<int, 24>> ends;
  int airports = 0;
  int elsewhere = 0;
  for (std::size_t row = 0; row < rides.rows; ++row) {
    if (rides.Number("is_fraud", row) != 0) continue;
    const auto to = static_cast<RidePlaceKind>(rides.Number("dropoff_location.kind", row));
    const int64_t time = rides.Number("timestamp", row);
    ++ends[to][static_cast<std::size_t>(time % kDay / kHour)];
    airports += to == RidePlaceKind::kAirport ? 1 : 0;
    elsewhere += to == RidePlaceKind::kHotel ? 1 : 0;
    if (to == RidePlaceKind::kWork && time % kDay > 6 * kHour && time % kDay < 9 * kHour) {
      EXPECT_LT(WeekdayOf(time / kDay), Weekday::kSaturday);
    }
  }
  const auto sum = [&](RidePlaceKind kind, std::size_t from, std::size_t until) {
    const auto& hours = ends[kind];
    return std::accumulate(hours.begin() + static_cast<std::ptrdiff_t>(from),
                           hours.begin() + static_cast<std::ptrdiff_t>(until), 0);
  };
  EXPECT_GT(sum(RidePlaceKind::kWork, 6, 10), sum(RidePlaceKind::kWork, 0, 24) * 9 / 10);
  EXPECT_GT(sum(RidePlaceKind::kNightlife, 19, 24), sum(RidePlaceKind::kNightlife, 0, 24) * 9 / 10);
  EXPECT_GT(airports, 100) << "travellers ride to the airport";
  EXPECT_GT(elsewhere, 50);
}

TEST(CoherentRides, FraudsShowTheirTraits) {
  Parameters parameters = OnlyRides();
  parameters.difficulty = 0;
  parameters.frauds = {.billionths = 100'000'000};
  parameters.customers = 2'000;
  Collector all = Everything(*ModelOf(parameters));
  const Collected& rides = all[kRides];
  struct Traits {
    int rows = 0, long_way = 0, discounts = 0, stays = 0, unpaid = 0, pairs = 0,
        fraudster_devices = 0;
  };
  std::map<int64_t, Traits> of_type;
  Traits honest;
  std::map<std::string, std::set<std::string>> users;
  for (std::size_t row = 0; row < rides.rows; ++row) {
    users[rides.Text("device_id", row)].insert(rides.Text("passenger_id", row));
  }
  for (std::size_t row = 0; row < rides.rows; ++row) {
    const bool fraud = rides.Number("is_fraud", row) != 0;
    ASSERT_EQ(rides.Has("fraud_type", row), fraud);
    ASSERT_EQ(rides.Has("fraud_role", row), fraud);
    if (rides.Number("status", row) != 0) continue;
    Traits& traits = fraud ? of_type[rides.Number("fraud_type", row)] : honest;
    const int64_t route = rides.Number("route_km", row);
    const int64_t fare = rides.Number("final_fare", row);
    ++traits.rows;
    traits.long_way += rides.Number("distance_km", row) * 10 > route * 12;
    traits.discounts += rides.Number("promo_discount", row) > fare / 2;
    traits.stays +=
        rides.Number("pickup_location.kind", row) == static_cast<int64_t>(RidePlaceKind::kStreet);
    traits.unpaid += rides.Number("is_paid", row) == 0;
    traits.pairs += rides.Number("pair_rides_this_month", row) > 1;
    traits.fraudster_devices += users[rides.Text("device_id", row)].size() > 2;
  }
  const auto share = [](int some, int of) { return some * 100 / std::max(of, 1); };
  const auto type = [&](RideFraudType which) { return of_type[static_cast<int64_t>(which)]; };
  ASSERT_EQ(of_type.size(), kRideFraudTypes);
  EXPECT_GT(
      share(type(RideFraudType::kGpsSpoofing).long_way, type(RideFraudType::kGpsSpoofing).rows),
      70);
  EXPECT_GT(
      share(type(RideFraudType::kPromoAbuse).discounts, type(RideFraudType::kPromoAbuse).rows), 70);
  EXPECT_GT(share(type(RideFraudType::kPromoAbuse).fraudster_devices,
                  type(RideFraudType::kPromoAbuse).rows),
            50);
  EXPECT_GT(share(type(RideFraudType::kGhostRide).stays, type(RideFraudType::kGhostRide).rows), 70);
  EXPECT_GT(
      share(type(RideFraudType::kSplitFareFraud).unpaid, type(RideFraudType::kSplitFareFraud).rows),
      70);
  EXPECT_GT(share(type(RideFraudType::kRatingFraud).pairs, type(RideFraudType::kRatingFraud).rows),
            30);
  EXPECT_LT(share(honest.long_way + honest.stays + honest.pairs, honest.rows), 15);
  EXPECT_LT(share(honest.unpaid, honest.rows), 5);
}

// At high difficulty episodes pause for days, so that many reach beyond the period.
TEST(CoherentRides, FraudsAreLevelAtBothEnds) {
  Parameters parameters = OnlyRides();
  parameters.difficulty = 1'000;
  parameters.frauds = {.billionths = 200'000'000};
  parameters.customers = 2'000;
  Collector all = Everything(*ModelOf(parameters));
  const Collected& rides = all[kRides];
  constexpr int64_t kEdge = 10;
  const auto days = static_cast<int64_t>(parameters.Days());
  std::map<int64_t, int64_t> frauds;  // by end of the period
  for (std::size_t row = 0; row < rides.rows; ++row) {
    if (rides.Number("is_fraud", row) == 0) continue;
    const int64_t day = rides.Number("timestamp", row) / kDay - parameters.first_day;
    ++frauds[day < kEdge ? -1 : day >= days - kEdge ? 1 : 0];
  }
  const int64_t usual = frauds[0] * kEdge / (days - 2 * kEdge);
  ASSERT_GT(usual, 60);
  for (const int end : {-1, 1}) {
    EXPECT_GT(frauds[end], usual * 7 / 10) << end;
    EXPECT_LT(frauds[end], usual * 14 / 10) << end;
  }
}

Place PlaceOf(const Collected& rides, const std::string& end, std::size_t row) {
  return {.latitude = static_cast<int32_t>(rides.Number(end + ".lat", row)),
          .longitude = static_cast<int32_t>(rides.Number(end + ".lon", row))};
}

TEST(CoherentRides, RoutesFitTheirPlaces) {
  const Collected& rides = SmallRides()[kRides];
  for (std::size_t row = 0; row < rides.rows; ++row) {
    const int64_t crow = DistanceBetween(PlaceOf(rides, "pickup_location", row),
                                         PlaceOf(rides, "dropoff_location", row));
    const int64_t route = rides.Number("route_km", row);
    EXPECT_GE(route, std::max<int64_t>(100, crow * 13 / 10));
    EXPECT_LE(route, std::max<int64_t>(100, crow * 15 / 10));
  }
}

// Or short rides soon after another would be fraud.
TEST(CoherentRides, HonestPeopleRideAroundTheCornerAndBack) {
  const Collected& rides = SmallRides()[kRides];
  std::map<std::string, int64_t> last;
  std::array<int, 2> soon = {};  // honest, fraud
  for (std::size_t row = 0; row < rides.rows; ++row) {
    const int64_t time = rides.Number("timestamp", row);
    int64_t& before = last[rides.Text("passenger_id", row)];
    if (rides.Number("route_km", row) <= 105 && time - before < 90 * kMinute) {
      ++soon[static_cast<std::size_t>(rides.Number("is_fraud", row))];
    }
    before = time;
  }
  EXPECT_GT(soon[1], 20);
  EXPECT_GT(soon[0] * 3, soon[1]);
}

TEST(CoherentRides, DriversPersistAndDriveInTheirCity) {
  const Collected& rides = SmallRides()[kRides];
  const Collected& drivers = SmallRides()[kDrivers];
  std::map<std::string, std::string> city;
  std::map<std::string, int> trips;
  for (std::size_t row = 0; row < drivers.rows; ++row) {
    const bool is_new =
        city.emplace(drivers.Text("driver_id", row), drivers.Text("operating_city", row)).second;
    EXPECT_TRUE(is_new) << "duplicate driver";
    EXPECT_LT(drivers.Number("registration_date", row), OnlyRides().first_day);
  }
  for (std::size_t row = 0; row < rides.rows; ++row) {
    if (!rides.Has("driver_id", row)) {
      EXPECT_EQ(rides.Number("status", row), static_cast<int64_t>(RideStatus::kNoDriver));
      continue;
    }
    const std::string& driver = rides.Text("driver_id", row);
    ASSERT_TRUE(city.contains(driver));
    if (rides.Number("is_fraud", row) == 0) {
      EXPECT_EQ(rides.Text("pickup_location.city", row), city[driver]);
    }
    ++trips[driver];
  }
  int regular = 0;
  for (const auto& [driver, count] : trips) regular += count > 10 ? 1 : 0;
  EXPECT_GT(regular, 50);
}

// Golden hashes: changing them changes the data of every seed.
TEST(CoherentRides, KeepTheirGoldenRows) {
  uint64_t hash = 0;
  for (const Table* table : {&kDrivers, &kRides, &kRideAlerts}) {
    const Collected& rows = SmallRides()[*table];
    for (const Collected::Values& values : rows.columns) {
      for (const uint8_t present : values.present) hash = Mix(hash ^ present);
      for (const int64_t number : values.numbers) hash = Mix(hash ^ static_cast<uint64_t>(number));
      for (const std::string& text : values.texts) {
        for (const char letter : text) hash = Mix(hash ^ static_cast<unsigned char>(letter));
      }
    }
  }
  EXPECT_EQ(hash, 6288405176538061921u);
}

}  // namespace rides_test
}  // namespace reveza::fraudgen::coherent
