// What an event costs: how many jobs it makes the scheduler look at.
#include "reveza/gpu/scheduler/scope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace scope_test {

Config AmpleHost() {
  Config config = Script::DefaultConfig();
  config.host_budget = 1024 * 1024 * kGiB;
  return config;
}

// Adds jobs of 12 GiB each, which want the turn.
void AddJobs(Script& script, JobId first, JobId last, GpuId gpu = Script::kGpu) {
  for (JobId id = first; id <= last; ++id) {
    script.AddClient(id, 12 * kGiB, gpu, kMiB);
    script.Want(id);
  }
}

// Returns how many jobs an event of a client of which nothing changes concerns.
std::size_t CostOfEvent(Script& script, ClientId client, GpuId gpu = Script::kGpu) {
  script.Account(client, gpu);
  script.DeliverDecisions();
  return script.scheduler().JobsConsidered();
}

// Lets the jobs from 1 to `last`, which are never idle, take turns for `duration`. Returns how many
// jobs a wake-up has concerned at most.
std::size_t CostOfWakeUps(Script& script, JobId last, Time duration) {
  std::size_t most = 0;
  script.hold_gates = true;
  for (const Time end = script.now() + duration; script.now() < end;) {
    const auto next = script.scheduler().NextWakeup();
    script.Wait(next ? *next - script.now() : end - script.now());
    most = std::max(most, script.scheduler().JobsConsidered());
    for (JobId id = 1; id <= last; ++id) {
      if (!script.IsClosing(id)) continue;
      script.Want(id);
      script.CloseHeldGate(id);
    }
  }
  script.hold_gates = false;
  return most;
}

TEST(Scope, EventConcernsTheJobsOfItsGpus) {
  Script script(AmpleHost());
  for (GpuId gpu = 0; gpu < 20; ++gpu) {
    script.SetBudget(gpu, 16 * kGiB);
    AddJobs(script, 1 + 4 * gpu, 4 + 4 * gpu, gpu);
    script.Wait(milliseconds(37));
  }
  EXPECT_EQ(CostOfEvent(script, 1), 4u);
  EXPECT_LE(CostOfWakeUps(script, 80, seconds(100)), 8u) << "two GPUs at the same time";
  for (GpuId gpu = 0; gpu < 20; ++gpu) EXPECT_GE(script.JobOf(1 + 4 * gpu).turns, 1u) << gpu;
  // A job on two of them.
  script.Join(100, 100);
  script.MakeContext(100, kMiB, 3);
  script.MakeContext(100, kMiB, 7);
  script.Allocate(100, kGiB, 3);
  script.Want(100);
  EXPECT_EQ(CostOfEvent(script, 4 * 3 + 1, 3), 9u);
  EXPECT_EQ(CostOfEvent(script, 4 * 7 + 1, 7), 9u);
  EXPECT_EQ(CostOfEvent(script, 1), 4u);
  script.Leave(100);
  EXPECT_EQ(CostOfEvent(script, 4 * 7 + 1, 7), 4u);
}

TEST(Scope, QueuedJobsAreParked) {
  const auto cost = [](JobId jobs) {
    Script script(AmpleHost());
    AddJobs(script, 1, jobs);
    EXPECT_EQ(script.JobOf(jobs).state, JobState::kQueued);
    const std::size_t of_event = CostOfEvent(script, 1);
    return std::max(of_event, CostOfWakeUps(script, jobs, seconds(200)));
  };
  EXPECT_LE(cost(50), 20u);
  EXPECT_EQ(cost(200), cost(50));
}

TEST(Scope, IdleJobsAreParked) {
  Script script(AmpleHost());
  AddJobs(script, 1, 2);
  for (JobId id = 10; id < 100; ++id) script.AddClient(id, 12 * kGiB, Script::kGpu, kMiB);
  EXPECT_EQ(CostOfEvent(script, 1), 2u);
  EXPECT_LE(CostOfWakeUps(script, 2, seconds(100)), 2u);
  script.Want(50);
  EXPECT_EQ(script.scheduler().JobsConsidered(), 3u);
  script.Wait(seconds(100));
  EXPECT_GE(script.JobOf(50).turns, 1u);
}

