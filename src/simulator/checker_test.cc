// The checker must find what is wrong: here its input is made wrong on purpose.
#include "simulator/checker.h"

#include <gtest/gtest.h>

namespace reveza::simulator {
namespace {

using scheduler::Decision;
using scheduler::Footprint;
using scheduler::GpuConfig;
using scheduler::Scheduler;
using scheduler::Time;
using std::chrono::milliseconds;
using std::chrono::seconds;

class CheckerTest : public testing::Test {
 protected:
  CheckerTest() : scheduler_(MakeConfig()), checker_(MakeConfig()) {
    scheduler_.SetGpu(Time(0), 0, GpuConfig{kGiB, kGiB, kMiB});
    scheduler_.ClientJoined(Time(0), 1, 1, false);
    scheduler_.ClientJoined(Time(0), 2, 1, false);
  }

  static scheduler::Config MakeConfig() {
    scheduler::Config config;
    config.host_budget = kGiB;
    return config;
  }

  void Look(const std::vector<Decision>& decisions, EventKind kind = EventKind::kOther,
            Time now = seconds(1)) {
    checker_.After(scheduler_, kind, 1, decisions, now);
  }

  Scheduler scheduler_;
  Checker checker_;
};

TEST_F(CheckerTest, FindsNothingWrongWithNothing) {
  Look({});
  Look(scheduler_.TakeDecisions());
  EXPECT_TRUE(checker_.ok()) << checker_.failure();
}

TEST_F(CheckerTest, FindsCreditBeyondTheBudget) {
  scheduler_.ClientResumed(Time(0), 1, 0, Footprint{}, 2 * kGiB, false);
  scheduler_.TakeDecisions();
  Look({});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, ForgivesATakeoverButNoCreditAfterIt) {
  scheduler_.ClientResumed(Time(0), 1, 0, Footprint{}, 2 * kGiB, false);
  scheduler_.TakeDecisions();
  Look({}, EventKind::kResumed);
  Look({}, EventKind::kOther);
  EXPECT_TRUE(checker_.ok()) << checker_.failure();
  Look({scheduler::GiveCredit{1, 0, kMiB}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, FindsAGateThatOpensOnSwappedMemory) {
  scheduler_.AccountChanged(Time(0), 1, 0, Footprint{0, kMiB, 0, 0}, 0, 0);
  scheduler_.TakeDecisions();
  Look({scheduler::OpenGate{1, 1000}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, FindsAnEvictionBehindAnOpenGateOfTheSameJob) {
  scheduler_.AccountChanged(Time(0), 1, 0, Footprint{}, 0, 0);
  scheduler_.GateWanted(Time(0), 1);
  Look(scheduler_.TakeDecisions());
  ASSERT_TRUE(checker_.ok()) << checker_.failure();
  Look({scheduler::Evict{2, 0, kMiB, 1000}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, FindsASerialNumberUsedTwice) {
  Look({scheduler::SwapIn{1, 1000}});
  EXPECT_TRUE(checker_.ok());
  Look({scheduler::SwapIn{2, 1000}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, FindsASliceBelowItsFloor) {
  scheduler_.GateWanted(Time(0), 1);
  Look(scheduler_.TakeDecisions());
  Look({scheduler::CloseGate{1, 1000, Time(0)}}, EventKind::kTick, seconds(1) + milliseconds(1));
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, ForgivesAShortSliceOfAnIdleJob) {
  scheduler_.GateWanted(Time(0), 1);
  Look(scheduler_.TakeDecisions());
  Look({scheduler::CloseGate{1, 1000, Time(0)}}, EventKind::kIdle, seconds(1) + milliseconds(1));
  EXPECT_TRUE(checker_.ok()) << checker_.failure();
}

TEST_F(CheckerTest, FindsMovementWhereEverythingFits) {
  checker_.everything_fits = true;
  Look({scheduler::Evict{1, 0, kMiB, 1000}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, FindsTooLongAWait) {
  checker_.longest_wait = seconds(10);
  checker_.CheckWait(1, seconds(5), "its gate", seconds(15));
  EXPECT_TRUE(checker_.ok());
  checker_.CheckWait(1, seconds(5), "its gate", seconds(16));
  EXPECT_FALSE(checker_.ok());
  EXPECT_NE(checker_.failure().find("its gate"), std::string::npos);
}

TEST_F(CheckerTest, FindsHostMemoryBeyondItsBudget) {
  scheduler_.AccountChanged(Time(0), 1, 0, Footprint{}, 0, 2 * kGiB);
  scheduler_.TakeDecisions();
  Look({});
  EXPECT_FALSE(checker_.ok());
}

}  // namespace
}  // namespace reveza::simulator
