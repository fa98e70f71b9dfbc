#include <gtest/gtest.h>

#include <set>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace deadlock_test {

// Jobs 10 (clients 1 and 2) and 20 (clients 3 and 4) run together. The GPU work of clients 1 and 3
// waits for clients 2 and 4, which need memory that is there for one of them only.
class RanksThatGrow : public testing::Test {
 protected:
  static constexpr std::uint32_t kFirst = 7;
  static constexpr std::uint32_t kSecond = 8;

  void SetUp() override {
    for (const ClientId client : {1, 2, 3, 4}) {
      script_.Join(client, client <= 2 ? 10 : 20);
      script_.MakeContext(client);
      script_.Allocate(client, 3 * kGiB);
    }
    for (const ClientId client : {1, 2, 3, 4}) script_.Want(client);
    for (const ClientId client : {1, 2, 3, 4}) ASSERT_TRUE(script_.Open(client));
    script_.hold_gates = true;
    script_.Grow(2, kFirst, 3 * kGiB);
    script_.Grow(4, kSecond, 3 * kGiB);
  }

  // Lets time pass; orders to close fail for the clients in `waiting_`.
  void Pass(Time duration) {
    for (const Time end = script_.now() + duration; script_.now() < end;) {
      script_.Wait(milliseconds(50));
      for (const ClientId client : {1, 2, 3, 4}) {
        if (!script_.IsClosing(client)) continue;
        if (waiting_.contains(client)) {
          script_.FailHeldGate(client);
        } else {
          script_.CloseHeldGate(client);
        }
      }
    }
  }

  Script script_;
  std::set<ClientId> waiting_ = {1, 3};
};

TEST_F(RanksThatGrow, GrowthOfTheYoungerJobIsRefusedAfterMaxWait) {
  Pass(Script::DefaultConfig().max_wait - seconds(1));
  EXPECT_FALSE(script_.Answered(kFirst));
  EXPECT_FALSE(script_.Answered(kSecond));
  Pass(seconds(60));
  ASSERT_TRUE(script_.Answered(kSecond));
  EXPECT_EQ(script_.AnswerTo(kSecond), Growth::kRefused);
  EXPECT_FALSE(script_.Answered(kFirst));
  waiting_.erase(3);  // its peer goes on
  Pass(seconds(60));
  ASSERT_TRUE(script_.Answered(kFirst));
  EXPECT_EQ(script_.AnswerTo(kFirst), Growth::kGranted);
}

TEST_F(RanksThatGrow, NothingIsRefusedWhileOneDrains) {
  waiting_.erase(3);
  Pass(seconds(300));
  ASSERT_TRUE(script_.Answered(kFirst));
  EXPECT_EQ(script_.AnswerTo(kFirst), Growth::kGranted);
  ASSERT_TRUE(script_.Answered(kSecond));
  EXPECT_EQ(script_.AnswerTo(kSecond), Growth::kLater);
}

// A process on a GPU that neither job uses is not part of the cause.
TEST(Deadlock, ExternalProcessOfAnotherGpuIsNoReasonToWait) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(20);
  config.consider_everything = true;
  ASSERT_GT(config.external_wait_timeout, config.max_wait);
  Script script(config);
  script.SetBudget(1, 16 * kGiB);
  for (const ClientId client : {1, 2, 3, 4}) {
    script.Join(client, client <= 2 ? 10 : 20);
    script.MakeContext(client);
    script.Allocate(client, 3 * kGiB);
  }
  for (const ClientId client : {1, 2, 3, 4}) script.Want(client);
  script.hold_gates = true;
  script.Grow(2, 7, 3 * kGiB);
  script.Grow(4, 8, 3 * kGiB);
  script.SetExternal(kGiB, 1);
  for (const Time end = script.now() + seconds(29); script.now() < end;) {
    script.Wait(milliseconds(50));
    for (const ClientId client : {1, 2, 3, 4}) {
      if (!script.IsClosing(client)) continue;
      if (client % 2 != 0) {
        script.FailHeldGate(client);
      } else {
        script.CloseHeldGate(client);
      }
    }
  }
  ASSERT_TRUE(script.Answered(8));
  EXPECT_EQ(script.AnswerTo(8), Growth::kRefused);
}

// During which no deadlock is broken, since the memory may be what is lacking.
TEST(Deadlock, IsBrokenWhenEvictionsOnAnotherGpuEnd) {
  Config config = Script::DefaultConfig();
  config.host_budget = 1024 * 1024 * kGiB;
  Script script(config);
  script.SetBudget(1, 16 * kGiB);
  for (const ClientId client : {1, 2}) {
    script.AddClient(client, 12 * kGiB);
    script.Want(client);
  }
  for (const ClientId client : {3, 4}) {
    script.AddClient(client, kGiB, 1);
    script.Want(client);
    script.Grow(client, static_cast<std::uint32_t>(client), 5 * kGiB, GrowthKind::kPinned, 1);
    ASSERT_EQ(script.AnswerTo(static_cast<std::uint32_t>(client)), Growth::kGranted);
  }
  script.hold_evictions = true;
  script.Idle(1);
  ASSERT_TRUE(script.IsEvicting(1));
  script.Grow(3, 13, 5 * kGiB, GrowthKind::kPinned, 1);
  script.Grow(4, 14, 5 * kGiB, GrowthKind::kPinned, 1);
  EXPECT_FALSE(script.Answered(14));
  script.FinishHeldEviction(1);
  ASSERT_TRUE(script.Answered(14));
  EXPECT_EQ(script.AnswerTo(14), Growth::kRefused);
  EXPECT_FALSE(script.Answered(13));
}

