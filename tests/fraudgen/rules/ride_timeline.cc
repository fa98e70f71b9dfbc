#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

#include "fraudgen/values/civil_time.h"
#include "tests/fraudgen/rules/timeline.h"

namespace reveza::fraudgen::rules {
namespace {

constexpr int64_t kWeatherPeriod = 3 * kMicrosecondsPerHour;

// Returns true if a list separated by `;` has this member.
bool Lists(std::string_view list, std::string_view member) {
  return std::ranges::any_of(std::views::split(list, ';'),
                             [&](const auto& each) { return std::ranges::equal(each, member); });
}

struct RideColumns {
  const Batch& batch;
  Field id{batch, "ride_id"};
  Field passenger{batch, "passenger_id"};
  Field driver{batch, "driver_id"};
  Field device{batch, "device_id"};
  Field time{batch, "timestamp"};
  Field ended{batch, "dropoff_datetime"};
  Field app{batch, "app"};
  Field category{batch, "category"};
  Field city{batch, "pickup_location.city"};
  Field state{batch, "pickup_location.state"};
  Field weather{batch, "weather_condition"};
  Field pair{batch, "pair_rides_this_month"};
  Field score{batch, "risk_score"};
  Field is_fraud{batch, "is_fraud"};

  bool Complete(std::size_t row) const {
    return AllHave(row, id, passenger, device, time, app, category, city, state, weather, pair,
                   score, is_fraud);
  }
};

// A row of rides.
struct Ride {
  const RideColumns& columns;
  const Position& position;
  std::size_t row;
  uint64_t passenger = NumberOf(columns.passenger.Text(row));
  int64_t time = columns.time.Number(row);
  bool is_fraud = columns.is_fraud.Flag(row);

  std::string Name() const { return std::string(columns.id.Text(row)); }
  void Check(Tally& tally, bool valid) const {
    tally.Check(valid, position, row, [&] { return Name(); });
  }
};

// Follows the column documentation and shares no code with the model.
class RideTimeline final : public TableCheck {
 public:
  explicit RideTimeline(const TimelineState& state) : state_(state) {}

  void Add(const Batch& batch, const Position& position) override {
    const std::string_view table = batch.table().name;
    if (table == "drivers") AddDrivers(batch);
    if (table == "ride_alerts") alerts_.Add(batch);
    if (table == "rides") AddRides(batch, position);
  }

  void EndBlock() override {
    drivers_.clear();
    pairs_.clear();
    skies_.clear();
    alerts_.EndBlock();
    last_time_ = INT64_MIN;
    month_ = 0;
  }

  // Adds nothing if there are no rides.
  void Report(Tallies& tallies) const override {
    if (order_.checked() == 0) return;
    for (const Tally* tally : {&order_, &opened_, &device_, &home_, &free_, &pair_, &weather_}) {
      if (tally != &opened_ || opened_.checked() != 0) tallies.push_back(*tally);
    }
    tallies.push_back(alerts_.tally());
  }

 private:
  struct Driver {
    std::string city;
    std::string apps;
    std::string categories;
    int64_t busy_until = INT64_MIN;
  };
  struct Weather {
    int64_t period = INT64_MIN;
    uint16_t condition = 0;
  };

  void AddDrivers(const Batch& batch) {
    const auto [driver, city, apps, categories] =
        NamedFields(batch, "driver_id", "operating_city", "active_apps", "categories_enabled");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!AllHave(row, driver, city, apps, categories)) continue;
      drivers_[NumberOf(driver.Text(row))] = {.city = std::string(city.Text(row)),
                                              .apps = std::string(apps.Text(row)),
                                              .categories = std::string(categories.Text(row))};
    }
  }

