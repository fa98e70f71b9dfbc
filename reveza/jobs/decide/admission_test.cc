#include "reveza/jobs/decide/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace reveza::jobs {
namespace admission_test {

using std::chrono::seconds;
using Kind = Verdict::Kind;

Need Memory(Bytes memory, ClaimSource by = ClaimSource::kDeclared) {
  return {.memory = memory, .memory_source = by};
}

RunningStep Running(StepNumber step, Need need, std::optional<Bytes> memory = std::nullopt) {
  RunningStep admitted;
  admitted.step = step;
  admitted.need = need;
  admitted.memory = memory;
  return admitted;
}

MachineReading Free(Bytes available) {
  MachineReading reading;
  reading.memory_available = available;
  return reading;
}

nvml::Uuid Card(std::uint8_t number) {
  nvml::Uuid uuid{};
  uuid[0] = number;
  return uuid;
}

std::string ReasonOf(const Verdict& verdict, Kind kind) {
  EXPECT_EQ(static_cast<int>(verdict.kind), static_cast<int>(kind)) << verdict.reason;
  return verdict.reason;
}

TEST(CheckAdmission, AdmitsWhatFits) {
  EXPECT_EQ(ReasonOf(CheckAdmission(Memory(kGiB), Free(2 * kGiB), {}, {}), Kind::kAdmit), "");
  // Unreadable values never delay a step.
  EXPECT_EQ(ReasonOf(CheckAdmission(Memory(kGiB), {}, {}, {}), Kind::kAdmit), "");
}

TEST(CheckAdmission, ReasonNamesAmounts) {
  const Budget budget{.memory_reserve = 512 * kMiB};
  const std::vector<RunningStep> running = {Running(1, Memory(2 * kGiB), kGiB)};
  EXPECT_EQ(
      ReasonOf(CheckAdmission(Memory(3 * kGiB), Free(4 * kGiB), running, budget), Kind::kWait),
      "memory: 4 GiB free, 512 MiB reserved, 1 GiB promised to other steps, the step needs "
      "3 GiB");
  EXPECT_EQ(CheckAdmission(Memory(2 * kGiB + 512 * kMiB), Free(4 * kGiB), running, budget).kind,
            Kind::kAdmit);
}

TEST(CheckAdmission, RespectsCgroupHeadroom) {
  MachineReading reading = Free(100 * kGiB);
  reading.cgroup_headroom = kGiB;
  EXPECT_EQ(CheckAdmission(Memory(2 * kGiB), reading, {}, {}).kind, Kind::kWait);
  reading.memory_available.reset();
  EXPECT_EQ(CheckAdmission(Memory(2 * kGiB), reading, {}, {}).kind, Kind::kWait);
}

// Eight steps of 100 MiB in a group of 1000 MB on a machine of 24 GiB, whose default reserve is
// larger than the group.
TEST(CheckAdmission, DefaultReserveIsAShareOfTheSmallestLimit) {
  MachineReading reading = Free(20 * kGiB);
  reading.memory_total = 24 * kGiB;
  reading.cgroup_limit = 1'000'000'000;
  reading.cgroup_headroom = 950 * kMiB;
  Budget budget{.memory_reserve = *reading.memory_total / 20, .default_reserve = true};
  std::vector<RunningStep> running;
  for (StepNumber step = 0; step < 8; ++step) {
    const auto verdict = CheckAdmission(Memory(100 * kMiB), reading, running, budget);
    EXPECT_EQ(verdict.kind, Kind::kAdmit) << verdict.reason;
    running.push_back(Running(step, Memory(100 * kMiB)));
  }
  EXPECT_EQ(AllocatableMemory(reading, running, budget), 150 * kMiB - 50'000'000);
  EXPECT_EQ(ReasonOf(CheckAdmission(Memory(kGiB), reading, {}, budget), Kind::kReject),
            "memory: the step needs 1 GiB, the control group allows 954 MiB, 47.7 MiB reserved");
  // The machine's own limit holds when it leaves less.
  reading.memory_available = kGiB + 300 * kMiB;
  EXPECT_EQ(AllocatableMemory(reading, {}, budget), kGiB + 300 * kMiB - budget.memory_reserve);
  // A reserve that was asked for is kept.
  budget.default_reserve = false;
  EXPECT_EQ(CheckAdmission(Memory(100 * kMiB), reading, {}, budget).kind, Kind::kReject);
}

TEST(CheckAdmission, PromiseLastsUntilUseIsObserved) {
  const Need need = Memory(2 * kGiB);
  const MachineReading reading = Free(5 * kGiB);
  const std::vector<RunningStep> begun = {Running(1, need), Running(2, need, Bytes{0})};
  EXPECT_EQ(AllocatableMemory(reading, begun, {}), kGiB);
  EXPECT_EQ(CheckAdmission(need, reading, begun, {}).kind, Kind::kWait);
  const std::vector<RunningStep> grown = {Running(1, need, 2 * kGiB), Running(2, need, 3 * kGiB)};
  EXPECT_EQ(AllocatableMemory(reading, grown, {}), 5 * kGiB);
  EXPECT_EQ(CheckAdmission(need, reading, grown, {}).kind, Kind::kAdmit);
}

TEST(CheckAdmission, GuessesAndUnobservablePromisesExpireAfterGrace) {
  MachineReading reading = Free(5 * kGiB);
  const std::vector<RunningStep> running = {
      Running(1, Memory(2 * kGiB, ClaimSource::kGuessed), kMiB), Running(2, Memory(kGiB)),
      Running(3, Memory(kGiB, ClaimSource::kLearned), Bytes{0})};
  reading.now = seconds(29);
  EXPECT_EQ(AllocatableMemory(reading, running, {}), kGiB + kMiB);
  reading.now = seconds(30);
  EXPECT_EQ(AllocatableMemory(reading, running, {}), 4 * kGiB);
}

TEST(CheckAdmission, RejectsImpossibleClaims) {
  MachineReading reading = Free(kGiB);
  reading.memory_total = 16 * kGiB;
  EXPECT_EQ(ReasonOf(CheckAdmission(Memory(16 * kGiB), reading, {}, {.memory_reserve = kGiB}),
                     Kind::kReject),
            "memory: the step needs 16 GiB, the machine has 16 GiB, 1 GiB reserved");
  EXPECT_EQ(ReasonOf(CheckAdmission({.cpus = 8}, reading, {}, {.cpus = 4}), Kind::kReject),
            "CPU: the step needs 8 cores, 4 are usable");
  reading.gpus.emplace();
  EXPECT_EQ(ReasonOf(CheckAdmission({.gpu_memory = kGiB}, reading, {}, {}), Kind::kReject),
            "GPU memory: this machine has no usable GPU");
  reading.gpus->push_back({Card(1), 4 * kGiB, 0});
  EXPECT_EQ(ReasonOf(CheckAdmission({.gpu_memory = 5 * kGiB}, reading, {}, {}), Kind::kReject),
            "GPU memory: the step needs 5 GiB, the largest GPU offers 4 GiB");
  reading.all_gpus = false;
  EXPECT_EQ(
      ReasonOf(CheckAdmission({.gpu_memory = 5 * kGiB}, reading, {}, {}), Kind::kWait),
      "GPU memory: the step needs 5 GiB, the largest GPU that can be queried now offers 4 GiB");
}

TEST(CheckAdmission, UncertainNeedIsTriedAlone) {
  MachineReading reading = Free(kGiB);
  reading.memory_total = 4 * kGiB;
  const std::vector<RunningStep> running = {Running(1, Memory(kMiB), kMiB)};
  for (const Need& need :
       {Memory(2 * kGiB, ClaimSource::kGuessed), Memory(9 * kGiB, ClaimSource::kLearned)}) {
    EXPECT_EQ(CheckAdmission(need, reading, {}, {}).kind, Kind::kAdmit);
    EXPECT_EQ(CheckAdmission(need, reading, running, {}).kind, Kind::kWait);
  }
  // It would fit if other programs released memory.
  EXPECT_EQ(CheckAdmission(Memory(2 * kGiB, ClaimSource::kLearned), reading, {}, {}).kind,
            Kind::kWait);
}

TEST(CheckAdmission, PausedStepsUseNoCores) {
  std::vector<RunningStep> running = {Running(1, {.cpus = 2}), Running(2, {.cpus = 1.5})};
  const Budget budget{.cpus = 4};
  EXPECT_EQ(ReasonOf(CheckAdmission({.cpus = 1}, {}, running, budget), Kind::kWait),
            "CPU: 3.5 of 4 cores in use, the step needs 1");
  EXPECT_EQ(CheckAdmission({.cpus = 0.5}, {}, running, budget).kind, Kind::kAdmit);
  EXPECT_EQ(CheckAdmission({}, {}, running, budget).kind, Kind::kAdmit);
  running[0].paused = true;
  EXPECT_EQ(CheckAdmission({.cpus = 1}, {}, running, budget).kind, Kind::kAdmit);
  MachineReading busy;
  busy.external_cpus = 2;
  EXPECT_EQ(ReasonOf(CheckAdmission({.cpus = 1}, busy, running, budget), Kind::kWait),
            "CPU: 3.5 of 4 cores in use, 2 by other programs, the step needs 1");
  EXPECT_EQ(CheckAdmission({.cpus = 4}, busy, {}, budget).kind, Kind::kAdmit);
}

TEST(CheckAdmission, PressureBlocksStartsUnlessIdle) {
  const std::vector<RunningStep> running = {Running(1, {})};
  MachineReading reading;
  reading.memory_some = 34;
  EXPECT_EQ(ReasonOf(CheckAdmission({}, reading, running, {}), Kind::kWait),
            "memory pressure: some tasks stalled on memory 34 % of the last 10 s; steps start at "
            "20 % or less");
  reading.memory_full = 6;
  EXPECT_EQ(ReasonOf(CheckAdmission({}, reading, running, {}), Kind::kWait),
            "memory pressure: all tasks stalled on memory 6 % of the last 10 s; steps start at 5 % "
            "or less");
  EXPECT_EQ(CheckAdmission({}, reading, {}, {}).kind, Kind::kAdmit);
}

TEST(CheckAdmission, ExclusiveStepWaitsForIdleGpuAndBlocksOthers) {
  MachineReading reading;
  reading.gpu_is_shared = true;
  reading.gpus = {{Card(1), 8 * kGiB, 0}, {Card(2), 6 * kGiB, 0}};
  const Need alone{.gpu_memory = kGiB, .gpu_exclusive = true};
  std::vector<RunningStep> running = {Running(1, {.gpu_memory = kGiB})};
  running[0].gpu = Card(1);
  EXPECT_EQ(CheckAdmission(alone, reading, running, {}).gpu, Card(2)) << "an idle GPU";
  running.push_back(Running(2, {.gpu_memory = kGiB}));
  running[1].gpu = Card(2);
  EXPECT_EQ(
      ReasonOf(CheckAdmission(alone, reading, running, {}), Kind::kWait),
      "GPU memory: the step ran out of it beside others, and waits for exclusive use of the GPU");
  running[0].need = alone;
  EXPECT_EQ(CheckAdmission({.gpu_memory = kGiB}, reading, running, {}).gpu, Card(2))
      << "though the other has more room";
  running[1].need = alone;
  EXPECT_EQ(ReasonOf(CheckAdmission({.gpu_memory = kGiB}, reading, running, {}), Kind::kWait),
            "GPU memory: a step that ran out of it beside others has exclusive use of the GPU");
  EXPECT_EQ(CheckAdmission({}, reading, running, {}).kind, Kind::kAdmit) << "a step without GPU";
}

TEST(CheckAdmission, ChoosesGpuWithMostFreeMemory) {
  MachineReading reading;
  EXPECT_EQ(ReasonOf(CheckAdmission({.gpu_memory = kGiB}, reading, {}, {}), Kind::kWait),
            "GPU memory: no GPU can be queried now");
  reading.gpus = {{Card(1), 8 * kGiB, 3 * kGiB}, {Card(2), 8 * kGiB, 2 * kGiB}};
  EXPECT_EQ(CheckAdmission({.gpu_memory = kGiB}, reading, {}, {}).gpu, Card(2));
  // Promised but unused memory counts.
  std::vector<RunningStep> running = {Running(1, {.gpu_memory = 2 * kGiB})};
  running[0].gpu = Card(2);
  EXPECT_EQ(CheckAdmission({.gpu_memory = kGiB}, reading, running, {}).gpu, Card(1));
  EXPECT_EQ(ReasonOf(CheckAdmission({.gpu_memory = 6 * kGiB}, reading, running, {}), Kind::kWait),
            "GPU memory: 5 GiB free, the step needs 6 GiB");
  running[0].gpu_memory = 2 * kGiB;
  EXPECT_EQ(CheckAdmission({.gpu_memory = kGiB}, reading, running, {}).gpu, Card(2));
  EXPECT_EQ(CheckAdmission(Memory(kGiB), reading, running, {}).gpu, std::nullopt);
}

// The step was sampled before the card.
TEST(CheckAdmission, ReleasedGpuMemoryStaysPromised) {
  MachineReading reading;
  reading.gpus = {{Card(1), 8 * kGiB, 6 * kGiB}};
  std::vector<RunningStep> running = {Running(1, {.gpu_memory = 6 * kGiB}, std::nullopt)};
  running[0].gpu = Card(1);
  running[0].gpu_memory = 6 * kGiB;
  EXPECT_EQ(CheckAdmission({.gpu_memory = 2 * kGiB}, reading, running, {}).kind, Kind::kAdmit);
  (*reading.gpus)[0].used = 0;
  EXPECT_EQ(ReasonOf(CheckAdmission({.gpu_memory = 3 * kGiB}, reading, running, {}), Kind::kWait),
            "GPU memory: 8 GiB free, 6 GiB promised to other steps, the step needs 3 GiB");
  EXPECT_EQ(CheckAdmission({.gpu_memory = 2 * kGiB}, reading, running, {}).kind, Kind::kAdmit);
}

TEST(Admission, SmallStepsBypassBoundedTimes) {
  Admission admission;
  const std::vector<RunningStep> running = {Running(100, Memory(6 * kGiB), 6 * kGiB)};
  const std::vector<QueuedStep> queue = {
      {1, Memory(4 * kGiB)}, {2, Memory(4 * kGiB)}, {3, Memory(kGiB)}};
  for (unsigned i = 0; i < Admission::kMaxBypasses; ++i) {
    EXPECT_EQ(admission.Next(Free(2 * kGiB), queue, running, {}).index, 2);
  }
  const auto choice = admission.Next(Free(2 * kGiB), queue, running, {});
  EXPECT_EQ(choice.index, std::nullopt);
  EXPECT_EQ(ReasonOf(choice.verdict, Kind::kWait),
            "memory: 2 GiB free, the step needs 4 GiB; nothing bypasses it any more");
  EXPECT_EQ(admission.Next(Free(4 * kGiB), queue, running, {}).index, 0);
  // Each queue head has its own count.
  const std::span<const QueuedStep> rest(queue.begin() + 1, queue.end());
  EXPECT_EQ(admission.Next(Free(2 * kGiB), rest, running, {}).index, 1);
}

TEST(Admission, TheLargestStepThatFitsBypasses) {
  Admission admission;
  const std::vector<RunningStep> running = {Running(100, Memory(6 * kGiB), 6 * kGiB)};
  const std::vector<QueuedStep> queue = {{1, Memory(8 * kGiB)},
                                         {2, Memory(kGiB)},
                                         {3, Memory(3 * kGiB)},
                                         {4, Memory(5 * kGiB)},
                                         {5, Memory(3 * kGiB)}};
  EXPECT_EQ(admission.Next(Free(4 * kGiB), queue, running, {}).index, 2);
  EXPECT_EQ(admission.Next(Free(8 * kGiB), queue, running, {}).index, 0);
}

TEST(Admission, ReturnsRejectedSteps) {
  Admission admission;
  MachineReading reading = Free(2 * kGiB);
  reading.memory_total = 4 * kGiB;
  const std::vector<QueuedStep> queue = {{1, Memory(3 * kGiB)}, {2, Memory(5 * kGiB)}};
  const auto choice = admission.Next(reading, queue, {}, {});
  EXPECT_EQ(choice.index, 1);
  ReasonOf(choice.verdict, Kind::kReject);
  EXPECT_EQ(admission.Next(reading, {}, {}, {}).index, std::nullopt);
}

// A simulated machine: steps arrive, allocate up to their claims, and end.
struct World {
  explicit World(unsigned seed) : random(seed) {
    budget.cpus = 4;
    budget.memory_reserve = kGiB;
    for (StepNumber step = 1; step <= 300; ++step) {
      Need need = Memory((1 + random() % (random() % 5 == 0 ? 12 : 3)) * kGiB);
      need.cpus = static_cast<double>(random() % 5);
      need.gpu_memory = random() % 3 == 0 ? (1 + random() % 8) * kGiB : 0;
      queue.push_back({step, need});
    }
  }