// The pinned memory of an idle job is in the way of all, so that nobody waits for a turn and no
// slice ends; whether the ranks drain must be found out all the same.
TEST(Deadlock, RanksThatWaitForPinnedMemoryAreAskedToLeave) {
  Script script;
  script.AddClient(5, kGiB);
  script.Want(5);
  script.Grow(5, 50, 5 * kGiB, GrowthKind::kPinned);
  ASSERT_EQ(script.AnswerTo(50), Growth::kGranted);
  for (const ClientId client : {1, 2}) {
    script.Join(client, 10);
    script.MakeContext(client);
    script.Allocate(client, 3 * kGiB);
  }
  script.Want(1);
  script.Want(2);
  ASSERT_TRUE(script.Open(1));
  script.hold_gates = true;
  script.Grow(2, 7, 4 * kGiB);
  script.AddClient(6, 10 * kGiB);
  script.Want(6);
  script.Wait(Script::DefaultConfig().max_wait - seconds(1));
  EXPECT_FALSE(script.IsClosing(1));
  script.Wait(seconds(60));
  EXPECT_TRUE(script.IsClosing(1));
}

// The only one that waits is parked by the time when the growth is overdue.
TEST(Deadlock, RanksThatGrowLeaveForQueuedJobs) {
  Config config = Script::DefaultConfig();
  config.host_budget = 1024 * 1024 * kGiB;
  config.max_wait = seconds(10);  // one job rotates
  config.drain_retry = seconds(1000);
  Script script(config);
  for (const ClientId client : {1, 2}) {
    script.Join(client, 10);
    script.MakeContext(client, kMiB);
    script.Allocate(client, 3 * kGiB);
  }
  for (const ClientId client : {1, 2}) script.Want(client);
  script.AddClient(3, 4 * kGiB, Script::kGpu, kMiB);
  script.Want(3);
  ASSERT_TRUE(script.Open(1) && script.Open(3));
  script.hold_gates = true;
  script.Grow(1, 7, 8 * kGiB);
  ASSERT_TRUE(script.IsClosing(3)) << "it came later";
  script.FailHeldGate(3);
  script.Wait(seconds(5));
  script.AddClient(4, 8 * kGiB, Script::kGpu, kMiB);
  script.Want(4);
  ASSERT_EQ(script.JobOf(4).why, WaitReason::kQueue);
  script.Account(1);
  ASSERT_EQ(script.scheduler().JobsConsidered(), 2u);
  ASSERT_FALSE(script.IsClosing(1));
  script.Wait(seconds(9));
  EXPECT_FALSE(script.Answered(7));
  EXPECT_TRUE(script.IsClosing(1));
}

TEST(Deadlock, RunningJobThatWaitsForAContextIsStuck) {
  Script script(Script::DefaultConfig(), 4 * kGiB);
  script.Join(1, 10);
  script.MakeContext(1);
  script.Join(2, 10);
  script.Want(1);
  ASSERT_TRUE(script.Open(1));
  script.AddClient(5, 0);
  script.Want(5);
  script.Grow(5, 50, 2816 * kMiB, GrowthKind::kPinned);
  ASSERT_EQ(script.AnswerTo(50), Growth::kGranted);
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  ASSERT_EQ(script.All<AdmitContext>().back().client, 5u);
  script.Grow(5, 51, 512 * kMiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(51)) << "client 1 may go on";
  script.Idle(1);
  ASSERT_TRUE(script.Answered(51));
  EXPECT_EQ(script.AnswerTo(51), Growth::kRefused);
}

// Once it is overdue, a context is made for which another job has no room any more, if no job can
// run. A job that waits for memory in its slice leaves for those that can.
TEST(Deadlock, ContextWaitsWhileOthersLeaveForJobsThatCanRun) {
  Script script(Script::DefaultConfig(), 8 * kGiB);
  script.AddClient(3, kGiB);
  script.Want(3);
  script.Grow(3, 30, 5888 * kMiB, GrowthKind::kPinned);
  ASSERT_EQ(script.AnswerTo(30), Growth::kGranted);
  script.Idle(3);
  script.AddClient(5, kGiB);
  script.Join(6, 6);
  script.scheduler().ContextRequested(script.now(), 6, Script::kGpu);
  script.DeliverDecisions();
  const auto admitted = [&] { return script.All<AdmitContext>().back().client == 6; };
  script.Wait(Script::DefaultConfig().max_wait + seconds(1));
  ASSERT_FALSE(admitted()) << "job 3 would have no room";
  script.Want(5);
  ASSERT_TRUE(script.Open(5));
  script.Grow(5, 50, 2 * kGiB);
  script.Want(3);
  EXPECT_FALSE(admitted());
  EXPECT_FALSE(script.Answered(50));
  script.Wait(seconds(60));
  EXPECT_TRUE(script.Open(3));
  EXPECT_FALSE(admitted());
}

}  // namespace deadlock_test
}  // namespace reveza::scheduler
