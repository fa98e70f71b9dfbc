#include <array>
#include <string_view>
#include <utility>

#include "datagen/coherent/fill.h"
#include "datagen/coherent/fill_columns.h"
#include "datagen/fixed_text.h"
#include "datagen/lists/places.h"
#include "datagen/lists/rides.h"

namespace reveza::datagen::coherent {
namespace {

// The index into lists::kStates, by the city.
constexpr auto kStateOfCity = [] {
  std::array<uint16_t, lists::kCities.size()> states{};
  for (std::size_t city = 0; city < states.size(); ++city) {
    while (lists::kStates[states[city]].code != lists::kCities[city].state) ++states[city];
  }
  return states;
}();

void AppendList(std::string& text, std::string_view name, std::string_view& before) {
  text += std::exchange(before, ";");
  text += name;
}

using Drivers = ColumnFiller<Driver>;

void FillDriver(const Identity& identity, Drivers& fill) {
  fill.Text("driver_id",
            [&](char* out, const Driver& row) { return identity.drivers().Put(out, row.number); });
  fill.Text("name", [&](char* out, const Driver& row) {
    return identity.PutName(out, identity.OwnerOf(row));
  });
  fill.Text("phone", [&](char* out, const Driver& row) {
    return identity.PutPhone(out, identity.OwnerOf(row));
  });
  fill.Text("email", [&](char* out, const Driver& row) {
    return identity.PutEmail(out, identity.OwnerOf(row));
  });
  fill.Text("cpf", [&](char* out, const Driver& row) {
    return identity.PutCpf(out, identity.OwnerOf(row));
  });
}

void FillCar(const World& world, Drivers& fill) {
  fill.Text("cnh_number", [](char* out, const Driver& row) {
    WriteDigits<11>(out, Mix(row.key + 1) % 100'000'000'000);
    return out + 11;
  });
  fill.Code("cnh_category", [](const Driver& row) {
    const uint64_t percent = Mix(row.key + 2) % 100;
    return percent < 60 ? 0 : percent < 85 ? 1 : percent < 93 ? 2 : percent < 98 ? 3 : 4;
  });
  fill.Number("cnh_expiration", [&](const Driver& row) {
    return world.parameters().last_day + 365 + static_cast<int64_t>(Mix(row.key + 3) % (4 * 365));
  });
  fill.Text("vehicle_plate", [](char* out, const Driver& row) {
    uint64_t bits = Mix(row.key + 4);
    for (const char sign : std::string_view("LLLDLDD")) {
      const uint64_t count = sign == 'L' ? 26 : 10;
      *out++ = static_cast<char>((sign == 'L' ? 'A' : '0') + bits % count);
      bits /= count;
    }
    return out;
  });
  fill.Code("vehicle_brand", [](const Driver& row) { return lists::kBrandOfVehicle[row.vehicle]; });
  fill.Code("vehicle_model", [](const Driver& row) { return row.vehicle; });
  fill.Number("vehicle_year", [&](const Driver& row) {
    return DateOf(world.parameters().first_day).year - static_cast<int64_t>(Mix(row.key + 5) % 11);
  });
  fill.Code("vehicle_color",
            [](const Driver& row) { return Mix(row.key + 6) % lists::kVehicleColors.size(); });
}

void FillWork(Drivers& fill) {
  fill.Number("rating", [](const Driver& row) { return row.rating; });
  fill.Number("trips_completed", [](const Driver& row) { return row.trips; });
  fill.Number("registration_date", [](const Driver& row) { return row.registered_day; });
  fill.LongText("active_apps", [](std::string& text, const Driver& row) {
    std::string_view before;
    for (std::size_t app = 0; app < lists::kRideApps.size(); ++app) {
      if ((row.apps >> app & 1) != 0) AppendList(text, lists::kRideApps[app].name, before);
    }
  });
  fill.Code("shift", [](const Driver& row) { return row.shift; });
  fill.Code("operating_state", [](const Driver& row) { return row.state; });
  fill.LongText("operating_city", [](std::string& text, const Driver& row) {
    text += lists::kCities[row.city].name;
  });
  fill.LongText("categories_enabled", [](std::string& text, const Driver& row) {
    std::string_view before;
    for (std::size_t i = 0; i < lists::kRideCategories.size(); ++i) {
      if (CanServe(row, i)) AppendList(text, lists::kRideCategories[i].name, before);
    }
  });
}

using Rides = ColumnFiller<Ride>;

struct PlaceColumns {
  std::string_view latitude, longitude, kind, city, state;
};
void FillPlace(Rides& fill, const PlaceColumns& names, RidePlace Ride::* place) {
  fill.Number(names.latitude, [=](const Ride& row) { return (row.*place).place.latitude; });
  fill.Number(names.longitude, [=](const Ride& row) { return (row.*place).place.longitude; });
  fill.Code(names.kind, [=](const Ride& row) { return (row.*place).kind; });
  fill.LongText(names.city, [=](std::string& text, const Ride& row) {
    text += lists::kCities[(row.*place).city].name;
  });
  fill.Code(names.state, [=](const Ride& row) { return kStateOfCity[(row.*place).city]; });
}

void FillWho(const Identity& identity, Rides& fill) {
  fill.Identifier("ride_id", identity.rides(), [](const Ride& row) { return row.number; });
  fill.Number("timestamp", [](const Ride& row) { return row.time; });
  fill.Code("app", [](const Ride& row) { return lists::kRideCategories[row.category].app; });
  fill.Code("category", [](const Ride& row) { return lists::kNameOfRideCategory[row.category]; });
  fill.TextIf("driver_id", fill.Where([](const Ride& row) { return row.driver != kNoDriver; }),
              [&](char* out, const Ride& row) { return identity.drivers().Put(out, row.driver); });
  fill.Identifier("passenger_id", identity.customers(),
                  [](const Ride& row) { return row.passenger; });
  fill.Identifier("device_id", identity.devices(), [](const Ride& row) { return row.device; });
  FillPlace(fill,
            {"pickup_location.lat", "pickup_location.lon", "pickup_location.kind",
             "pickup_location.city", "pickup_location.state"},
            &Ride::from);
  FillPlace(fill,
            {"dropoff_location.lat", "dropoff_location.lon", "dropoff_location.kind",
             "dropoff_location.city", "dropoff_location.state"},
            &Ride::to);
}

void FillCourse(Rides& fill) {
  const Presence completed = fill.Where(IsCompleted);
  fill.NumberIf("accept_datetime", completed, [](const Ride& row) { return row.accepted_at; });
  fill.NumberIf("pickup_datetime", completed, [](const Ride& row) { return row.picked_up_at; });
  fill.NumberIf("dropoff_datetime", completed, [](const Ride& row) { return row.dropped_off_at; });
  fill.Number("route_km", [](const Ride& row) { return row.route; });
  fill.NumberIf("distance_km", completed, [](const Ride& row) { return row.distance; });
  fill.NumberIf("duration_minutes", completed, [](const Ride& row) { return row.minutes; });
  fill.NumberIf("wait_time_minutes", completed, [](const Ride& row) { return row.wait; });
  fill.Number("base_fare", [](const Ride& row) { return row.base; });
  fill.Number("surge_multiplier", [](const Ride& row) { return row.surge; });
  fill.Number("promo_discount", [](const Ride& row) { return row.discount; });
  fill.Number("final_fare", [](const Ride& row) { return row.fare; });
  fill.Number("driver_pay", [](const Ride& row) { return row.pay; });
  fill.Number("platform_fee", [](const Ride& row) { return row.fee; });
  fill.Number("tip", [](const Ride& row) { return row.tip; });
  fill.Code("payment_method", [](const Ride& row) { return row.payment; });
  fill.Flag("is_paid", [](const Ride& row) { return row.paid; });
  fill.Number("split_with", [](const Ride& row) { return row.split; });
  fill.Code("status", [](const Ride& row) { return row.status; });
  fill.NumberIf("driver_rating", completed, [](const Ride& row) { return row.driver_rating; });
  fill.NumberIf("passenger_rating", completed,
                [](const Ride& row) { return row.passenger_rating; });
  fill.CodeIf("cancellation_reason", fill.Where(IsCancelled),
              [](const Ride& row) { return row.reason; });
}

}  // namespace

void FillDrivers(const Identity& identity, const World& world, std::span<const Driver> rows,
                 Batch& batch) {
  Drivers fill(rows, batch);
  FillDriver(identity, fill);
  FillCar(world, fill);
  FillWork(fill);
}

void FillRides(const Identity& identity, std::span<const Ride> rows, Batch& batch) {
  Rides fill(rows, batch);
  FillWho(identity, fill);
  FillCourse(fill);
  fill.Code("weather_condition", [](const Ride& row) { return row.weather; });
  fill.Number("temperature", [](const Ride& row) { return row.temperature; });
  fill.Number("pair_rides_this_month", [](const Ride& row) { return row.pair; });
  fill.Number("risk_score", [](const Ride& row) { return row.score; });
  fill.Flag("is_fraud", [](const Ride& row) { return row.is_fraud; });
  const Presence is_fraud = fill.Where([](const Ride& row) { return row.is_fraud; });
  fill.CodeIf("fraud_type", is_fraud, [](const Ride& row) { return row.fraud_type; });
  fill.CodeIf("fraud_role", is_fraud, [](const Ride& row) { return row.fraud_role; });
  fill.NumberIf("fraud_reported_at",
                fill.Where([](const Ride& row) { return row.reported_at != kNever; }),
                [](const Ride& row) { return row.reported_at; });
}

void FillRideAlerts(const Identity& identity, std::span<const Ride> rows, Batch& batch) {
  Rides fill(rows, batch);
  fill.Identifier("alert_id", identity.ride_alerts(), [](const Ride& row) { return row.number; });
  fill.Identifier("ride_id", identity.rides(), [](const Ride& row) { return row.number; });
  fill.Identifier("passenger_id", identity.customers(),
                  [](const Ride& row) { return row.passenger; });
  fill.Number("alerted_at", [](const Ride& row) { return row.time; });
  fill.Code("rule", [](const Ride& row) { return row.rule; });
  fill.Number("risk_score", [](const Ride& row) { return row.score; });
}

}  // namespace reveza::datagen::coherent
