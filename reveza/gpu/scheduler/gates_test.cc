#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <variant>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace gates_test {

constexpr Bytes kBig = 12 * kGiB;

// Job 1 in its slice, its gate held closing; job 2 waiting.
void AdvanceToEndOfSlice(Script& script) {
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.hold_gates = true;
  script.Wait(seconds(31));
}

// The same with job 10 (clients 1 and 2) in its slice and job 3 waiting.
void AdvanceToEndOfSliceOfTwo(Script& script) {
  for (ClientId client : {1, 2}) {
    script.Join(client, 10);
    script.MakeContext(client);
    script.Allocate(client, 6 * kGiB);
  }
  script.AddClient(3, kBig);
  script.Want(1);
  EXPECT_TRUE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
  script.Want(3);
  script.hold_gates = true;
  script.Wait(seconds(31));
}

TEST(Gates, EvictsOnlyAfterGateClosed) {
  Script script;
  AdvanceToEndOfSlice(script);
  ASSERT_TRUE(script.IsClosing(1));
  EXPECT_TRUE(script.All<Evict>().empty());
  EXPECT_EQ(script.JobOf(1).state, JobState::kLeaving);
  EXPECT_EQ(script.JobOf(2).blocked_by, 1u);
  script.CloseHeldGate(1);
  EXPECT_EQ(script.All<Evict>().size(), 1u);
  EXPECT_TRUE(script.Open(2));
}

TEST(Gates, ClientsOfAJobCloseAndOpenTogether) {
  Script script;
  AdvanceToEndOfSliceOfTwo(script);
  ASSERT_TRUE(script.IsClosing(1));
  ASSERT_TRUE(script.IsClosing(2));
  script.CloseHeldGate(1);
  EXPECT_TRUE(script.All<Evict>().empty());
  script.CloseHeldGate(2);
  EXPECT_FALSE(script.All<Evict>().empty());
  EXPECT_TRUE(script.Open(3));
}

TEST(Gates, FailedDrainReopensGatesAndIsRetried) {
  Script script;
  AdvanceToEndOfSliceOfTwo(script);
  script.CloseHeldGate(1);
  EXPECT_FALSE(script.Open(1));
  script.FailHeldGate(2);
  EXPECT_TRUE(script.Open(1));
  EXPECT_EQ(script.JobOf(10).state, JobState::kRunning);
  EXPECT_EQ(script.JobOf(10).turns, 1u);
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kUnpreemptible);
  EXPECT_EQ(script.JobOf(3).blocked_by, 10u);
  EXPECT_TRUE(script.ClientOf(2).unpreemptible);
  script.Wait(Script::DefaultConfig().drain_retry);
  ASSERT_TRUE(script.IsClosing(1));
  ASSERT_TRUE(script.IsClosing(2));
  script.CloseHeldGate(1);
  script.CloseHeldGate(2);
  EXPECT_TRUE(script.Open(3));
  EXPECT_FALSE(script.ClientOf(2).unpreemptible);
}

// Memory that is not on the GPU would keep its gate closed, and the other may wait for it.
TEST(Gates, NothingIsAllocatedBehindAGateWhileAnotherOfTheJobDrains) {
  for (const bool drains : {false, true}) {
    Script script;
    AdvanceToEndOfSliceOfTwo(script);
    script.CloseHeldGate(2);
    script.Grow(2, 7, kGiB);
    EXPECT_FALSE(script.Answered(7));
    if (drains) {
      script.CloseHeldGate(1);
      EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
    } else {
      script.FailHeldGate(1);
      EXPECT_TRUE(script.Open(1));
      EXPECT_TRUE(script.Open(2));
      EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
    }
  }
}

// The other gate of the job would open without it.
TEST(Gates, StayClosedUntilPermittedMemoryIsAllocated) {
  Script script;
  for (const ClientId client : {1, 2}) {
    script.Join(client, 10);
    script.MakeContext(client);
  }
  script.hold_allocations = true;
  script.Grow(2, 7, kGiB);
  ASSERT_EQ(script.AnswerTo(7), Growth::kLater);
  script.Want(1);
  EXPECT_FALSE(script.Open(1));
  script.Allocate(2, kGiB);
  EXPECT_TRUE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
}

// Requests are rounded up, so less may be allocated. A job of one client does not wait at all.
TEST(Gates, OpenIfLessIsAllocatedThanPermitted) {
  for (const int clients : {1, 2}) {
    Script script;
    for (ClientId client = 1; client <= static_cast<ClientId>(clients); ++client) {
      script.Join(client, 10);
      script.MakeContext(client);
    }
    script.hold_allocations = true;
    script.Grow(1, 7, kGiB);
    script.Want(1);
    EXPECT_EQ(script.Open(1), clients == 1);
    script.Allocate(1, 64 * kMiB);
    EXPECT_TRUE(script.Open(1));
  }
}

TEST(Gates, OpenIfPermittedMemoryIsNotAllocatedSoon) {
  Script script;
  for (const ClientId client : {1, 2}) {
    script.Join(client, 10);
    script.MakeContext(client);
  }
  script.hold_allocations = true;
  script.Grow(1, 7, kGiB);
  script.Want(1);
  EXPECT_FALSE(script.Open(1));
  script.Wait(seconds(2));
  EXPECT_TRUE(script.Open(1));
}

