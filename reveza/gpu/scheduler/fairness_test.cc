#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace fairness_test {

using std::chrono::hours;
using std::chrono::minutes;

constexpr Bytes kBig = 12 * kGiB;

Time RanOf(const Script& script, JobId job) { return script.JobOf(job).ran; }

double Seconds(Time time) { return std::chrono::duration<double>(time).count(); }

// Adds job `id` of one client of the same number, busy from now on, with `bytes`.
void AddBusy(Script& script, JobId id, const Policy& policy = {}, Bytes bytes = kBig) {
  script.AddClient(id, bytes);
  script.SetPolicy(id, policy);
  script.Want(id);
}

// Lets time pass for clients that want their gate again as soon as it closes.
void Pass(Script& script, Time duration, std::initializer_list<ClientId> busy) {
  for (const Time end = script.now() + duration; script.now() < end;) {
    script.Wait(milliseconds(50));
    for (const ClientId client : busy) {
      if (!script.Open(client)) script.Want(client);
    }
  }
}

TEST(Fairness, GpuTimeIsProportionalToWeight) {
  Script script;
  AddBusy(script, 1);
  AddBusy(script, 2, {.weight = 3});
  Pass(script, minutes(20), {1, 2});
  EXPECT_NEAR(Seconds(RanOf(script, 2)) / Seconds(RanOf(script, 1)), 3, 0.1);
}

TEST(Fairness, TheWeightOfAnAccountIsSharedByItsJobs) {
  Script script;
  for (const ClientId client : {1, 2, 3}) {
    AddBusy(script, client, {.weight = client == 2 ? 2.0 : 1.0});
    script.SetAccount(client, client == 3 ? 8 : 7, {.weight = 1});
  }
  Pass(script, minutes(30), {1, 2, 3});
  EXPECT_NEAR(Seconds(RanOf(script, 1)), 300, 20);
  EXPECT_NEAR(Seconds(RanOf(script, 2)), 600, 40);
  EXPECT_NEAR(Seconds(RanOf(script, 3)), 900, 60);
  EXPECT_NEAR(script.JobOf(2).weight, 2.0 / 3, 1e-9);
}

TEST(Fairness, JobsOfAnAccountThatSleepTakeNoPartOfItsWeight) {
  Script script;
  AddBusy(script, 1);
  script.AddClient(2, kBig);
  AddBusy(script, 3);
  script.SetAccount(1, 7, {.weight = 3});
  script.SetAccount(2, 7, {.weight = 3});
  Pass(script, minutes(20), {1, 3});
  EXPECT_NEAR(Seconds(RanOf(script, 1)) / Seconds(RanOf(script, 3)), 3, 0.1);
}

TEST(Fairness, ANewWeightCountsFromNowOn) {
  Script script;
  AddBusy(script, 1);
  AddBusy(script, 2);
  Pass(script, minutes(10), {1, 2});
  const Time first = RanOf(script, 1);
  const Time second = RanOf(script, 2);
  EXPECT_NEAR(Seconds(second) / Seconds(first), 1, 0.1);
  script.SetPolicy(2, {.weight = 2});
  Pass(script, minutes(20), {1, 2});
  EXPECT_NEAR(Seconds(RanOf(script, 2) - second) / Seconds(RanOf(script, 1) - first), 2, 0.1);
}

TEST(Fairness, TimeAsleepGivesNoCredit) {
  Script script;
  AddBusy(script, 1);
  AddBusy(script, 2);
  script.AddClient(3, kBig);
  Pass(script, minutes(30), {1, 2});
  script.Want(3);
  Pass(script, minutes(10), {1, 2, 3});
  EXPECT_NEAR(Seconds(RanOf(script, 3)), 200, 40);
}

TEST(Fairness, TimeAloneIsNoDebt) {
  Script script;
  AddBusy(script, 1);
  script.Wait(hours(1));
  AddBusy(script, 2);
  EXPECT_TRUE(script.Open(2)) << "its slice is long over";
  const Time alone = RanOf(script, 1);
  Pass(script, minutes(10), {1, 2});
  EXPECT_NEAR(Seconds(RanOf(script, 1) - alone), 300, 40);
}