  MachineReading Read() {
    MachineReading reading;
    reading.now = seconds(clock++);
    Bytes used = 0;
    reading.gpus = {{Card(1), 8 * kGiB, 0}, {Card(2), 8 * kGiB, 0}};
    for (const RunningStep& step : running) {
      used += step.memory.value_or(0);
      for (GpuMemory& gpu : *reading.gpus) {
        // Some was released since the step was sampled.
        if (step.gpu == gpu.uuid) gpu.used += random() % (step.gpu_memory.value_or(0) + 1);
      }
    }
    reading.memory_total = 13 * kGiB;
    reading.memory_available = *reading.memory_total - used;
    return reading;
  }

  // Steps grow or end.
  void Live() {
    for (RunningStep& step : running) {
      step.memory = std::min(step.need.memory, step.memory.value_or(0) + random() % kGiB);
      step.gpu_memory =
          std::min(step.need.gpu_memory, step.gpu_memory.value_or(0) + random() % kGiB);
    }
    if (running.empty() || random() % 2 == 0) return;
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(random() % running.size()));
  }

  void ExpectWithinBudget() {
    double cpus = 0;
    Bytes claimed = 0;
    std::array<Bytes, 3> gpu{};
    for (const RunningStep& step : running) {
      cpus += step.need.cpus;
      claimed += step.need.memory;
      if (step.gpu) gpu.at((*step.gpu)[0]) += step.need.gpu_memory;
    }
    ASSERT_LE(cpus, budget.cpus);
    ASSERT_LE(claimed, 12 * kGiB) << "the machine's memory less the reserve";
    ASSERT_LE(*std::ranges::max_element(gpu), 8 * kGiB);
  }

