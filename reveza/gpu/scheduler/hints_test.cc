#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace hints_test {

TEST(Hints, ContentionIsSentOnChangeOnly) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  EXPECT_TRUE(script.All<SetContention>().empty());
  script.AddClient(2, 12 * kGiB);
  script.Want(2);
  ASSERT_EQ(script.All<SetContention>().size(), 1u);
  EXPECT_TRUE(script.All<SetContention>()[0].waiting);
  EXPECT_EQ(script.All<SetContention>()[0].client, 1u);
  EXPECT_GE(script.All<SetContention>()[0].idle_after, milliseconds(5));
  script.AddClient(3, 12 * kGiB);
  script.Want(3);
  EXPECT_EQ(script.All<SetContention>().size(), 1u);
  script.Leave(2);
  EXPECT_EQ(script.All<SetContention>().size(), 1u);
  script.Leave(3);
  ASSERT_EQ(script.All<SetContention>().size(), 2u);
  EXPECT_FALSE(script.All<SetContention>()[1].waiting);
}

// It needs no turn, but whether all others are idle decides whether it is refused.
TEST(Hints, GrowthThatWaitsForFixedMemoryIsContentionOnceItIsOverdue) {
  Script script;
  for (const ClientId client : {1, 2}) {
    script.AddClient(client, 0);
    script.Want(client);
  }
  script.Grow(1, 6, 6 * kGiB, GrowthKind::kPinned);
  ASSERT_EQ(script.AnswerTo(6), Growth::kGranted);
  script.Grow(2, 7, 9728 * kMiB);
  ASSERT_FALSE(script.Answered(7));
  script.Wait(Script::DefaultConfig().max_wait - seconds(1));
  EXPECT_TRUE(script.All<SetContention>().empty());
  script.Wait(seconds(2));
  ASSERT_EQ(script.All<SetContention>().size(), 1u);
  EXPECT_EQ(script.All<SetContention>()[0].client, 1u);
  EXPECT_TRUE(script.All<SetContention>()[0].waiting);
}

TEST(Hints, IdleAfterIsResentWhenDoubled) {
  Script script;
  for (ClientId client : {1, 2, 3}) {
    script.AddClient(client, 6 * kGiB);
    script.Want(client);
  }
  ASSERT_EQ(script.All<SetContention>().size(), 2u);  // the third waits
  const Time before = script.All<SetContention>()[0].idle_after;
  script.Allocate(3, 6 * kGiB);
  EXPECT_EQ(script.All<SetContention>().size(), 2u);
  script.Allocate(3, 2 * kGiB);
  ASSERT_EQ(script.All<SetContention>().size(), 4u);
  EXPECT_TRUE(script.All<SetContention>()[2].waiting);
  EXPECT_GT(script.All<SetContention>()[2].idle_after, 2 * before);
}

TEST(Hints, WaitingForOtherGpuIsNoContention) {
  Script script;
  script.SetBudget(1, 16 * kGiB);
  script.AddClient(1, 12 * kGiB, 0);
  script.AddClient(2, 12 * kGiB, 1);
  script.AddClient(3, 12 * kGiB, 1);
  for (ClientId client : {1, 2, 3}) script.Want(client);
  ASSERT_EQ(script.All<SetContention>().size(), 1u);
  EXPECT_EQ(script.All<SetContention>()[0].client, 2u);
}

// What an interactive job waits for when it wakes must be short already.
TEST(Hints, QueueIsShortWhileAnInteractiveJobSleeps) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.SetPolicy(2, {.interactive = true});
  ASSERT_EQ(script.All<SetQueueBound>().size(), 1u);
  EXPECT_EQ(script.All<SetQueueBound>()[0].client, 1u);
  EXPECT_EQ(script.All<SetQueueBound>()[0].bound, Script::DefaultConfig().short_queue_bound);
  EXPECT_TRUE(script.All<SetQueueBound>()[0].always);
  script.Want(2);
  ASSERT_TRUE(script.Open(2));
  script.Want(1);
  script.SetPolicy(2, {});
  script.Idle(2);
  ASSERT_TRUE(script.Open(1));
  ASSERT_EQ(script.All<SetQueueBound>().size(), 2u);
  EXPECT_EQ(script.All<SetQueueBound>()[1].client, 1u);
  EXPECT_EQ(script.All<SetQueueBound>()[1].bound, Script::DefaultConfig().queue_bound);
  EXPECT_FALSE(script.All<SetQueueBound>()[1].always);
}