TEST(Gates, DrainRetriesBackOffExponentially) {
  Script script;
  AdvanceToEndOfSlice(script);
  const Time retry = Script::DefaultConfig().drain_retry;
  script.FailHeldGate(1);
  script.Wait(retry);
  ASSERT_TRUE(script.IsClosing(1));
  script.FailHeldGate(1);
  script.Wait(2 * retry - milliseconds(1));
  EXPECT_FALSE(script.IsClosing(1));
  script.Wait(milliseconds(1));
  EXPECT_TRUE(script.IsClosing(1));
}

TEST(Gates, IgnoresStaleSerials) {
  Script script;
  AdvanceToEndOfSlice(script);
  const std::uint32_t serial = script.All<CloseGate>().back().serial;
  script.scheduler().GateClosed(script.now(), 1, serial + 1);
  script.scheduler().DrainFailed(script.now(), 1, serial - 1);
  script.scheduler().GateClosed(script.now(), 2, serial);
  script.scheduler().SwappedIn(script.now(), 2, 12345);
  script.scheduler().Evicted(script.now(), 1, 0, Script::kGpu, EvictFailure::kNone);
  script.DeliverDecisions();
  EXPECT_EQ(script.JobOf(1).state, JobState::kLeaving);
  EXPECT_TRUE(script.All<Evict>().empty());
}

TEST(Gates, DeathOfLastClosingClientCompletesLeaving) {
  Script script;
  AdvanceToEndOfSliceOfTwo(script);
  script.CloseHeldGate(1);
  script.Leave(2);
  EXPECT_EQ(script.JobOf(10).state, JobState::kIdle);
  EXPECT_TRUE(script.Open(3));
}

TEST(Gates, DeathOfUndrainedClientCompletesLeaving) {
  Script script;
  AdvanceToEndOfSliceOfTwo(script);
  script.FailHeldGate(2);
  script.Leave(2);
  script.CloseHeldGate(1);
  EXPECT_TRUE(script.Open(3));
  EXPECT_FALSE(script.Open(1));
}

TEST(Gates, ClientJoiningRunningJobIsOpenedImmediately) {
  Script script;
  script.AddClient(1, kGiB);
  script.Want(1);
  script.Join(2, 1);
  EXPECT_TRUE(script.Open(2));
}

TEST(Gates, MemoryAllocatedBeforeOpenGateIsSwappedIn) {
  Script script;
  script.AddClient(1, kGiB);
  script.Want(1);
  ASSERT_TRUE(script.Open(1));
  const std::size_t opened = script.All<OpenGate>().size();
  // As if sent before the OpenGate arrived, which the client then ignored.
  script.Allocate(1, kGiB);
  EXPECT_EQ(script.CardOf(1).footprint.resident, 2 * kGiB);
  EXPECT_EQ(script.All<OpenGate>().size(), opened + 1);
}

// The client gives up the swap-in of which its report has opened the gate. It does not open,
// because of memory that it allocated meanwhile on another GPU.
TEST(Gates, OpenGateEndsASwapIn) {
  Scheduler scheduler(Script::DefaultConfig());
  const Time now{0};
  const auto has = [&]<typename Order>(const Order&) {
    return std::ranges::any_of(scheduler.TakeDecisions(), [](const Decision& decision) {
      return std::holds_alternative<Order>(decision);
    });
  };
  const auto account = [&](GpuId gpu, Bytes resident, Bytes swapped) {
    const Footprint footprint{.resident = resident, .swapped = swapped, .context = 512 * kMiB};
    scheduler.AccountChanged(now, 1, gpu, footprint, 0, 0);
  };
  for (const GpuId gpu : {0, 1}) {
    scheduler.SetGpu(now, gpu, GpuConfig{16 * kGiB, 16 * kGiB, 64 * kMiB});
  }
  scheduler.ClientJoined(now, 1, 1, false);
  for (const GpuId gpu : {0, 1}) {
    scheduler.ContextRequested(now, 1, gpu);
    scheduler.ContextCreated(now, 1, gpu, 512 * kMiB);
  }
  account(0, 0, kGiB);
  scheduler.GateRequested(now, 1);
  ASSERT_TRUE(has(SwapIn{}));
  account(0, kGiB, 0);
  ASSERT_TRUE(has(OpenGate{}));
  account(1, 0, kGiB);
  EXPECT_TRUE(has(SwapIn{}));
}

TEST(Gates, SerialsAreUnique) {
  Script script;
  AdvanceToEndOfSlice(script);
  script.CloseHeldGate(1);
  std::set<std::uint32_t> serials;
  std::size_t orders = 0;
  for (const auto& order : script.All<OpenGate>()) orders += serials.insert(order.serial).second;
  for (const auto& order : script.All<CloseGate>()) orders += serials.insert(order.serial).second;
  for (const auto& order : script.All<Evict>()) orders += serials.insert(order.serial).second;
  for (const auto& order : script.All<SwapIn>()) orders += serials.insert(order.serial).second;
  EXPECT_EQ(orders, serials.size());
  EXPECT_EQ(orders, script.All<OpenGate>().size() + script.All<CloseGate>().size() +
                        script.All<Evict>().size() + script.All<SwapIn>().size());
}

}  // namespace gates_test
}  // namespace reveza::scheduler
