#include "datagen/stream/schedule.h"

#include <gtest/gtest.h>

#include "datagen/civil_time.h"

namespace reveza::datagen {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int64_t kStart = 20'000 * kMicrosecondsPerDay;

TEST(ScheduleTest, ARateHasNoErrorThatGrows) {
  const auto schedule = Schedule::ParseRate("3");
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->DueAt(0, kStart, kStart), nanoseconds(0));
  EXPECT_EQ(schedule->DueAt(1, kStart, kStart), nanoseconds(333'333'333));
  EXPECT_EQ(schedule->DueAt(2, kStart, kStart), nanoseconds(666'666'666));
  EXPECT_EQ(schedule->DueAt(3'000'000'000, kStart, kStart), seconds(1'000'000'000));
  EXPECT_EQ(schedule->DueAt(UINT64_MAX, kStart, kStart), hours(24 * 365 * 100));
}

TEST(ScheduleTest, RatesFromAMillionthToABillion) {
  EXPECT_EQ(Schedule::ParseRate("0.000001")->DueAt(1, 0, 0), seconds(1'000'000));
  EXPECT_EQ(Schedule::ParseRate("0.5")->DueAt(3, 0, 0), seconds(6));
  EXPECT_EQ(Schedule::ParseRate("1000000000")->DueAt(7, 0, 0), nanoseconds(7));
  for (const char* text : {"", "0", "0.0", "-1", "1e3", "1,5", "10/s", "0.0000001", "1.", ".5",
                           "1000000001", "99999999999999999999", "max", " 1"}) {
    const auto schedule = Schedule::ParseRate(text);
    ASSERT_FALSE(schedule) << text;
    EXPECT_TRUE(schedule.error().message.starts_with("--rate: '")) << schedule.error().message;
  }
}

TEST(ScheduleTest, APaceIsTheTimelinesOwn) {
  const int64_t day_later = kStart + kMicrosecondsPerDay;
  EXPECT_EQ(Schedule::ParsePace("real")->DueAt(9, day_later, kStart), hours(24));
  EXPECT_EQ(Schedule::ParsePace("x60")->DueAt(9, day_later, kStart), seconds(1'440));
  EXPECT_EQ(Schedule::ParsePace("x86400")->DueAt(9, day_later, kStart), seconds(1));
  EXPECT_EQ(Schedule::ParsePace("max")->DueAt(9, day_later, kStart), nanoseconds(0));
  // A century in one go.
  EXPECT_EQ(Schedule::ParsePace("x1")->DueAt(9, kStart + 30'000 * kMicrosecondsPerDay, kStart),
            hours(24) * 30'000);
  for (const char* text : {"", "x", "x0", "60", "fast", "x1.5", "x-3", "Real", "x100000001"}) {
    const auto schedule = Schedule::ParsePace(text);
    ASSERT_FALSE(schedule) << text;
    EXPECT_TRUE(schedule.error().message.starts_with("--pace: '")) << schedule.error().message;
  }
}

}  // namespace
}  // namespace reveza::datagen
