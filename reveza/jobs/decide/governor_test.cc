#include "reveza/jobs/decide/governor.h"

#include <gtest/gtest.h>

#include <set>

#include "common/platform/process_table.h"
#include "common/platform/testing_directory.h"
#include "reveza/gpu/nvml/testing_fakes.h"

namespace reveza::jobs {
namespace governor_test {

Job OneCommand() {
  Job job;
  Command command;
  command.arguments = {"./simulate", "{n}"};
  job.commands.push_back(command);
  for (int n = 0; n < 10; ++n) job.steps.emplace_back().parameters = {{"n", std::to_string(n)}};
  return job;
}

AttemptResult Ended(Outcome outcome) {
  AttemptResult result;
  result.outcome = outcome;
  result.ended = 1'000'000'000;
  return result;
}

// A decision about one step must not cost what one about many costs.
TEST(GovernorTest, LooksAtOtherStepsOnlyIfTheFirstHasToWait) {
  Job job = OneCommand();
  job.commands[0].memory_template = "{n}MiB";
  job.commands[0].claim.cpus = 4;
  std::set<std::uint32_t> asked;
  Governor governor(job, {}, 8, {.memory = [&](std::uint32_t step) {
                      asked.insert(step);
                      return std::optional(kMiB);
                    }});
  const std::vector<std::uint32_t> queue = {0, 1, 2, 3};
  EXPECT_EQ(governor.Next(std::chrono::nanoseconds(1), queue, {}).index, 0u);
  EXPECT_EQ(asked, (std::set<std::uint32_t>{0}));
  std::vector<RunningStep> running(1);
  running[0].step = 9;
  running[0].need.cpus = 8;
  EXPECT_FALSE(governor.Next(std::chrono::nanoseconds(2), queue, running).index);
  EXPECT_EQ(asked.size(), queue.size());
}

TEST(GovernorTest, FixedWorkersAreNotTuned) {
  const Job job = OneCommand();
  RunRequest request;
  request.workers = 3;
  const Governor governor(job, request, 2);
  EXPECT_EQ(governor.Workers(), 3u);
  EXPECT_FALSE(governor.tunes());
}

// Runs steps that never compute until no more of them may run, and returns the limit.
std::string LimitOfSleepers(Governor& governor) {
  std::vector<RunningStep> running;
  for (int i = 1; i <= 200; ++i) {
    const auto now = std::chrono::milliseconds(100 * i);
    while (running.size() < governor.Workers()) {
      RunningStep step;
      step.step = running.size();
      step.cpu = std::chrono::nanoseconds(0);
      running.push_back(step);
    }
    governor.Update(now, {1000, 0}, running);
    governor.ObserveUsage(now, running);
  }
  return governor.tuner(Lane::kCpu).Limit();
}

TEST(GovernorTest, BoundsWorkersByUserOrSystemOnly) {
  Job job = OneCommand();
  job.steps.resize(2000);
  Governor free(job, {}, 8, {.max_steps = {300, "open files"}});
  EXPECT_EQ(free.Workers(), 2u) << "a quarter of the cores";
  EXPECT_EQ(free.WorkersThatShareCores(), 8u);
  EXPECT_EQ(LimitOfSleepers(free), "open files: 300");
  EXPECT_EQ(free.Workers(), 300u);
  RunRequest request;
  request.max_workers = 5;
  Governor bound(job, request, 8, {.max_steps = {300, "open files"}});
  EXPECT_EQ(LimitOfSleepers(bound), "--max-workers: 5");
  EXPECT_EQ(bound.WorkersThatShareCores(), 5u);
}

TEST(GovernorTest, PausedStepsAreNoReasonForMoreWorkers) {
  Job job = OneCommand();
  job.steps.resize(100);
  Governor governor(job, {}, 8);
  std::vector<RunningStep> running(2);
  running[1].step = 1;
  for (auto& one : running) one.cpu = std::chrono::nanoseconds(0);
  running[1].paused = true;
  for (int i = 1; i <= 50; ++i) {
    governor.Update(std::chrono::milliseconds(100 * i), {90, 0}, running);
    governor.ObserveUsage(std::chrono::milliseconds(100 * i), running);
  }
  EXPECT_EQ(governor.Workers(), 2u);
}

TEST(GovernorTest, LearnedClaimsSurviveRestart) {
  const Job job = OneCommand();
  Governor first(job, {}, 2);
  first.OnStepEnded(std::chrono::seconds(1), 0, Ended(Outcome::kSuccess), {},
                    {.memory = 1ULL << 30});
  Governor second(job, {}, 2);
  second.Restore(first.SerializeLearned());
  const Need need = second.NeedOf(5, {});
  EXPECT_EQ(need.memory_source, ClaimSource::kLearned);
  EXPECT_GE(need.memory, 1ULL << 30);
}

TEST(GovernorTest, LearnsMemoryByParameters) {
  Job job = OneCommand();
  for (int n = 10; n < 40; ++n) job.steps.emplace_back().parameters = {{"n", std::to_string(n)}};
  Governor governor(job, {}, 2);
  const auto end = [&](std::uint32_t step, Outcome outcome, Bytes peak) {
    governor.OnStepEnded(std::chrono::seconds(1), step, Ended(outcome), {}, {.memory = peak});
  };
  for (std::uint32_t n = 1; n <= 5; ++n) end(n, Outcome::kSuccess, n * 100 * kMiB);
  EXPECT_EQ(governor.NeedOf(0, {}).memory, 550 * kMiB) << "the largest peak and a tenth";
  for (std::uint32_t n = 6; n <= 9; ++n) end(n, Outcome::kSuccess, n * 100 * kMiB);
  EXPECT_EQ(governor.NeedOf(4, {}).memory / kMiB, 420u);
  EXPECT_EQ(governor.NeedOf(20, {}).memory / kMiB, 2100u) << "more than any has needed yet";
  EXPECT_EQ(governor.NeedOf(20, {}).memory_source, ClaimSource::kLearned);
  // A running step does not raise the claims of others.
  governor.ObserveUsage(20, 1900 * kMiB);
  EXPECT_EQ(governor.NeedOf(4, {}).memory / kMiB, 420u);
  // A death says that the parameters do not tell.
  end(5, Outcome::kMemory, 3000 * kMiB);
  EXPECT_GE(governor.NeedOf(4, {}).memory, 4500 * kMiB);
  // Declared needs stay.
  job.commands[0].claim.memory = kGiB;
  Governor declared(job, {}, 2);
  for (std::uint32_t n = 1; n <= 9; ++n) {
    declared.OnStepEnded(std::chrono::seconds(1), n, Ended(Outcome::kSuccess), {},
                         {.memory = n * 100 * kMiB});
  }
  EXPECT_EQ(declared.NeedOf(4, {}).memory, kGiB);
}

Job OneOnTheGpu(std::optional<Bytes> gpu_memory = kGiB) {
  Job job = OneCommand();
  job.commands[0].claim.gpu_memory = gpu_memory;
  return job;
}

// A GPU with 4 GiB, 1 GiB of it used by process 77.
std::unique_ptr<nvml::GpuMonitor> Card() {
  auto monitor = std::make_unique<nvml::FakeGpuMonitor>();
  monitor->readings.emplace_back();
  monitor->readings[0].total = 4 * kGiB;
  monitor->readings[0].used = kGiB;
  monitor->readings[0].processes = {{77, kGiB}, {78, std::nullopt}};
  return monitor;
}

TEST(GovernorTest, GpuClaimsAreLearnedAndPersisted) {
  const Job job = OneOnTheGpu();
  Governor first(job, {}, 2, {.gpus = Card()});
  const std::uint32_t step = 0;
  first.Next(std::chrono::seconds(1), {&step, 1}, {});
  const pid_t pids[] = {77, 78, 79};
  EXPECT_EQ(first.GpuMemoryOfProcesses(pids), kGiB);
  EXPECT_EQ(first.GpuMemoryOfProcesses({pids + 1, 2}), std::nullopt);
  // The declared amount was too small.
  AttemptResult died = Ended(Outcome::kMemory);
  Need need;
  need.gpu_memory = kGiB;
  const unsigned before = first.Workers(Lane::kGpu);
  first.OnStepEnded(std::chrono::seconds(1), 0, died, need,
                    {.gpu_memory = 2 * kGiB, .gpu_oom = true});
  EXPECT_LT(first.Workers(Lane::kGpu), before);
  EXPECT_NE(first.tuner(Lane::kGpu).log().back().text.find("ran out of GPU memory"),
            std::string::npos);
  EXPECT_EQ(first.NeedOf(1, {}).gpu_memory, 3 * kGiB);
  EXPECT_EQ(first.NeedOf(1, {}).memory_source,
            ClaimSource::kGuessed);  // it did not run out of host memory
  Governor second(job, {}, 2, {.gpus = Card()});
  second.Restore(first.SerializeLearned());
  EXPECT_EQ(second.NeedOf(1, {}).gpu_memory, 3 * kGiB);
}

TEST(GovernorTest, SharedGpuAdmitsWhatFitsAlone) {
  const Job job = OneOnTheGpu(3 * kGiB);
  const std::uint32_t step = 1;
  RunningStep other;
  other.need.gpu_memory = 3 * kGiB;
  other.gpu = nvml::Uuid{};
  Governor alone(job, {}, 2, {.gpus = Card()});
  EXPECT_FALSE(alone.Next(std::chrono::seconds(1), {&step, 1}, {&other, 1}).index);
  Governor shared(job, {}, 2, {.gpus = Card(), .gpu_is_shared = true});
  EXPECT_TRUE(shared.Next(std::chrono::seconds(1), {&step, 1}, {&other, 1}).index);
  const Job large = OneOnTheGpu(5 * kGiB);
  Governor never(large, {}, 2, {.gpus = Card(), .gpu_is_shared = true});
  EXPECT_EQ(never.Next(std::chrono::seconds(1), {&step, 1}, {}).verdict.kind,
            Verdict::Kind::kReject);
}

// On a shared GPU a larger claim would not keep other steps away.
TEST(GovernorTest, GpuOomOnSharedGpuRetriesExclusively) {
  const Job job = OneOnTheGpu(kGiB);
  Governor governor(job, {}, 2, {.gpus = Card(), .gpu_is_shared = true});
  governor.OnStepEnded(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), governor.NeedOf(0, {}),
                       {.gpu_oom = true});
  EXPECT_TRUE(governor.NeedOf(0, {}).gpu_exclusive);
  EXPECT_FALSE(governor.NeedOf(1, {}).gpu_exclusive);
  Governor unshared(job, {}, 2, {.gpus = Card()});
  unshared.OnStepEnded(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), unshared.NeedOf(0, {}),
                       {.gpu_oom = true});
  EXPECT_FALSE(unshared.NeedOf(0, {}).gpu_exclusive);
}

