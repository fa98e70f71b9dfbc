// Feeds the checker with invalid input on purpose.
#include "reveza/gpu/simulator/checker.h"

#include <gtest/gtest.h>

namespace reveza::simulator {
namespace checker_test {

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
    checker_.CheckEvent(scheduler_, kind, 1, decisions, now);
  }

  Scheduler scheduler_;
  Checker checker_;
};

TEST_F(CheckerTest, AcceptsEmptyScheduler) {
  Look({});
  Look(scheduler_.TakeDecisions());
  EXPECT_TRUE(checker_.ok()) << checker_.failure();
}

TEST_F(CheckerTest, DetectsCreditBeyondBudget) {
  scheduler_.ClientResumed(Time(0), 1, 0, Footprint{}, 2 * kGiB, false);
  scheduler_.TakeDecisions();
  Look({});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, AllowsTakeoverBeyondBudgetButNoNewCredit) {
  scheduler_.ClientResumed(Time(0), 1, 0, Footprint{}, 2 * kGiB, false);
  scheduler_.TakeDecisions();
  Look({}, EventKind::kResumed);
  Look({}, EventKind::kOther);
  EXPECT_TRUE(checker_.ok()) << checker_.failure();
  Look({scheduler::GiveCredit{1, 0, kMiB}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, DetectsGateOpenedOnSwappedMemory) {
  scheduler_.AccountChanged(Time(0), 1, 0, Footprint{0, kMiB, 0, 0}, 0, 0);
  scheduler_.TakeDecisions();
  Look({scheduler::OpenGate{1, 1000}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, DetectsEvictionBehindOpenGate) {
  scheduler_.AccountChanged(Time(0), 1, 0, Footprint{}, 0, 0);
  scheduler_.GateRequested(Time(0), 1);
  Look(scheduler_.TakeDecisions());
  ASSERT_TRUE(checker_.ok()) << checker_.failure();
  Look({scheduler::Evict{2, 0, kMiB, 1000}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, DetectsReusedSerial) {
  Look({scheduler::SwapIn{1, 1000}});
  EXPECT_TRUE(checker_.ok());
  Look({scheduler::SwapIn{2, 1000}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, DetectsSliceBelowFloor) {
  scheduler_.GateRequested(Time(0), 1);
  Look(scheduler_.TakeDecisions());
  Look({scheduler::CloseGate{1, 1000, Time(0), Time(0), 0}}, EventKind::kTick,
       seconds(1) + milliseconds(1));
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, AllowsShortSliceOfIdleJob) {
  scheduler_.GateRequested(Time(0), 1);
  Look(scheduler_.TakeDecisions());
  Look({scheduler::CloseGate{1, 1000, Time(0), Time(0), 0}}, EventKind::kIdle,
       seconds(1) + milliseconds(1));
  EXPECT_TRUE(checker_.ok()) << checker_.failure();
}

TEST_F(CheckerTest, DetectsMovesWhereEverythingFits) {
  checker_.everything_fits = true;
  Look({scheduler::Evict{1, 0, kMiB, 1000}});
  EXPECT_FALSE(checker_.ok());
}

// Returns what a client with 64 MiB on the GPU, of a job that is paused, is ordered to do.
std::vector<Decision> AddPausedClient(Scheduler& scheduler) {
  scheduler.SetPolicy(Time(0), 1, {.paused = true});
  scheduler.ClientResumed(Time(0), 1, 0, Footprint{.resident = 64 * kMiB}, 64 * kMiB, false);
  return scheduler.TakeDecisions();
}

TEST_F(CheckerTest, DetectsMemoryGivenToAPausedJob) {
  Look(AddPausedClient(scheduler_));
  EXPECT_TRUE(checker_.ok()) << checker_.failure();
  Look({scheduler::GiveCredit{1, 0, kMiB}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, DetectsSwapInOfAPausedJob) {
  Look(AddPausedClient(scheduler_));
  Look({scheduler::SwapIn{1, 1000}});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(CheckerTest, DetectsMemoryThatAPausedJobKeeps) {
  const std::vector<Decision> orders = AddPausedClient(scheduler_);
  ASSERT_TRUE(std::holds_alternative<scheduler::Evict>(orders.at(0)));
  Look(orders);
  EXPECT_TRUE(checker_.ok()) << "it is being evicted: " << checker_.failure();
  const auto& order = std::get<scheduler::Evict>(orders.at(0));
  scheduler_.Evicted(Time(0), 1, order.serial, 0, scheduler::EvictFailure::kDriver);
  Look(scheduler_.TakeDecisions());
  EXPECT_FALSE(checker_.ok()) << "and not ordered again at once";
}

TEST_F(CheckerTest, DetectsStarvation) {
  checker_.max_wait = seconds(10);
  checker_.CheckWait(1, seconds(5), "the gate", seconds(15));
  EXPECT_TRUE(checker_.ok());
  checker_.CheckWait(1, seconds(5), "the gate", seconds(16));
  EXPECT_FALSE(checker_.ok());
  EXPECT_NE(checker_.failure().find("the gate"), std::string::npos);
}

TEST_F(CheckerTest, DetectsHostMemoryBeyondBudget) {
  scheduler_.AccountChanged(Time(0), 1, 0, Footprint{}, 0, 2 * kGiB);
  scheduler_.TakeDecisions();
  Look({});
  EXPECT_FALSE(checker_.ok());
}

}  // namespace checker_test
}  // namespace reveza::simulator