TEST(Scope, ParkedJobsAgeAsOthersDo) {
  const auto turns = [](const Quota& quota) {
    Script script(AmpleHost());
    AddJobs(script, 1, 40);
    script.SetAccount(1, 7, quota);  // one that restricts something parks nothing
    CostOfWakeUps(script, 40, seconds(1000));
    std::vector<std::uint64_t> of_jobs;
    for (JobId id = 1; id <= 40; ++id) of_jobs.push_back(script.JobOf(id).turns);
    return of_jobs;
  };
  const std::vector<std::uint64_t> parked = turns({});
  EXPECT_EQ(parked, turns({.limit = 1024 * kGiB}));
  EXPECT_GE(std::ranges::count_if(parked, [](std::uint64_t number) { return number > 0; }), 20);
}

TEST(Scope, ParkedJobEntersWhereItFitsWithoutMoving) {
  Script script(AmpleHost(), 32 * kGiB);
  AddJobs(script, 1, 40);  // two at a time
  script.AddClient(100, kGiB, Script::kGpu, kMiB);
  script.Want(100);
  EXPECT_TRUE(script.Open(100)) << "beside the two";
  script.AddClient(101, 18 * kGiB, Script::kGpu, kMiB);
  script.Want(101);
  EXPECT_EQ(script.JobOf(101).state, JobState::kQueued);
  for (JobId id = 1; id <= 40; ++id) {
    if (id != 2) script.Leave(id);
  }
  EXPECT_TRUE(script.Open(101));
}

TEST(Scope, ParkedJobsCountForContention) {
  Config config = AmpleHost();
  config.max_wait = seconds(1);  // one job rotates
  Script script(config);
  AddJobs(script, 1, 5);
  EXPECT_EQ(CostOfEvent(script, 1), 1u);
  ASSERT_FALSE(script.All<SetContention>().empty());
  EXPECT_TRUE(script.All<SetContention>().back().waiting);
}

TEST(Scope, MemoryOfOthersLeavesParkedJobsNoRoom) {
  Script script(AmpleHost());
  AddJobs(script, 1, 30);
  EXPECT_EQ(script.JobOf(30).why, WaitReason::kQueue);
  script.SetExternal(10 * kGiB);
  EXPECT_EQ(script.JobOf(30).why, WaitReason::kGpuMemory);
  script.SetExternal(0);
  EXPECT_EQ(script.JobOf(30).why, WaitReason::kQueue);
  // Not enough for one of them, while the others go on.
  script.AddClient(50, 15 * kGiB, Script::kGpu, kMiB);
  script.Want(50);
  EXPECT_EQ(script.JobOf(50).why, WaitReason::kQueue);
  script.SetExternal(2 * kGiB);
  EXPECT_EQ(script.JobOf(50).why, WaitReason::kGpuMemory);
  EXPECT_EQ(script.JobOf(30).why, WaitReason::kQueue);
}

TEST(Scope, ContextLeavesRoomForParkedJobs) {
  Script script(AmpleHost());
  script.AddClient(1, 15 * kGiB, Script::kGpu, kMiB);  // idle, and parked
  AddJobs(script, 2, 3);
  script.Join(4, 4);
  script.MakeContext(4, 600 * kMiB);
  script.Join(5, 5);
  script.scheduler().ContextRequested(script.now(), 5, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.JobOf(5).why, WaitReason::kGpuMemory);
  script.Leave(1);
  EXPECT_EQ(script.All<AdmitContext>().back().client, 5u);
}

TEST(Scope, LittleHostMemoryMakesAnEventConcernEverything) {
  Config config = AmpleHost();
  config.host_budget = 500 * kGiB;
  Script script(config);
  script.SetBudget(1, 16 * kGiB);
  AddJobs(script, 1, 5);
  AddJobs(script, 6, 10, 1);
  EXPECT_EQ(CostOfEvent(script, 1), 5u);
  AddJobs(script, 11, 40, 1);
  EXPECT_EQ(CostOfEvent(script, 1), 40u);
  for (JobId id = 11; id <= 40; ++id) script.Leave(id);
  EXPECT_EQ(CostOfEvent(script, 1), 5u);
}

// Also of parked jobs.
TEST(Scope, LargerGranulesNeedMoreHostMemory) {
  Config config = AmpleHost();
  config.host_budget = 1100 * kGiB;
  Script script(config);
  AddJobs(script, 1, 40);
  EXPECT_LT(CostOfEvent(script, 1), 30u);
  script.scheduler().SetGpu(script.now(), Script::kGpu, {16 * kGiB, 16 * kGiB, 4 * kGiB});
  script.DeliverDecisions();
  EXPECT_EQ(CostOfEvent(script, 1), 40u);
}