TEST(GovernorTest, LedgerOverridesNvml) {
  const Job job = OneOnTheGpu(2 * kGiB);
  const std::uint32_t step = 1;
  std::optional<GpuLedger> ledger;
  Governor governor(job, {}, 2, {.gpus = Card(), .ledger = [&] { return ledger; }});
  int second = 0;
  const auto choice = [&] { return governor.Next(std::chrono::seconds(++second), {&step, 1}, {}); };
  EXPECT_TRUE(choice().index) << "NVML reports 3 of 4 GiB free";
  ledger.emplace();
  ledger->gpus.push_back({nvml::Uuid{}, 3 * kGiB, 2 * kGiB});
  const auto waits = choice();
  EXPECT_FALSE(waits.index);
  EXPECT_NE(waits.verdict.reason.find("1 GiB free"), std::string::npos) << waits.verdict.reason;
  ledger->gpus[0].total = kGiB;
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kReject) << "above the budget";
  const pid_t pids[] = {77, 5};
  EXPECT_EQ(governor.GpuMemoryOfProcesses(pids), kGiB);
  ledger->clients = {{77, 3 * kGiB}};
  choice();
  EXPECT_EQ(governor.GpuMemoryOfProcesses(pids), 3 * kGiB) << "including swapped-out memory";
  ledger.reset();
  EXPECT_TRUE(choice().index) << "the daemon has exited";
}

