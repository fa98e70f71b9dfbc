#include <gtest/gtest.h>

#include "reveza/gpu/daemon/testing_core.h"

namespace reveza::daemon {
namespace core_usage_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using usage::Counter;

std::int64_t Nanoseconds(Time time) { return time.count(); }

// Two jobs of one client each, which do not fit together.
class CoreUsageTest : public testing::Test {
 protected:
  void SetUp() override {
    harness_.Start(1, 0x71, "ana", 100, 150 * kMiB);
    harness_.Deliver(1, wire::GateRequested{});
    ASSERT_TRUE(harness_.SwapIn(1, 150 * kMiB));
    ASSERT_TRUE(harness_.Take<wire::OpenGate>(1));
  }

  TestingCore harness_;
};

TEST_F(CoreUsageTest, CountsGpuTimeTurnsAndBytes) {
  harness_.Advance(seconds(3));
  harness_.core.OnDeath(1);
  const usage::Usage& ana = harness_.sink.jobs.at(0x71);
  EXPECT_EQ(ana.name, "ana");
  EXPECT_EQ(ana.counters[Counter::kGpuTime], Nanoseconds(seconds(3)));
  EXPECT_EQ(ana.counters[Counter::kTurns], 1);
  EXPECT_EQ(ana.counters[Counter::kBytesIn], static_cast<std::int64_t>(150 * kMiB));
  EXPECT_EQ(ana.counters[Counter::kBytesOut], 0);
  EXPECT_EQ(ana.counters.Waited(), 0);
}

TEST_F(CoreUsageTest, CountsWaitsUntilTheEndOfTheProcess) {
  harness_.Start(2, 0x72, "bia", 200, 150 * kMiB);
  harness_.Deliver(2, wire::GateRequested{});
  harness_.clock.Advance(milliseconds(300));
  harness_.core.OnDeath(2);
  const usage::Usage& bia = harness_.sink.jobs.at(0x72);
  EXPECT_EQ(bia.counters[Counter::kTurn], Nanoseconds(milliseconds(300)));
  EXPECT_EQ(bia.counters.Waited(), Nanoseconds(milliseconds(300)));
  EXPECT_EQ(bia.counters[Counter::kGpuTime], 0);
}

TEST_F(CoreUsageTest, ReportsWhatIsNewNowAndThen) {
  harness_.Advance(seconds(40));
  EXPECT_EQ(harness_.sink.reports, 1);
  harness_.Advance(seconds(10));
  EXPECT_EQ(harness_.sink.reports, 1);
  harness_.Advance(seconds(30));
  harness_.core.OnDeath(1);
  EXPECT_EQ(harness_.sink.jobs.at(0x71).counters[Counter::kGpuTime], Nanoseconds(seconds(80)));
}

TEST_F(CoreUsageTest, IdleJobsAreNotReported) {
  harness_.Start(2, 0x72, "bia", 200, 10 * kMiB);
  for (int i = 0; i < 5; ++i) harness_.Advance(seconds(40));
  EXPECT_FALSE(harness_.sink.jobs.contains(0x72));
}

TEST_F(CoreUsageTest, ReportsAllAtTheEnd) {
  harness_.clock.Advance(seconds(2));
  harness_.core.ReportUsage();
  EXPECT_EQ(harness_.sink.jobs.at(0x71).counters[Counter::kGpuTime], Nanoseconds(seconds(2)));
}

}  // namespace core_usage_test
}  // namespace reveza::daemon
