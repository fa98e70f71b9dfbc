#include <gtest/gtest.h>

#include "fraudgen/check/testing_data_set.h"

namespace reveza::fraudgen::check {
namespace ride_timeline_test {

TEST(RideTimeline, DetectsInconsistentRides) {
  const std::string rides = "rides/part-00000.jsonl";
  const std::string completed = "\"status\":\"COMPLETED\"";
  ExpectDetected(
      "rides",
      {
          {rides,
           [](Lines& lines) { std::swap(lines[100], lines[101]); },
           {"ride timeline: rides of a block are in order of time"}},
          {rides,
           Set("", "pair_rides_this_month", "77"),
           {"ride timeline: pair_rides_this_month is correct"}},
          {rides,
           [](Lines& lines) {
             for (std::size_t i = 0; i < lines.size(); ++i) {
               SetMember(lines[i], "weather_condition", i % 2 == 0 ? "\"CLEAR\"" : "\"STORM\"");
             }
           },
           {"ride timeline: weather of a city is constant for three hours"}},
          {rides,
           Set("\"status\":\"CANCELLED_DRIVER\"", "cancellation_reason", "null"),
           {"rides: cancellation_reason is set for cancelled rides only"}},
          {rides,
           Set(completed, "driver_rating", "null"),
           {"rides: completion columns are set for completed rides only"}},
          {rides,
           Set(completed, "final_fare", "0.01"),
           {"rides: fare, discount, pay and fee follow from distance, duration and surge"}},
          {rides,
           Set(completed, "wait_time_minutes", "99"),
           {"rides: times follow from wait and duration"}},
          {rides,
           Set("\"is_fraud\":false", "fraud_role", "\"DRIVER\""),
           {"rides: fraud_type and fraud_role are set for frauds only"}},
          {rides, Set("", "risk_score", "100.01"), {"rides: risk_score is 0 to 100"}},
          {rides,
           Set("", "device_id", "\"DEV_000000000000001\""),
           {"keys: rides.device_id with passenger_id exists in devices"}},
          {rides,
           [](Lines& lines) {
             for (std::size_t i = lines.size(); i-- > 0;) {
               if (MemberOf(lines[i], "pair_rides_this_month") != "0") continue;
               if (MemberOf(lines[i], "driver_id") == "null") continue;
               return SetMember(lines[i], "driver_id", "\"DRV_0000000001\"");
             }
           },
           {"keys: rides.driver_id exists in drivers"}},
          {"ride_alerts/part-00000.jsonl",
           Set("", "risk_score", "1.00"),
           {"ride_alerts: match a ride of their block"}},
          {"drivers/part-00000.jsonl",
           [](Lines& lines) {
             for (std::string& line : lines) SetMember(line, "active_apps", "\"LIFTOFF\"");
           },
           {"ride timeline: drivers drive in their city, with their apps and categories"}},
          {"devices/part-00000.jsonl",
           [](Lines& lines) {
             for (std::string& line : lines) {
               SetMember(line, "first_use", "\"2025-12-30T00:00:00.000000\"");
             }
           },
           {"ride timeline: devices are not used before first_use"}},
      });
}

}  // namespace ride_timeline_test
}  // namespace reveza::fraudgen::check