TEST(GovernorTest, WaitsForUnreadableGpus) {
  const Job job = OneOnTheGpu(2 * kGiB);
  const std::uint32_t step = 1;
  auto cards = std::make_unique<nvml::FakeGpuMonitor>();
  nvml::FakeGpuMonitor& nvml = *cards;
  nvml::GpuReading large;
  large.total = 4 * kGiB;
  large.used = 0;
  nvml.readings.resize(2);
  nvml.readings[1].total = kGiB;
  nvml.readings[1].used = 0;
  Governor governor(job, {}, 2, {.gpus = std::move(cards)});
  int second = 0;
  const auto choice = [&] { return governor.Next(std::chrono::seconds(++second), {&step, 1}, {}); };
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kWait) << "the large GPU is unreadable";
  nvml.broken = true;
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kWait);
  nvml.broken = false;
  nvml.readings[0] = large;
  EXPECT_TRUE(choice().index);
  nvml.readings.erase(nvml.readings.begin());
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kReject) << "all are readable and too small";
}

TEST(GovernorTest, RespectsCudaVisibleDevices) {
  const Job job = OneOnTheGpu(2 * kGiB);
  const std::uint32_t step = 1;
  auto cards = std::make_unique<nvml::FakeGpuMonitor>();
  for (std::uint8_t i = 0; i < 2; ++i) {
    nvml::GpuReading card;
    card.uuid.fill(i);
    card.total = 4 * kGiB;
    card.used = i == 0 ? 3 * kGiB : 0;
    cards->readings.push_back(card);
  }
  const auto uuids = std::pair(cards->readings[0].uuid, cards->readings[1].uuid);
  std::optional<DeviceNames> names;
  Governor governor(job, {}, 2,
                    {.gpus = std::move(cards), .devices = [&](std::uint32_t) { return names; }});
  int second = 0;
  const auto choice = [&] { return governor.Next(std::chrono::seconds(++second), {&step, 1}, {}); };
  EXPECT_EQ(choice().verdict.gpu, uuids.second) << "the one with more free memory";
  names = {"1", ""};
  EXPECT_EQ(choice().verdict.gpu, uuids.second);
  names = {"0", ""};
  EXPECT_FALSE(choice().index) << "the other GPU is free, but invisible to the step";
  names = {"", ""};
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kReject);
  EXPECT_TRUE(governor.TakeWarnings().empty());
  names = {"MIG-1", ""};
  EXPECT_TRUE(choice().index);
  EXPECT_EQ(governor.TakeWarnings().size(), 1u);
  EXPECT_TRUE(choice().index);
  EXPECT_TRUE(governor.TakeWarnings().empty()) << "said once";
}