  std::mt19937 random;
  Budget budget;
  std::vector<QueuedStep> queue;
  std::vector<RunningStep> running;
  int clock = 0;
};

TEST(Admission, NeverExceedsBudgetAndNeverStarves) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    World world(seed);
    Admission admission;
    StepNumber first = 0;
    unsigned passed = 0;
    for (int round = 0; round < 20000 && !world.queue.empty(); ++round) {
      const auto choice = admission.Next(world.Read(), world.queue, world.running, world.budget);
      if (world.queue.front().step != first) {
        first = world.queue.front().step;
        passed = 0;
      }
      if (!choice.index) {
        EXPECT_FALSE(choice.verdict.reason.empty());
        world.Live();
        continue;
      }
      ASSERT_EQ(static_cast<int>(choice.verdict.kind), static_cast<int>(Kind::kAdmit));
      passed += *choice.index > 0 ? 1 : 0;
      ASSERT_LE(passed, Admission::kMaxBypasses);
      const QueuedStep& chosen = world.queue[*choice.index];
      RunningStep step = Running(chosen.step, chosen.need, Bytes{0});
      step.since = seconds(world.clock);
      step.gpu = choice.verdict.gpu;
      step.gpu_memory = 0;
      world.running.push_back(step);
      world.queue.erase(world.queue.begin() + static_cast<std::ptrdiff_t>(*choice.index));
      world.ExpectWithinBudget();
    }
    EXPECT_TRUE(world.queue.empty()) << "seed " << seed;
  }
}

}  // namespace admission_test
}  // namespace reveza::jobs
