#include <array>
#include <string_view>
#include <utility>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/model/coherent/fill_columns.h"
#include "fraudgen/model/coherent/tables.h"
#include "fraudgen/schema/fixed_text.h"

namespace reveza::fraudgen::coherent {
namespace {

void AppendList(std::string& text, std::string_view name, std::string_view& before) {
  text += std::exchange(before, ";");
  text += name;
}

using Drivers = ColumnFiller<Driver>;

void FillDriver(const Identity& identity, Drivers& fill) {
  fill.Text("driver_id",
            [&](char* out, const Driver& row) { return identity.drivers.Put(out, row.number); });
  const auto of_owner = [&](auto put) {
    return [&, put](char* out, const Driver& row) {
      return (identity.*put)(out, identity.OwnerOf(row));
    };
  };
  fill.Text("name", of_owner(&Identity::PutName));
  fill.Text("phone", of_owner(&Identity::PutPhone));
  fill.Text("email", of_owner(&Identity::PutEmail));
  fill.Text("cpf", of_owner(&Identity::PutCpf));
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
  fill.Code("vehicle_model", &Driver::vehicle);
  fill.Number("vehicle_year", [&](const Driver& row) {
    return DateOf(world.parameters().first_day).year - static_cast<int64_t>(Mix(row.key + 5) % 11);
  });
  fill.Code("vehicle_color",
            [](const Driver& row) { return Mix(row.key + 6) % lists::kVehicleColors.size(); });
}

void FillWork(Drivers& fill) {
  fill.Number("rating", &Driver::rating);
  fill.Number("trips_completed", &Driver::trips);
  fill.Number("registration_date", &Driver::registered_day);
  fill.LongText("active_apps", [](std::string& text, const Driver& row) {
    std::string_view before;
    for (std::size_t app = 0; app < lists::kRideApps.size(); ++app) {
      if ((row.apps >> app & 1) != 0) AppendList(text, lists::kRideApps[app].name, before);
    }
  });
  fill.Code("shift", &Driver::shift);
  fill.Code("operating_state", &Driver::state);
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
  fill.Code(names.state, [=](const Ride& row) { return lists::kStateOfCity[(row.*place).city]; });
}

void FillWho(const Identity& identity, Rides& fill) {
  fill.Identifier("ride_id", identity.rides, &Ride::number);
  fill.Number("timestamp", &Ride::time);
  fill.Code("app", [](const Ride& row) { return lists::kRideCategories[row.category].app; });
  fill.Code("category", [](const Ride& row) { return lists::kNameOfRideCategory[row.category]; });
  fill.TextIf("driver_id", fill.Where([](const Ride& row) { return row.driver != kNoDriver; }),
              [&](char* out, const Ride& row) { return identity.drivers.Put(out, row.driver); });
  fill.Identifier("passenger_id", identity.customers, &Ride::passenger);
  fill.Identifier("device_id", identity.devices, &Ride::device);
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
  fill.NumberIf("accept_datetime", completed, &Ride::accepted_at);
  fill.NumberIf("pickup_datetime", completed, &Ride::picked_up_at);
  fill.NumberIf("dropoff_datetime", completed, &Ride::dropped_off_at);
  fill.Number("route_km", &Ride::route);
  fill.NumberIf("distance_km", completed, &Ride::distance);
  fill.NumberIf("duration_minutes", completed, &Ride::minutes);
  fill.NumberIf("wait_time_minutes", completed, &Ride::wait);
  fill.Number("base_fare", &Ride::base);
  fill.Number("surge_multiplier", &Ride::surge);
  fill.Number("promo_discount", &Ride::discount);
  fill.Number("final_fare", &Ride::fare);
  fill.Number("driver_pay", &Ride::pay);
  fill.Number("platform_fee", &Ride::fee);
  fill.Number("tip", &Ride::tip);
  fill.Code("payment_method", &Ride::payment);
  fill.Flag("is_paid", &Ride::paid);
  fill.Number("split_with", &Ride::split);
  fill.Code("status", &Ride::status);
  fill.NumberIf("driver_rating", completed, &Ride::driver_rating);
  fill.NumberIf("passenger_rating", completed, &Ride::passenger_rating);
  fill.CodeIf("cancellation_reason", fill.Where(IsCancelled), &Ride::reason);
}

}  // namespace

void FillDrivers(const Identity& identity, std::span<const Driver> rows, Batch& batch) {
  const World& world = identity.world();
  Drivers fill(rows, batch);
  FillDriver(identity, fill);
  FillCar(world, fill);
  FillWork(fill);
}

void FillRides(const Identity& identity, std::span<const Ride> rows, Batch& batch) {
  Rides fill(rows, batch);
  FillWho(identity, fill);
  FillCourse(fill);
  fill.Code("weather_condition", &Ride::weather);
  fill.Number("temperature", &Ride::temperature);
  fill.Number("pair_rides_this_month", &Ride::pair);
  fill.Number("risk_score", &Ride::score);
  fill.Flag("is_fraud", &Ride::is_fraud);
  const Presence is_fraud = fill.Where(&Ride::is_fraud);
  fill.CodeIf("fraud_type", is_fraud, &Ride::fraud_type);
  fill.CodeIf("fraud_role", is_fraud, &Ride::fraud_role);
  fill.NumberIf("fraud_reported_at",
                fill.Where([](const Ride& row) { return row.reported_at != kNever; }),
                &Ride::reported_at);
}

void FillRideAlerts(const Identity& identity, std::span<const Ride> rows, Batch& batch) {
  Rides fill(rows, batch);
  fill.Identifier("alert_id", identity.ride_alerts, &Ride::number);
  fill.Identifier("ride_id", identity.rides, &Ride::number);
  fill.Identifier("passenger_id", identity.customers, &Ride::passenger);
  fill.Number("alerted_at", &Ride::time);
  fill.Code("rule", &Ride::rule);
  fill.Number("risk_score", &Ride::score);
}

}  // namespace reveza::fraudgen::coherent