// The job is not delayed for what it had before it slept.
TEST(Fairness, TimeAloneIsNoDebtAfterSleep) {
  Script script;
  AddBusy(script, 1);
  script.Wait(hours(1));
  script.Idle(1);
  AddBusy(script, 2);
  script.Want(1);
  const Time alone = RanOf(script, 1);
  Pass(script, minutes(10), {1, 2});
  EXPECT_NEAR(Seconds(RanOf(script, 1) - alone), 300, 40);
}

TEST(Fairness, HigherPriorityEntersAfterTheShortestSlice) {
  Script script;
  AddBusy(script, 1);
  AddBusy(script, 2, {.priority = Priority::kHigh});
  script.Wait(Script::DefaultConfig().slice_floor - milliseconds(1));
  EXPECT_FALSE(script.Open(2));
  script.Wait(milliseconds(2));
  EXPECT_TRUE(script.Open(2));
}

TEST(Fairness, HigherPriorityEntersFirst) {
  Script script;
  AddBusy(script, 1, {.priority = Priority::kHigh});
  AddBusy(script, 2);
  AddBusy(script, 3, {.priority = Priority::kHigh});
  for (int i = 0; i < 4000 && script.Open(1); ++i) script.Wait(milliseconds(10));
  EXPECT_TRUE(script.Open(3));
  EXPECT_FALSE(script.Open(2));
}

TEST(Fairness, HigherPriorityEntersBeforeOneThatWaitedLonger) {
  Script script;
  AddBusy(script, 1);
  AddBusy(script, 2);
  script.Wait(milliseconds(10));
  AddBusy(script, 3, {.priority = Priority::kHigh});
  ASSERT_TRUE(script.Open(1));
  script.Idle(1);
  EXPECT_TRUE(script.Open(3));
  EXPECT_FALSE(script.Open(2));
}

TEST(Fairness, LowPriorityEntersAfterMaxWait) {
  Script script;
  AddBusy(script, 1, {.priority = Priority::kHigh});
  AddBusy(script, 2, {.priority = Priority::kLow});
  Pass(script, Script::DefaultConfig().max_wait - seconds(1), {1, 2});
  EXPECT_EQ(script.JobOf(2).turns, 0u);
  Pass(script, minutes(10), {1, 2});
  EXPECT_GE(script.JobOf(2).turns, 4u);
  EXPECT_LT(RanOf(script, 2), seconds(10));
}

// Two that wait for the same gate to close must not take the turn from each other for ever.
TEST(Fairness, LowPriorityKeepsItsTurnAfterMaxWait) {
  for (const bool interactive : {false, true}) {
    Script script;
    AddBusy(script, 1);
    AddBusy(script, 2, {.priority = Priority::kLow});
    script.Wait(Script::DefaultConfig().max_wait - milliseconds(100));
    script.hold_gates = true;
    AddBusy(script, 3, {.interactive = interactive});
    ASSERT_TRUE(script.IsClosing(1));
    script.Wait(milliseconds(200));
    EXPECT_LT(script.scheduler().Passes(), Scheduler::kMaxPasses);
    script.CloseHeldGate(1);
    EXPECT_TRUE(script.Open(2));
    EXPECT_FALSE(script.Open(3));
  }
}

TEST(Fairness, GrowthOfLowerPriorityClosesNoHigherOne) {
  Script script;
  AddBusy(script, 1, {.priority = Priority::kLow}, 7 * kGiB);
  AddBusy(script, 2, {.priority = Priority::kHigh}, 7 * kGiB);
  ASSERT_TRUE(script.Open(2));
  script.Grow(1, 7, 2 * kGiB);
  EXPECT_TRUE(script.Open(2));
  script.Grow(2, 8, 2 * kGiB);
  EXPECT_TRUE(script.Open(2));
  EXPECT_FALSE(script.Open(1));
}

TEST(Fairness, HighPriorityIsNeverQueued) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(1);
  Script script(config);
  for (const JobId job : {1, 2}) AddBusy(script, job);
  AddBusy(script, 3, {.priority = Priority::kHigh});
  EXPECT_EQ(script.JobOf(2).state, JobState::kQueued);
  EXPECT_EQ(script.JobOf(3).state, JobState::kWaiting);
}

