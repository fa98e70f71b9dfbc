#include "fraudgen/stream/streamer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fraudgen/stream/block_source.h"
#include "fraudgen/stream/testing_events.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen {
namespace streamer_test {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::vector<TestingEvent> Events(std::size_t count, int64_t pause) {
  std::vector<TestingEvent> events;
  for (std::size_t i = 0; i < count; ++i) {
    events.push_back(
        {.time = 1'000'000 + static_cast<int64_t>(i) * pause, .id = std::to_string(1'000'000 + i)});
  }
  return events;
}

class StreamerTest : public testing::Test {
 protected:
  Status Run(std::size_t count, int64_t pause, const Schedule& schedule,
             uint64_t max_events = UINT64_MAX) {
    TestingSource source(Events(count, pause), 100);
    Merge merge({&source});
    return RunStream(
        merge, sink_, schedule, max_events, clock_, stop_,
        [this](const StreamProgress&) { ++shown_; }, progress_);
  }
  nanoseconds TimeOf(std::size_t event) const { return sink_.times[event] - begin_; }

  TestingStreamClock clock_;
  TestingSink sink_{clock_};
  TestingStop stop_;
  StreamProgress progress_;
  nanoseconds begin_ = clock_.now;
  uint64_t shown_ = 0;
};

TEST_F(StreamerTest, SendsEachEventWhenDue) {
  ASSERT_TRUE(Run(50, 1, *Schedule::ParseRate("10")));
  ASSERT_EQ(sink_.ids.size(), 50u);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(TimeOf(i), milliseconds(100) * i) << i;
  EXPECT_TRUE(progress_.whole);
  EXPECT_FALSE(progress_.stopped);
  EXPECT_EQ(progress_.events, 50u);
  EXPECT_EQ(progress_.elapsed, milliseconds(4'900));
  EXPECT_EQ(shown_, 99u) << "49 pauses and 50 events";
}

TEST_F(StreamerTest, DelaysDoNotAccumulate) {
  clock_.late = milliseconds(30);
  ASSERT_TRUE(Run(20'000, 1, *Schedule::ParseRate("1000")));
  ASSERT_EQ(sink_.ids.size(), 20'000u);
  const double wanted = 19.999;
  const double took = std::chrono::duration<double>(progress_.elapsed).count();
  EXPECT_NEAR(took / wanted, 1, 0.002) << "30 ms late, as after each pause";
  for (std::size_t i = 0; i < 20'000; ++i) {
    EXPECT_GE(TimeOf(i), milliseconds(i)) << "never too early";
    EXPECT_LE(TimeOf(i), milliseconds(i + 31)) << i;
  }
  EXPECT_LE(progress_.behind, milliseconds(31));
  EXPECT_GE(progress_.behind, milliseconds(29));
}

TEST_F(StreamerTest, GroupsEventsAtHighRates) {
  ASSERT_TRUE(Run(10'000, 1, *Schedule::ParseRate("100000")));
  ASSERT_EQ(sink_.ids.size(), 10'000u);
  EXPECT_LE(clock_.waits, 110u) << "one a millisecond";
  for (std::size_t i = 0; i < 10'000; ++i) EXPECT_GE(TimeOf(i), microseconds(10) * i);
}

TEST_F(StreamerTest, CatchesUpAfterSlowSink) {
  // Each Send() takes as long as 25 events.
  sink_.on_send = [this] { clock_.now += milliseconds(25); };
  ASSERT_TRUE(Run(1'000, 1, *Schedule::ParseRate("1000")));
  EXPECT_EQ(sink_.ids.size(), 1'000u);
  EXPECT_LE(progress_.elapsed, milliseconds(1'100));
  EXPECT_LT(sink_.sends, 100u);
}

TEST_F(StreamerTest, PaceKeepsPausesOfTimeline) {
  ASSERT_TRUE(Run(5, 60'000'000, *Schedule::ParsePace("x60")));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(TimeOf(i), seconds(i));
  EXPECT_EQ(progress_.first_time, 1'000'000);
  EXPECT_EQ(progress_.last_time, 241'000'000);
}

TEST_F(StreamerTest, MaxPaceNeverWaits) {
  ASSERT_TRUE(Run(5'000, 60'000'000, Schedule::Max()));
  EXPECT_EQ(sink_.ids.size(), 5'000u);
  EXPECT_EQ(clock_.waits, 0u);
  EXPECT_EQ(progress_.bytes, 5'000 * TestingLine({0, "1000000"}).size());
}

TEST_F(StreamerTest, StopsAtLimit) {
  ASSERT_TRUE(Run(5'000, 1, Schedule::Max(), 2'049));
  EXPECT_EQ(sink_.ids.size(), 2'049u);
  EXPECT_EQ(sink_.ids.back(), "1002048");
  EXPECT_FALSE(progress_.whole);
  EXPECT_FALSE(progress_.stopped);
}

TEST_F(StreamerTest, StopInterruptsPause) {
  clock_.on_wait = [this] { stop_.requested = clock_.waits == 3; };
  ASSERT_TRUE(Run(50, 1, *Schedule::ParseRate("1")));
  EXPECT_TRUE(progress_.stopped);
  EXPECT_EQ(sink_.ids.size(), 3u);
}

TEST_F(StreamerTest, StopInterruptsBlockedSink) {
  sink_.max_per_send = 10;
  sink_.on_send = [this] { stop_.requested = true; };
  ASSERT_TRUE(Run(5'000, 1, Schedule::Max()));
  EXPECT_TRUE(progress_.stopped);
  EXPECT_EQ(progress_.events, 10u);
  EXPECT_EQ(progress_.last_time, 1'000'009);
}

TEST_F(StreamerTest, EmptyTimelineIsComplete) {
  ASSERT_TRUE(Run(0, 1, *Schedule::ParseRate("1")));
  EXPECT_TRUE(progress_.whole);
  EXPECT_EQ(progress_.events, 0u);
  EXPECT_EQ(clock_.waits, 0u);
}

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int64_t kStart = 20'000 * kMicrosecondsPerDay;

TEST(ScheduleTest, RateErrorDoesNotAccumulate) {
  const auto schedule = Schedule::ParseRate("3");
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->DueAt(0, kStart, kStart), nanoseconds(0));
  EXPECT_EQ(schedule->DueAt(1, kStart, kStart), nanoseconds(333'333'333));
  EXPECT_EQ(schedule->DueAt(2, kStart, kStart), nanoseconds(666'666'666));
  EXPECT_EQ(schedule->DueAt(3'000'000'000, kStart, kStart), seconds(1'000'000'000));
  EXPECT_EQ(schedule->DueAt(UINT64_MAX, kStart, kStart), hours(24 * 365 * 100));
}

TEST(ScheduleTest, ParsesRates) {
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

TEST(ScheduleTest, PaceScalesTheTimeline) {
  const int64_t day_later = kStart + kMicrosecondsPerDay;
  EXPECT_EQ(Schedule::ParsePace("real")->DueAt(9, day_later, kStart), hours(24));
  EXPECT_EQ(Schedule::ParsePace("x60")->DueAt(9, day_later, kStart), seconds(1'440));
  EXPECT_EQ(Schedule::ParsePace("x86400")->DueAt(9, day_later, kStart), seconds(1));
  EXPECT_EQ(Schedule::ParsePace("max")->DueAt(9, day_later, kStart), nanoseconds(0));
  // A century.
  EXPECT_EQ(Schedule::ParsePace("x1")->DueAt(9, kStart + 30'000 * kMicrosecondsPerDay, kStart),
            hours(24) * 30'000);
  for (const char* text : {"", "x", "x0", "60", "fast", "x1.5", "x-3", "Real", "x100000001"}) {
    const auto schedule = Schedule::ParsePace(text);
    ASSERT_FALSE(schedule) << text;
    EXPECT_TRUE(schedule.error().message.starts_with("--pace: '")) << schedule.error().message;
  }
}

}  // namespace streamer_test

}  // namespace reveza::fraudgen