TEST(Hints, TheEndOfASliceIsAnnounced) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.Want(2);
  const Time ends = script.JobOf(1).slice_ends;
  const Time announced = ends - 2 * Script::DefaultConfig().queue_bound;
  ASSERT_GT(announced, script.now());
  script.Wait(announced - script.now() - milliseconds(1));
  EXPECT_TRUE(script.All<SetQueueBound>().empty());
  EXPECT_EQ(script.scheduler().NextWakeup(), announced);
  script.Wait(milliseconds(1));
  ASSERT_EQ(script.All<SetQueueBound>().size(), 1u);
  EXPECT_EQ(script.All<SetQueueBound>()[0].client, 1u);
  EXPECT_EQ(script.All<SetQueueBound>()[0].bound, Script::DefaultConfig().short_queue_bound);
  EXPECT_FALSE(script.All<SetQueueBound>()[0].always);
  EXPECT_EQ(script.scheduler().NextWakeup(), ends);
  script.Wait(ends - script.now());
  ASSERT_TRUE(script.Open(2));
  script.Want(1);
  script.Leave(2);
  ASSERT_TRUE(script.Open(1));
  ASSERT_EQ(script.All<SetQueueBound>().size(), 2u);
  EXPECT_EQ(script.All<SetQueueBound>()[1].client, 1u);
  EXPECT_EQ(script.All<SetQueueBound>()[1].bound, Script::DefaultConfig().queue_bound);
}

TEST(Hints, TheQueueIsLongAgainIfTheSliceDoesNotEnd) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.Want(2);
  script.Wait(script.JobOf(1).slice_ends - script.now() - milliseconds(1));
  ASSERT_EQ(script.All<SetQueueBound>().size(), 1u);
  script.Leave(2);
  ASSERT_EQ(script.All<SetQueueBound>().size(), 2u);
  EXPECT_EQ(script.All<SetQueueBound>()[1].bound, Script::DefaultConfig().queue_bound);
}

TEST(Hints, QueueIsNotShortenedForJobsThatDoNotPreempt) {
  Script script;
  script.SetBudget(1, 16 * kGiB);
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.AddClient(3, 12 * kGiB, 1);
  script.SetPolicy(2, {.priority = Priority::kLow, .interactive = true});
  script.SetPolicy(3, {.interactive = true});
  script.Want(1);
  script.SetPolicy(2, {.interactive = true, .paused = true});
  EXPECT_TRUE(script.All<SetQueueBound>().empty());
  script.SetPolicy(2, {.interactive = true});
  EXPECT_EQ(script.All<SetQueueBound>().size(), 1u);
}

TEST(Hints, ArenasAreRequestedOnlyWhenJobsDoNotFit) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  EXPECT_TRUE(script.All<PrepareArena>().empty());
  script.AddClient(2, 8 * kGiB);
  ASSERT_EQ(script.All<PrepareArena>().size(), 2u);
  EXPECT_EQ(script.All<PrepareArena>()[0].bytes, 8 * kGiB);
  // Sent again only after growing by more than an eighth.
  script.Allocate(1, kGiB);
  EXPECT_EQ(script.All<PrepareArena>().size(), 2u);
  script.Allocate(1, 64 * kMiB);
  ASSERT_EQ(script.All<PrepareArena>().size(), 3u);
  EXPECT_EQ(script.All<PrepareArena>()[2].bytes, 9 * kGiB + 64 * kMiB);
}

TEST(Hints, ScarceHostMemoryLimitsArenasToOverflow) {
  Config config = Script::DefaultConfig();
  config.host_budget = 16 * kGiB;
  Script script(config);
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, 8 * kGiB);
  // 17 GiB with the contexts on a GPU of 16 GiB: the overflow bounds what is swapped out.
  ASSERT_EQ(script.All<PrepareArena>().size(), 2u);
  EXPECT_EQ(script.All<PrepareArena>()[0].bytes, kGiB);
  EXPECT_EQ(script.All<PrepareArena>()[1].bytes, kGiB);
  script.Allocate(1, 128 * kMiB);
  EXPECT_EQ(script.All<PrepareArena>().size(), 2u);
  script.Allocate(1, 64 * kMiB);
  ASSERT_EQ(script.All<PrepareArena>().size(), 4u);
  EXPECT_EQ(script.All<PrepareArena>()[2].bytes, kGiB + 192 * kMiB);
}

TEST(Hints, ArenaIsCappedAtClientFootprint) {
  Script script;
  script.AddClient(1, 2 * kGiB);
  script.AddClient(2, 14 * kGiB);
  script.AddClient(3, 14 * kGiB);
  std::map<ClientId, Bytes> asked;
  for (const PrepareArena& arena : script.All<PrepareArena>()) asked[arena.client] = arena.bytes;
  EXPECT_EQ(asked[1], 2 * kGiB);
  EXPECT_EQ(asked[3], 14 * kGiB);
}

TEST(Hints, ArenasStayWithinHostBudget) {
  Config config = Script::DefaultConfig();
  config.host_budget = 10 * kGiB;
  Script script(config);
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, 8 * kGiB);
  script.AddClient(3, 8 * kGiB);
  std::map<ClientId, Bytes> asked;
  for (const PrepareArena& arena : script.All<PrepareArena>()) asked[arena.client] = arena.bytes;
  EXPECT_EQ(asked[1], kGiB + 512 * kMiB) << "while two could rotate";
  EXPECT_EQ(asked[2], 8 * kGiB);
  EXPECT_EQ(asked[3], 512 * kMiB);
}

}  // namespace hints_test
}  // namespace reveza::scheduler
