#include "datagen/check/ride_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "datagen/civil_time.h"
#include "datagen/random.h"

namespace reveza::datagen::check {
namespace {

constexpr int64_t kWeatherPeriod = 3 * int64_t{3'600} * kMicrosecondsPerSecond;

uint64_t PairOf(uint64_t one, uint64_t other) { return Mix(Mix(one) + other); }

// Whether a list with `;` between its members has this one.
bool Lists(std::string_view list, std::string_view member) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(';'), list.size());
    if (list.substr(0, end) == member) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

// The columns of a batch of rides.
struct RideTimelineCheck::Rides {
  explicit Rides(const Batch& batch)
      : id(batch, "ride_id"),
        passenger(batch, "passenger_id"),
        driver(batch, "driver_id"),
        device(batch, "device_id"),
        time(batch, "timestamp"),
        ended(batch, "dropoff_datetime"),
        app(batch, "app"),
        category(batch, "category"),
        city(batch, "pickup_location.city"),
        state(batch, "pickup_location.state"),
        weather(batch, "weather_condition"),
        pair(batch, "pair_rides_this_month"),
        score(batch, "risk_score"),
        is_fraud(batch, "is_fraud") {}

  bool Complete(std::size_t row) const {
    for (const Field* field : {&id, &passenger, &device, &time, &app, &category, &city, &state,
                               &weather, &pair, &score, &is_fraud}) {
      if (!field->Has(row)) return false;
    }
    return true;
  }
  std::string Name(std::size_t row) const { return std::string(id.Text(row)); }

  Field id, passenger, driver, device, time, ended, app, category, city, state, weather, pair,
      score, is_fraud;
};

void RideTimelineCheck::Look(const Batch& batch, const Position& position) {
  const std::string_view table = batch.table().name;
  if (table == "accounts") AddAccounts(batch);
  if (table == "devices") AddDevices(batch);
  if (table == "drivers") AddDrivers(batch);
  if (table == "ride_alerts") AddAlerts(batch);
  if (table == "rides") LookAtRides(batch, position);
}

void RideTimelineCheck::AddAccounts(const Batch& batch) {
  const Field customer(batch, "customer_id");
  const Field opened(batch, "opened_at");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!customer.Has(row) || !opened.Has(row)) continue;
    opened_at_[NumberOf(customer.Text(row))] = opened.Number(row);
  }
}

void RideTimelineCheck::AddDevices(const Batch& batch) {
  const Field device(batch, "device_id");
  const Field customer(batch, "customer_id");
  const Field first_use(batch, "first_use");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!device.Has(row) || !customer.Has(row) || !first_use.Has(row)) continue;
    first_uses_.emplace(PairOf(NumberOf(device.Text(row)), NumberOf(customer.Text(row))),
                        first_use.Number(row));
  }
}

void RideTimelineCheck::AddDrivers(const Batch& batch) {
  const Field driver(batch, "driver_id");
  const Field city(batch, "operating_city");
  const Field apps(batch, "active_apps");
  const Field categories(batch, "categories_enabled");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!driver.Has(row) || !city.Has(row) || !apps.Has(row) || !categories.Has(row)) continue;
    drivers_[NumberOf(driver.Text(row))] = {.city = std::string(city.Text(row)),
                                            .apps = std::string(apps.Text(row)),
                                            .categories = std::string(categories.Text(row))};
  }
}

void RideTimelineCheck::AddAlerts(const Batch& batch) {
  const Field ride(batch, "ride_id");
  const Field passenger(batch, "passenger_id");
  const Field time(batch, "alerted_at");
  const Field score(batch, "risk_score");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!ride.Has(row) || !passenger.Has(row) || !time.Has(row) || !score.Has(row)) continue;
    alerts_[NumberOf(ride.Text(row))] = {.passenger = NumberOf(passenger.Text(row)),
                                         .time = time.Number(row),
                                         .score = score.Number(row)};
  }
}

void RideTimelineCheck::LookAtRides(const Batch& batch, const Position& position) {
  const Rides rides(batch);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!rides.Complete(row)) continue;
    const int64_t time = rides.time.Number(row);
    order_.Look();
    if (time < last_time_) order_.Bad(position, row, [&] { return rides.Name(row); });
    last_time_ = time;
    const CivilDate date = DateOf(time / kMicrosecondsPerDay);
    if (const int32_t month = date.year * 12 + date.month; month != month_) {
      month_ = month;
      pairs_.clear();
    }
    LookAtPassenger(rides, position, row);
    LookAtDriver(rides, position, row);
    LookAtWeather(rides, position, row);
    LookAtAlert(rides, position, row);
  }
}

