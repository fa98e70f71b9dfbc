#include <algorithm>
#include <optional>
#include <string_view>

#include "datagen/check/people_rules.h"
#include "datagen/check/row_rules.h"
#include "datagen/civil_time.h"
#include "datagen/lists/rides.h"

namespace reveza::datagen::check {
namespace {

using Fields = std::span<const Field>;

constexpr int64_t kMinute = 60 * kMicrosecondsPerSecond;

bool AllAre(bool there, Fields fields, std::size_t row) {
  for (const Field& field : fields.subspan(1)) {
    if (field.Has(row) != there) return false;
  }
  return true;
}

bool HasCourse(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "COMPLETED"), fields, row);
}
bool HasDriver(Fields fields, std::size_t row) {
  return AllAre(!fields[0].Is(row, "NO_DRIVER"), fields, row);
}
bool HasReason(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "CANCELLED_PASSENGER") || fields[0].Is(row, "CANCELLED_DRIVER"),
                fields, row);
}
bool HasLabel(Fields fields, std::size_t row) { return AllAre(fields[0].Flag(row), fields, row); }

bool TimesFollow(Fields fields, std::size_t row) {
  if (!fields[1].Has(row)) return true;
  const int64_t accepted = fields[1].Number(row) - fields[0].Number(row);
  return accepted >= 10 * kMicrosecondsPerSecond && accepted <= 60 * kMicrosecondsPerSecond &&
         fields[2].Number(row) - fields[1].Number(row) == fields[4].Number(row) * kMinute &&
         fields[3].Number(row) - fields[2].Number(row) == fields[5].Number(row) * kMinute;
}

// What the app offers under this name.
std::optional<lists::RideCategory> CategoryOf(const Field& app, const Field& category,
                                              std::size_t row) {
  for (const lists::RideCategory& offered : lists::kRideCategories) {
    if (offered.app == app.Code(row) && offered.name == category.Value(row)) return offered;
  }
  return std::nullopt;
}

bool IsOfApp(Fields fields, std::size_t row) {
  return CategoryOf(fields[0], fields[1], row).has_value();
}

bool FareAddsUp(Fields fields, std::size_t row) {
  const auto number = [&](std::size_t field) { return fields[field].Number(row); };
  const int64_t base = number(4);
  const int64_t discount = number(6);
  if (!fields[2].Has(row)) {
    return base == 0 && discount == 0 && number(7) == 0 && number(8) == 0 && number(9) == 0;
  }
  const auto category = CategoryOf(fields[0], fields[1], row);
  if (!category) return true;  // said by another rule
  const int64_t expected = category->base + (number(2) * category->per_kilometre + 50) / 100 +
                           number(3) * category->per_minute;
  const int64_t whole = std::max<int64_t>(800, (base * number(5) + 50) / 100);
  const int64_t fee = (whole * lists::kRideApps[category->app].fee_percent + 50) / 100;
  return base == expected && number(7) == whole - discount && number(9) == fee &&
         number(8) == whole - fee && discount >= 0 && discount < whole;
}

bool ReportedLater(Fields fields, std::size_t row) {
  return !fields[1].Has(row) || fields[1].Number(row) > fields[0].Number(row);
}
bool IsScore(Fields fields, std::size_t row) {
  return fields[0].Number(row) >= 0 && fields[0].Number(row) <= 10'000;
}

}  // namespace

std::vector<RowRule> CoherentRideRules() {
  return {
      {"drivers", "CPFs are of the state's region", {"cpf", "operating_state"}, IsCpfOfState},
      {"drivers", "e-mail addresses are at example domains", {"email"}, IsExampleAddress},
      {"rides",
       "what completed rides have is there for them only",
       {"status", "accept_datetime", "pickup_datetime", "dropoff_datetime", "distance_km",
        "duration_minutes", "wait_time_minutes", "driver_rating", "passenger_rating"},
       HasCourse},
      {"rides", "driver_id is null if there was none only", {"status", "driver_id"}, HasDriver},
      {"rides",
       "cancellation_reason is there if cancelled only",
       {"status", "cancellation_reason"},
       HasReason},
      {"rides",
       "times follow from wait and duration",
       {"timestamp", "accept_datetime", "pickup_datetime", "dropoff_datetime", "wait_time_minutes",
        "duration_minutes"},
       TimesFollow},
      {"rides", "category is one of the app", {"app", "category"}, IsOfApp},
      {"rides",
       "fare, discount, pay and fee follow from distance, duration and surge",
       {"app", "category", "distance_km", "duration_minutes", "base_fare", "surge_multiplier",
        "promo_discount", "final_fare", "driver_pay", "platform_fee"},
       FareAddsUp},
      {"rides", "risk_score is 0 to 100", {"risk_score"}, IsScore},
      {"rides",
       "fraud_type and fraud_role are there for frauds only",
       {"is_fraud", "fraud_type", "fraud_role"},
       HasLabel},
      {"rides",
       "fraud_reported_at is later than the ride",
       {"timestamp", "fraud_reported_at"},
       ReportedLater},
  };
}

}  // namespace reveza::datagen::check