TEST(Fairness, AHeldSliceDoesNotEnd) {
  Script script;
  AddBusy(script, 1);
  AddBusy(script, 2, {.priority = Priority::kHigh});
  script.scheduler().SetHold(script.now(), 1, true);
  script.DeliverDecisions();
  script.Wait(seconds(20));
  EXPECT_TRUE(script.Open(1));
  script.scheduler().SetHold(script.now(), 1, false);
  script.DeliverDecisions();
  EXPECT_TRUE(script.Open(2));
}

TEST(Fairness, AHeldSliceEndsAfterTheLongest) {
  Script script;
  AddBusy(script, 1);
  script.scheduler().SetHold(script.now(), 1, true);
  script.AddClient(2, kBig);
  script.SetPolicy(2, {.interactive = true});
  script.Want(2);
  script.Idle(1);
  script.Wait(Script::DefaultConfig().slice_ceiling - milliseconds(1));
  EXPECT_TRUE(script.Open(1));
  script.Wait(milliseconds(2));
  EXPECT_TRUE(script.Open(2));
}

class InteractiveTest : public testing::Test {
 protected:
  static constexpr Policy kInteractive{.interactive = true};

  void SetUp() override {
    script_.AddClient(9, 6 * kGiB);
    script_.SetPolicy(9, kInteractive);
    AddBusy(script_, 1);
    AddBusy(script_, 2);
    ASSERT_TRUE(script_.Open(1));
  }

  // Lets the interactive job work for a moment. Returns whether it could at once.
  bool Work(Time duration = milliseconds(10)) {
    script_.Want(9);
    if (!script_.Open(9)) return false;
    script_.Wait(duration);
    script_.Idle(9);
    return true;
  }

  Script script_;
};

TEST_F(InteractiveTest, EntersAtOnce) {
  script_.Wait(milliseconds(1));
  script_.Want(9);
  EXPECT_TRUE(script_.Open(9));
  script_.Want(1);
  script_.Wait(milliseconds(10));
  script_.Idle(9);
  EXPECT_TRUE(script_.Open(1)) << "its slice was interrupted";
}

TEST_F(InteractiveTest, AnInterruptedSliceEndsWhenItWouldHave) {
  script_.Wait(seconds(8));
  script_.Want(9);
  ASSERT_TRUE(script_.Open(9));
  script_.Want(1);
  script_.Idle(9);
  ASSERT_TRUE(script_.Open(1));
  script_.Wait(seconds(8));
  EXPECT_TRUE(script_.Open(2));
}

TEST_F(InteractiveTest, ASliceThatEndsDuringTheInterruptionIsOver) {
  script_.Wait(script_.JobOf(1).slice_ends - script_.now() - milliseconds(10));
  script_.Want(9);
  ASSERT_TRUE(script_.Open(9));
  script_.Want(1);
  script_.Wait(milliseconds(20));
  script_.Idle(9);
  EXPECT_TRUE(script_.Open(2));
  EXPECT_EQ(script_.JobOf(1).turns, 1u);
}

// Though it is interrupted again and again, the slice ends in the time of a slice.
TEST_F(InteractiveTest, InterruptedSlicesEnd) {
  for (int i = 0; i < 600 && script_.JobOf(2).turns == 0; ++i) {
    script_.Want(9);
    script_.Want(1);
    script_.Wait(milliseconds(50));
    script_.Idle(9);
    script_.Wait(milliseconds(50));
  }
  EXPECT_GT(script_.JobOf(2).turns, 0u);
  EXPECT_LT(script_.now(), seconds(16));
}

TEST_F(InteractiveTest, PaysForHandoversAndTime) {
  int worked = 0;
  for (; worked < 100 && Work(milliseconds(100)); ++worked) script_.Want(1);
  EXPECT_GE(worked, 2);
  EXPECT_LE(worked, 20);
  EXPECT_FALSE(script_.Open(9)) << "it waits for the end of a slice now";
  Pass(script_, seconds(40), {1, 2, 9});
  script_.Idle(9);
  Pass(script_, seconds(60), {1, 2});
  EXPECT_TRUE(Work()) << "tokens come back";
}