TEST(GovernorTest, ExternalLoadReducesCores) {
  const platform::TestingDirectory root;
  Job job = OneCommand();
  job.commands[0].claim = {.cpus = 1, .memory = 1, .gpu_memory = {}};
  Governor governor(job, {}, 2, {.root = root.path()});
  const std::uint32_t step = 1;
  RunningStep other;
  other.need.cpus = 1;
  const auto look = [&](int second, std::uint64_t busy_seconds) {
    const auto ticks = std::to_string(busy_seconds * platform::TicksPerSecond());
    root.Write("proc/stat", "cpu " + ticks + " 0 0 0 0\ncpu0 1 0 0 0 0\ncpu1 1 0 0 0 0\n");
    governor.ObserveCpuTime(std::chrono::seconds(second), {});
  };
  const auto choice = [&](int second) {
    return governor.Next(std::chrono::seconds(second), {&step, 1}, {&other, 1});
  };
  EXPECT_TRUE(choice(1).index);
  look(2, 10);
  look(3, 11);  // a whole core, none of it ours
  const auto waits = choice(4);
  EXPECT_FALSE(waits.index);
  EXPECT_NE(waits.verdict.reason.find("1 by other programs"), std::string::npos)
      << waits.verdict.reason;
}

TEST(GovernorTest, RestoreIgnoresInvalidInput) {
  const Job job = OneCommand();
  for (const char* text : {"", "nonsense", "[1, null, {\"shape\": \"x\", \"memory\": -1}]", "{}"}) {
    Governor governor(job, {}, 2);
    governor.Restore(text);
    EXPECT_EQ(governor.NeedOf(0, {}).memory_source, ClaimSource::kGuessed) << text;
  }
}