void RideTimelineCheck::LookAtPassenger(const Rides& rides, const Position& position,
                                        std::size_t row) {
  const uint64_t passenger = NumberOf(rides.passenger.Text(row));
  const int64_t time = rides.time.Number(row);
  if (const auto account = opened_at_.find(passenger); account != opened_at_.end()) {
    opened_.Look();
    if (time < account->second) opened_.Bad(position, row, [&] { return rides.Name(row); });
  }
  const auto use = first_uses_.find(PairOf(NumberOf(rides.device.Text(row)), passenger));
  if (use == first_uses_.end()) return;  // its key is looked at elsewhere
  device_.Look();
  if (time < use->second) device_.Bad(position, row, [&] { return rides.Name(row); });
}

void RideTimelineCheck::LookAtDriver(const Rides& rides, const Position& position,
                                     std::size_t row) {
  pair_.Look();
  if (!rides.driver.Has(row)) {
    if (rides.pair.Number(row) != 0) pair_.Bad(position, row, [&] { return rides.Name(row); });
    return;
  }
  const uint64_t number = NumberOf(rides.driver.Text(row));
  int64_t& before = pairs_[PairOf(number, NumberOf(rides.passenger.Text(row)))];
  if (rides.pair.Number(row) != before) {
    pair_.Bad(position, row,
              [&] { return fmt::format("{}, should be {}", rides.Name(row), before); });
  }
  const bool completed = rides.ended.Has(row);
  before += completed ? 1 : 0;
  const auto found = drivers_.find(number);
  if (found == drivers_.end()) return;
  Driver& driver = found->second;
  const bool honest = !rides.is_fraud.Flag(row);
  if (honest) {
    home_.Look();
    free_.Look();
    if (driver.city != rides.city.Text(row) || !Lists(driver.apps, rides.app.Value(row)) ||
        !Lists(driver.categories, rides.category.Value(row))) {
      home_.Bad(position, row, [&] { return rides.Name(row); });
    }
    if (rides.time.Number(row) < driver.busy_until) {
      free_.Bad(position, row, [&] { return rides.Name(row); });
    }
  }
  if (completed) driver.busy_until = std::max(driver.busy_until, rides.ended.Number(row));
}

void RideTimelineCheck::LookAtWeather(const Rides& rides, const Position& position,
                                      std::size_t row) {
  if (rides.is_fraud.Flag(row)) return;  // it may say that it began elsewhere
  const int64_t period = rides.time.Number(row) / kWeatherPeriod;
  Weather& sky = skies_[fmt::format("{}/{}", rides.city.Text(row), rides.state.Value(row))];
  weather_.Look();
  if (sky.period == period && sky.condition != rides.weather.Code(row)) {
    weather_.Bad(position, row, [&] { return rides.Name(row); });
  }
  sky = {.period = period, .condition = rides.weather.Code(row)};
}

void RideTimelineCheck::LookAtAlert(const Rides& rides, const Position& position, std::size_t row) {
  const auto found = alerts_.find(NumberOf(rides.id.Text(row)));
  if (found == alerts_.end()) return;
  Alert& alert = found->second;
  alert.found = true;
  alert_.Look();
  if (alert.passenger != NumberOf(rides.passenger.Text(row)) ||
      alert.time != rides.time.Number(row) || alert.score != rides.score.Number(row)) {
    alert_.Bad(position, row, [&] { return rides.Name(row); });
  }
}

void RideTimelineCheck::EndBlock() {
  for (const auto& [id, alert] : alerts_) {
    if (!alert.found) alert_.Bad(fmt::format("RIDE_{:012} is not in rides", id));
  }
  alerts_.clear();
  opened_at_.clear();
  first_uses_.clear();
  drivers_.clear();
  pairs_.clear();
  skies_.clear();
  last_time_ = INT64_MIN;
  month_ = 0;
}

void RideTimelineCheck::Report(std::vector<Outcome>& outcomes) const {
  if (order_.looked() == 0) return;
  for (const Tally* tally :
       {&order_, &opened_, &device_, &home_, &free_, &pair_, &weather_, &alert_}) {
    if (tally != &opened_ || opened_.looked() != 0) outcomes.push_back(tally->outcome());
  }
}

}  // namespace reveza::datagen::check