  void AddRides(const Batch& batch, const Position& position) {
    const RideColumns columns{batch};
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!columns.Complete(row)) continue;
      const Ride ride{columns, position, row};
      ride.Check(order_, ride.time >= last_time_);
      last_time_ = ride.time;
      const CivilDate date = DateOf(ride.time / kMicrosecondsPerDay);
      const int32_t month = date.year * 12 + date.month;
      if (std::exchange(month_, month) != month) pairs_.clear();
      CheckPassenger(ride);
      CheckDriver(ride);
      CheckWeather(ride);
      alerts_.Match(position, row, NumberOf(columns.id.Text(row)), ride.passenger, ride.time,
                    columns.score.Number(row));
    }
  }

  void CheckPassenger(const Ride& ride) {
    const auto account = state_.accounts.find(ride.passenger);
    if (account != state_.accounts.end()) {
      ride.Check(opened_, ride.time >= account->second.opened_at);
    }
    const uint64_t device = NumberOf(ride.columns.device.Text(ride.row));
    const auto use = state_.first_uses.find(PairOf(device, ride.passenger));
    // KeyCheck reports unknown devices.
    if (use != state_.first_uses.end()) ride.Check(device_, ride.time >= use->second);
  }

  void CheckDriver(const Ride& ride) {
    const auto& columns = ride.columns;
    const std::size_t row = ride.row;
    const int64_t stored = columns.pair.Number(row);
    if (!columns.driver.Has(row)) {
      ride.Check(pair_, stored == 0);
      return;
    }
    const uint64_t number = NumberOf(columns.driver.Text(row));
    int64_t& before = pairs_[PairOf(number, ride.passenger)];
    pair_.Check(stored == before, ride.position, row,
                [&] { return fmt::format("{}, should be {}", ride.Name(), before); });
    const bool completed = columns.ended.Has(row);
    before += completed ? 1 : 0;
    const auto found = drivers_.find(number);
    if (found == drivers_.end()) return;
    Driver& driver = found->second;
    if (!ride.is_fraud) {
      ride.Check(home_, driver.city == columns.city.Text(row) &&
                            Lists(driver.apps, columns.app.Value(row)) &&
                            Lists(driver.categories, columns.category.Value(row)));
      ride.Check(free_, ride.time >= driver.busy_until);
    }
    if (completed) driver.busy_until = std::max(driver.busy_until, columns.ended.Number(row));
  }

  void CheckWeather(const Ride& ride) {
    if (ride.is_fraud) return;  // its location may be forged
    const auto& columns = ride.columns;
    const Weather now = {.period = ride.time / kWeatherPeriod,
                         .condition = columns.weather.Code(ride.row)};
    Weather& sky =
        skies_[fmt::format("{}/{}", columns.city.Text(ride.row), columns.state.Value(ride.row))];
    ride.Check(weather_, sky.period != now.period || sky.condition == now.condition);
    sky = now;
  }

  const TimelineState& state_;
  std::unordered_map<uint64_t, Driver> drivers_;
  std::unordered_map<uint64_t, int64_t> pairs_;     // rides of this month, by driver and passenger
  std::unordered_map<std::string, Weather> skies_;  // by city and state
  int64_t last_time_ = INT64_MIN;
  int32_t month_ = 0;  // of pairs_
  ReferenceCheck alerts_{{"ride_id", "passenger_id", "alerted_at", "risk_score"},
                         "ride_alerts: match a ride of their block",
                         "rides",
                         "RIDE_",
                         12};

  Tally order_{"ride timeline: rides of a block are in order of time"};
  Tally opened_{"ride timeline: no rides before the account was opened"};
  Tally device_{"ride timeline: devices are not used before first_use"};
  Tally home_{"ride timeline: drivers drive in their city, with their apps and categories"};
  Tally free_{"ride timeline: a driver has one honest ride at a time"};
  Tally pair_{"ride timeline: pair_rides_this_month is correct"};
  Tally weather_{"ride timeline: weather of a city is constant for three hours"};
};

}  // namespace

std::unique_ptr<TableCheck> CheckRides(const TimelineState& state) {
  return std::make_unique<RideTimeline>(state);
}

}  // namespace reveza::fraudgen::rules