// Not even in the very event that ends its turn.
TEST_F(InteractiveTest, DoesNotPreemptWithTokensThatItsTurnTook) {
  script_.Wait(milliseconds(1));
  script_.Want(9);
  ASSERT_TRUE(script_.Open(9));
  script_.Want(1);
  script_.hold_gates = true;
  for (int i = 0; i < 1000 && !script_.IsClosing(9); ++i) script_.Wait(milliseconds(100));
  ASSERT_TRUE(script_.IsClosing(9)) << "at the end of its slice";
  script_.Want(9);
  script_.CloseHeldGate(9);
  EXPECT_FALSE(script_.Open(9));
  EXPECT_TRUE(script_.Open(1) || script_.Open(2));
}

TEST_F(InteractiveTest, TakesAboutItsShareFromOthers) {
  const Time before = RanOf(script_, 9);
  for (int i = 0; i < 6000; ++i) {
    if (!script_.Open(9)) script_.Want(9);
    script_.Wait(milliseconds(50));
    if (script_.Open(9)) script_.Idle(9);
    for (const ClientId client : {1, 2}) {
      if (!script_.Open(client)) script_.Want(client);
    }
  }
  // It also gets turns of its own, which it gives up when it is idle.
  EXPECT_LT(RanOf(script_, 9) - before, seconds(300) * 15 / 100);
}

TEST_F(InteractiveTest, DoesNotPreemptAHigherPriority) {
  script_.SetPolicy(1, {.priority = Priority::kHigh});
  script_.Wait(milliseconds(1));
  EXPECT_FALSE(Work());
}

// Its memory is there, but is being evicted since it was paused: that it enters is no decision. Who
// waits for it is known at once all the same.
TEST(Fairness, JobThatEntersWithoutADecisionIsInTheWayOfOthers) {
  Script script;
  AddBusy(script, 1, {.priority = Priority::kLow}, 5 * kGiB);
  AddBusy(script, 2, {}, 9 * kGiB);
  script.Wait(seconds(1));
  script.hold_evictions = true;
  script.SetPolicy(1, {.priority = Priority::kLow, .paused = true});
  ASSERT_TRUE(script.IsEvicting(1));
  script.Want(1);
  AddBusy(script, 3, {}, 14 * kGiB);
  EXPECT_EQ(script.JobOf(3).blocked_by, 2u);
  script.scheduler().SetPolicy(script.now(), 1, {.priority = Priority::kLow});
  EXPECT_TRUE(script.scheduler().TakeDecisions().empty());
  EXPECT_EQ(script.JobOf(1).state, JobState::kEntering);
  EXPECT_EQ(script.JobOf(3).blocked_by, 1u);
}

// It is no decision that an entry ends, but the job waits again, and why is known at once.
TEST(Fairness, JobWhoseEntryEndsForAHigherPriorityWaits) {
  Script script;
  AddBusy(script, 1, {}, 9 * kGiB);
  script.AddClient(2, 5 * kGiB);
  script.hold_swap_ins = true;
  script.Want(2);
  ASSERT_EQ(script.JobOf(2).state, JobState::kEntering);
  script.hold_gates = true;
  script.SetPolicy(1, {.paused = true});
  ASSERT_TRUE(script.IsClosing(1));
  script.AddClient(3, kBig);
  script.SetPolicy(3, {.priority = Priority::kHigh});
  script.Wait(seconds(1));
  script.scheduler().GateRequested(script.now(), 3);
  EXPECT_TRUE(script.scheduler().TakeDecisions().empty());
  EXPECT_EQ(script.JobOf(2).state, JobState::kWaiting);
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kTurn);
}

TEST_F(InteractiveTest, IsEvictedLast) {
  Script script;
  script.AddClient(9, 4 * kGiB);
  script.SetPolicy(9, kInteractive);
  script.Want(9);
  script.Idle(9);
  script.AddClient(1, 4 * kGiB);
  script.Want(1);
  script.Idle(1);
  AddBusy(script, 2, {}, 8 * kGiB);
  ASSERT_TRUE(script.Open(2));
  EXPECT_EQ(script.CardOf(9).footprint.swapped, 0u);
  EXPECT_GT(script.CardOf(1).footprint.swapped, 0u);
}

TEST_F(InteractiveTest, IsNeverQueued) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(1);
  Script script(config);
  for (const JobId job : {1, 2}) AddBusy(script, job);
  AddBusy(script, 3, {.priority = Priority::kHigh, .interactive = true});
  EXPECT_NE(script.JobOf(3).state, JobState::kQueued);
}

}  // namespace fairness_test
}  // namespace reveza::scheduler