TEST(GovernorTest, OomRaisesNextClaim) {
  const Job job = OneCommand();
  Governor governor(job, {}, 2);
  Need need;
  need.memory = 1ULL << 30;
  governor.OnStepEnded(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), need,
                       {.memory = 1ULL << 30});
  EXPECT_GE(governor.NeedOf(1, {}).memory, (3ULL << 30) / 2);
}

TEST(GovernorTest, OwnLimitOomDoesNotReduceWorkers) {
  const Job job = OneCommand();
  Governor governor(job, {}, 8);
  const unsigned workers = governor.Workers();
  ASSERT_GT(workers, 1u);
  Need need;
  need.memory = kGiB;
  Governor::Peaks peaks{.memory = kGiB, .at_own_limit = true};
  governor.OnStepEnded(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), need, peaks);
  EXPECT_EQ(governor.Workers(), workers);
  EXPECT_GE(governor.NeedOf(1, {}).memory, kGiB + kGiB / 2) << "still learned";
  peaks.at_own_limit = false;
  governor.OnStepEnded(std::chrono::seconds(2), 0, Ended(Outcome::kMemory), need, peaks);
  EXPECT_LT(governor.Workers(), workers);
}

// Steps of one command that claim 100 and 300 MiB by a template.
TEST(GovernorTest, LearnsAfterADeathOnlyForStepsWithTheSameClaim) {
  Job job = OneCommand();
  job.commands[0].memory_template = "{mb}MiB";
  job.steps.resize(3);
  const Bytes claims[] = {100 * kMiB, 300 * kMiB, 300 * kMiB};
  Governor governor(job, {}, 2, {.memory = [&](std::uint32_t step) { return claims[step]; }});
  EXPECT_EQ(governor.NeedOf(0, {}).memory, 100 * kMiB);
  const Need need = governor.NeedOf(1, {});
  EXPECT_EQ(need.memory, 300 * kMiB);
  EXPECT_EQ(need.memory_source, ClaimSource::kDeclared);
  AttemptResult died;
  died.outcome = Outcome::kMemory;
  governor.OnStepEnded({}, 1, died, need, {.memory = 330 * kMiB, .at_own_limit = true});
  EXPECT_EQ(governor.NeedOf(1, {}).memory, 495 * kMiB) << "larger at the next attempt";
  EXPECT_EQ(governor.NeedOf(2, {}).memory, 495 * kMiB);
  EXPECT_EQ(governor.NeedOf(0, {}).memory, 100 * kMiB);
}

TEST(GovernorTest, EstimatesFromCycles) {
  const Job job = OneCommand();
  Governor governor(job, {}, 2);
  EXPECT_FALSE(governor.RemainingCycles(10, 1, 10));
  for (int i = 1; i <= 60; ++i) governor.OnCycleFinished(std::chrono::milliseconds(3000));
  const auto remaining = governor.RemainingCycles(10, 1, 10);
  ASSERT_TRUE(remaining);
  EXPECT_NEAR(std::chrono::duration<double>(remaining->p50).count(), 30, 3);
}

}  // namespace governor_test
}  // namespace reveza::jobs