TEST(Scope, LargerGranulesMakeTheSameEventConcernEverything) {
  Config config = AmpleHost();
  config.host_budget = 260 * kGiB;
  Script script(config);
  script.SetBudget(1, 16 * kGiB);
  AddJobs(script, 1, 5);
  AddJobs(script, 6, 10, 1);
  EXPECT_EQ(CostOfEvent(script, 1), 5u);
  script.scheduler().SetGpu(script.now(), Script::kGpu, {16 * kGiB, 16 * kGiB, 4 * kGiB});
  EXPECT_EQ(script.scheduler().JobsConsidered(), 10u);
}

TEST(Scope, QuotasMakeAnEventConcernEverything) {
  Script script(AmpleHost());
  script.SetBudget(1, 16 * kGiB);
  AddJobs(script, 1, 5);
  AddJobs(script, 6, 10, 1);
  script.SetAccount(1, 7, {});
  EXPECT_EQ(CostOfEvent(script, 1), 5u);
  script.SetAccount(1, 7, {.weight = 2});
  EXPECT_EQ(CostOfEvent(script, 1), 10u);
}

// A context that waits counts for contention once it is overdue. That needs no wake-up, but the
// next event tells the job in its way, whatever it concerns.
TEST(Scope, EventConcernsAlsoGroupsThatAreDue) {
  Config config = AmpleHost();
  config.max_wait = seconds(5);
  Script script(config);
  script.SetBudget(1, 16 * kGiB);
  AddJobs(script, 1, 1, 1);
  script.AddClient(2, 15 * kGiB, Script::kGpu, kMiB);  // idle; leaves no room for contexts
  AddJobs(script, 3, 3);
  script.AddClient(4, 16 * kGiB, Script::kGpu, 600 * kMiB);
  script.Join(5, 5);
  script.scheduler().ContextRequested(script.now(), 5, Script::kGpu);
  script.Join(6, 4);  // of a job that cannot fit: is admitted all the same, and does not finish
  script.scheduler().ContextRequested(script.now(), 6, Script::kGpu);
  script.DeliverDecisions();
  ASSERT_EQ(script.JobOf(5).why, WaitReason::kContext);
  ASSERT_TRUE(script.Open(3));
  const std::size_t told = script.All<SetContention>().size();
  script.Wait(seconds(6));
  EXPECT_EQ(script.All<SetContention>().size(), told);
  CostOfEvent(script, 1, 1);
  ASSERT_EQ(script.All<SetContention>().size(), told + 1);
  EXPECT_EQ(script.All<SetContention>().back().client, 3u);
  EXPECT_TRUE(script.All<SetContention>().back().waiting);
}

// The slice of a job whose drain has failed goes on for longer than it may not be closed. That this
// time is over needs no wake-up, but the next event says so, whatever it concerns.
TEST(Scope, EventConcernsAlsoJobsThatMayBeClosedAgain) {
  Script script(AmpleHost());
  script.SetBudget(1, 16 * kGiB);
  AddJobs(script, 1, 1, 1);
  AddJobs(script, 2, 3);
  ASSERT_TRUE(script.Open(2));
  script.hold_gates = true;
  script.SetPolicy(2, {.paused = true});
  ASSERT_TRUE(script.IsClosing(2));
  script.FailHeldGate(2);
  script.SetPolicy(2, {});
  ASSERT_EQ(script.JobOf(3).why, WaitReason::kUnpreemptible);
  const std::uint64_t ticks = script.ticks;
  script.Wait(milliseconds(1001));
  ASSERT_EQ(script.ticks, ticks);
  CostOfEvent(script, 1, 1);
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kTurn);
}

TEST(Scope, WaitsOfParkedJobsAreCounted) {
  Script script(AmpleHost());
  AddJobs(script, 1, 30);
  const auto queued = static_cast<std::size_t>(WaitReason::kQueue);
  const Time before = script.JobOf(30).waited[queued];
  script.Wait(seconds(5));
  script.Account(1);
  EXPECT_EQ(script.JobOf(30).waited[queued] - before, seconds(5));
}

}  // namespace scope_test
}  // namespace reveza::scheduler
