#include "runner/decide/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace reveza::runner {
namespace {

using std::chrono::seconds;
using Kind = Verdict::Kind;

Need Memory(Bytes memory, KnownBy by = KnownBy::kDeclared) {
  return {.memory = memory, .memory_by = by};
}

Admitted Running(StepNumber step, Need need, std::optional<Bytes> memory = std::nullopt) {
  Admitted admitted;
  admitted.step = step;
  admitted.need = need;
  admitted.memory = memory;
  return admitted;
}

Reading Free(Bytes available) {
  Reading reading;
  reading.memory_available = available;
  return reading;
}

platform::Uuid Card(std::uint8_t number) {
  platform::Uuid uuid{};
  uuid[0] = number;
  return uuid;
}

std::string ReasonOf(const Verdict& verdict, Kind kind) {
  EXPECT_EQ(static_cast<int>(verdict.kind), static_cast<int>(kind)) << verdict.reason;
  return verdict.reason;
}

TEST(Consider, AdmitsWhatFits) {
  EXPECT_EQ(ReasonOf(Consider(Memory(kGiB), Free(2 * kGiB), {}, {}), Kind::kAdmit), "");
  // What cannot be read is no reason to wait.
  EXPECT_EQ(ReasonOf(Consider(Memory(kGiB), {}, {}, {}), Kind::kAdmit), "");
}

TEST(Consider, SaysHowMuchMemoryIsMissing) {
  const Budget budget{.memory_reserve = 512 * kMiB};
  const std::vector<Admitted> running = {Running(1, Memory(2 * kGiB), kGiB)};
  EXPECT_EQ(ReasonOf(Consider(Memory(3 * kGiB), Free(4 * kGiB), running, budget), Kind::kWait),
            "memory: 4 GiB are free, 512 MiB kept back, 1 GiB promised to others, a step takes "
            "3 GiB");
  EXPECT_EQ(Consider(Memory(2 * kGiB + 512 * kMiB), Free(4 * kGiB), running, budget).kind,
            Kind::kAdmit);
}

TEST(Consider, HeedsTheCgroupAsWell) {
  Reading reading = Free(100 * kGiB);
  reading.cgroup_headroom = kGiB;
  EXPECT_EQ(Consider(Memory(2 * kGiB), reading, {}, {}).kind, Kind::kWait);
  reading.memory_available.reset();
  EXPECT_EQ(Consider(Memory(2 * kGiB), reading, {}, {}).kind, Kind::kWait);
}

TEST(Consider, KeepsWhatWasPromisedUntilItIsSeen) {
  const Need need = Memory(2 * kGiB);
  const Reading reading = Free(5 * kGiB);
  const std::vector<Admitted> begun = {Running(1, need), Running(2, need, Bytes{0})};
  EXPECT_EQ(FreeMemory(reading, begun, {}), kGiB);
  EXPECT_EQ(Consider(need, reading, begun, {}).kind, Kind::kWait);
  const std::vector<Admitted> grown = {Running(1, need, 2 * kGiB), Running(2, need, 3 * kGiB)};
  EXPECT_EQ(FreeMemory(reading, grown, {}), 5 * kGiB);
  EXPECT_EQ(Consider(need, reading, grown, {}).kind, Kind::kAdmit);
}

TEST(Consider, ForgetsGuessesAndWhatCannotBeSeenAfterAGrace) {
  Reading reading = Free(5 * kGiB);
  const std::vector<Admitted> running = {Running(1, Memory(2 * kGiB, KnownBy::kGuess), kMiB),
                                         Running(2, Memory(kGiB)),
                                         Running(3, Memory(kGiB, KnownBy::kLearned), Bytes{0})};
  reading.now = seconds(29);
  EXPECT_EQ(FreeMemory(reading, running, {}), kGiB + kMiB);
  reading.now = seconds(30);
  EXPECT_EQ(FreeMemory(reading, running, {}), 4 * kGiB);
}

TEST(Consider, HoldsTheBudgetOfTheSteps) {
  const Budget budget{.memory = 8 * kGiB};
  const std::vector<Admitted> running = {Running(1, Memory(2 * kGiB), 3 * kGiB),
                                         Running(2, Memory(3 * kGiB), kGiB)};
  const Reading reading = Free(100 * kGiB);
  EXPECT_EQ(ReasonOf(Consider(Memory(3 * kGiB), reading, running, budget), Kind::kWait),
            "memory: 6 GiB of 8 GiB are taken, a step takes 3 GiB");
  EXPECT_EQ(Consider(Memory(2 * kGiB), reading, running, budget).kind, Kind::kAdmit);
}

TEST(Consider, SaysWhatCanNeverBe) {
  Reading reading = Free(kGiB);
  reading.memory_total = 16 * kGiB;
  EXPECT_EQ(
      ReasonOf(Consider(Memory(16 * kGiB), reading, {}, {.memory_reserve = kGiB}), Kind::kNever),
      "memory: a step takes 16 GiB, there are 16 GiB, 1 GiB kept back");
  EXPECT_EQ(ReasonOf(Consider(Memory(3 * kGiB), reading, {}, {.memory = 2 * kGiB}), Kind::kNever),
            "memory: a step takes 3 GiB, steps may have 2 GiB together");
  EXPECT_EQ(ReasonOf(Consider({.cpus = 8}, reading, {}, {.cpus = 4}), Kind::kNever),
            "the CPU: a step takes 8 cores, 4 may be used");
  reading.gpus.emplace();
  EXPECT_EQ(ReasonOf(Consider({.gpu_memory = kGiB}, reading, {}, {}), Kind::kNever),
            "GPU memory: no GPU is known");
  reading.gpus->push_back({Card(1), 4 * kGiB, 0});
  EXPECT_EQ(ReasonOf(Consider({.gpu_memory = 5 * kGiB}, reading, {}, {}), Kind::kNever),
            "GPU memory: a step takes 5 GiB, the largest GPU has 4 GiB to give");
  reading.all_gpus = false;
  EXPECT_EQ(
      ReasonOf(Consider({.gpu_memory = 5 * kGiB}, reading, {}, {}), Kind::kWait),
      "GPU memory: a step takes 5 GiB, the largest GPU that can be read now has 4 GiB to give");
}

TEST(Consider, TriesAloneWhatNobodyIsSureOf) {
  Reading reading = Free(kGiB);
  reading.memory_total = 4 * kGiB;
  const std::vector<Admitted> running = {Running(1, Memory(kMiB), kMiB)};
  for (const Need& need :
       {Memory(2 * kGiB, KnownBy::kGuess), Memory(9 * kGiB, KnownBy::kLearned)}) {
    EXPECT_EQ(Consider(need, reading, {}, {}).kind, Kind::kAdmit);
    EXPECT_EQ(Consider(need, reading, running, {}).kind, Kind::kWait);
  }
  // It would fit if others left some.
  EXPECT_EQ(Consider(Memory(2 * kGiB, KnownBy::kLearned), reading, {}, {}).kind, Kind::kWait);
}

TEST(Consider, CountsCoresOfThoseThatAreNotPaused) {
  std::vector<Admitted> running = {Running(1, {.cpus = 2}), Running(2, {.cpus = 1.5})};
  const Budget budget{.cpus = 4};
  EXPECT_EQ(ReasonOf(Consider({.cpus = 1}, {}, running, budget), Kind::kWait),
            "the CPU: 3.5 of 4 cores are taken, a step takes 1");
  EXPECT_EQ(Consider({.cpus = 0.5}, {}, running, budget).kind, Kind::kAdmit);
  EXPECT_EQ(Consider({}, {}, running, budget).kind, Kind::kAdmit);
  running[0].paused = true;
  EXPECT_EQ(Consider({.cpus = 1}, {}, running, budget).kind, Kind::kAdmit);
  Reading busy;
  busy.others_cpus = 2;
  EXPECT_EQ(ReasonOf(Consider({.cpus = 1}, busy, running, budget), Kind::kWait),
            "the CPU: 3.5 of 4 cores are taken, 2 by others, a step takes 1");
  EXPECT_EQ(Consider({.cpus = 4}, busy, {}, budget).kind, Kind::kAdmit);
}

TEST(Consider, StartsNothingUnderPressureUnlessNothingRuns) {
  const std::vector<Admitted> running = {Running(1, {})};
  Reading reading;
  reading.memory_some = 34;
  EXPECT_EQ(ReasonOf(Consider({}, reading, running, {}), Kind::kWait),
            "memory pressure: some waited for memory 34 % of the last 10 s, at most 20 % to start "
            "more");
  reading.memory_full = 6;
  EXPECT_EQ(
      ReasonOf(Consider({}, reading, running, {}), Kind::kWait),
      "memory pressure: all waited for memory 6 % of the last 10 s, at most 5 % to start more");
  EXPECT_EQ(Consider({}, reading, {}, {}).kind, Kind::kAdmit);
}

TEST(Consider, WhoIsToBeAloneOnAGpuWaitsForItAndKeepsOthersAway) {
  Reading reading;
  reading.gpu_is_shared = true;
  reading.gpus = {{Card(1), 8 * kGiB, 0}, {Card(2), 6 * kGiB, 0}};
  const Need alone{.gpu_memory = kGiB, .gpu_alone = true};
  std::vector<Admitted> running = {Running(1, {.gpu_memory = kGiB})};
  running[0].gpu = Card(1);
  EXPECT_EQ(Consider(alone, reading, running, {}).gpu, Card(2)) << "nobody is there";
  running.push_back(Running(2, {.gpu_memory = kGiB}));
  running[1].gpu = Card(2);
  EXPECT_EQ(ReasonOf(Consider(alone, reading, running, {}), Kind::kWait),
            "GPU memory: a step was refused it beside others, and waits until it can have the GPU "
            "alone");
  running[0].need = alone;
  EXPECT_EQ(Consider({.gpu_memory = kGiB}, reading, running, {}).gpu, Card(2))
      << "though the other has more room";
  running[1].need = alone;
  EXPECT_EQ(ReasonOf(Consider({.gpu_memory = kGiB}, reading, running, {}), Kind::kWait),
            "GPU memory: a step that was refused it beside others has the GPU alone");
  EXPECT_EQ(Consider({}, reading, running, {}).kind, Kind::kAdmit) << "who needs no GPU";
}

TEST(Consider, ChoosesTheGpuWithTheMostRoom) {
  Reading reading;
  EXPECT_EQ(ReasonOf(Consider({.gpu_memory = kGiB}, reading, {}, {}), Kind::kWait),
            "GPU memory: no GPU can be read now");
  reading.gpus = {{Card(1), 8 * kGiB, 3 * kGiB}, {Card(2), 8 * kGiB, 2 * kGiB}};
  const Budget budget{.gpu_memory_reserve = kGiB};
  EXPECT_EQ(Consider({.gpu_memory = kGiB}, reading, {}, budget).gpu, Card(2));
  // What was promised there and is not used yet counts.
  std::vector<Admitted> running = {Running(1, {.gpu_memory = 2 * kGiB})};
  running[0].gpu = Card(2);
  EXPECT_EQ(Consider({.gpu_memory = kGiB}, reading, running, budget).gpu, Card(1));
  EXPECT_EQ(ReasonOf(Consider({.gpu_memory = 5 * kGiB}, reading, running, budget), Kind::kWait),
            "GPU memory: 5 GiB are free, 1 GiB kept back, a step takes 5 GiB");
  running[0].gpu_memory = 2 * kGiB;
  EXPECT_EQ(Consider({.gpu_memory = kGiB}, reading, running, budget).gpu, Card(2));
  EXPECT_EQ(Consider(Memory(kGiB), reading, running, budget).gpu, std::nullopt);
}

// It was looked at before the card was.
TEST(Consider, WhatAStepHasGivenBackItMayTakeAgain) {
  Reading reading;
  reading.gpus = {{Card(1), 8 * kGiB, 6 * kGiB}};
  std::vector<Admitted> running = {Running(1, {.gpu_memory = 6 * kGiB}, std::nullopt)};
  running[0].gpu = Card(1);
  running[0].gpu_memory = 6 * kGiB;
  EXPECT_EQ(Consider({.gpu_memory = 2 * kGiB}, reading, running, {}).kind, Kind::kAdmit);
  (*reading.gpus)[0].used = 0;
  EXPECT_EQ(ReasonOf(Consider({.gpu_memory = 3 * kGiB}, reading, running, {}), Kind::kWait),
            "GPU memory: 8 GiB are free, 6 GiB promised to others, a step takes 3 GiB");
  EXPECT_EQ(Consider({.gpu_memory = 2 * kGiB}, reading, running, {}).kind, Kind::kAdmit);
}

TEST(Admission, LetsSmallStepsPassButNotForEver) {
  Admission admission;
  const std::vector<Admitted> running = {Running(100, Memory(6 * kGiB), 6 * kGiB)};
  const std::vector<Waiting> queue = {
      {1, Memory(4 * kGiB)}, {2, Memory(4 * kGiB)}, {3, Memory(kGiB)}};
  for (unsigned i = 0; i < Admission::kMostPassed; ++i) {
    EXPECT_EQ(admission.Next(Free(2 * kGiB), queue, running, {}).index, 2);
  }
  const auto choice = admission.Next(Free(2 * kGiB), queue, running, {});
  EXPECT_EQ(choice.index, std::nullopt);
  EXPECT_EQ(ReasonOf(choice.verdict, Kind::kWait),
            "memory: 2 GiB are free, a step takes 4 GiB; nothing passes it any more");
  EXPECT_EQ(admission.Next(Free(4 * kGiB), queue, running, {}).index, 0);
  // The next one has a count of its own.
  const std::span<const Waiting> rest(queue.begin() + 1, queue.end());
  EXPECT_EQ(admission.Next(Free(2 * kGiB), rest, running, {}).index, 1);
}

TEST(Admission, HandsOutWhatCanNeverRun) {
  Admission admission;
  Reading reading = Free(2 * kGiB);
  reading.memory_total = 4 * kGiB;
  const std::vector<Waiting> queue = {{1, Memory(3 * kGiB)}, {2, Memory(5 * kGiB)}};
  const auto choice = admission.Next(reading, queue, {}, {});
  EXPECT_EQ(choice.index, 1);
  ReasonOf(choice.verdict, Kind::kNever);
  EXPECT_EQ(admission.Next(reading, {}, {}, {}).index, std::nullopt);
}

// A machine on which steps come, use up to what they claim, and end.
struct World {
  explicit World(unsigned seed) : random(seed) {
    budget.cpus = 4;
    budget.memory = 12 * kGiB;
    budget.memory_reserve = kGiB;
    for (StepNumber step = 1; step <= 300; ++step) {
      Need need = Memory((1 + random() % (random() % 5 == 0 ? 12 : 3)) * kGiB);
      need.cpus = static_cast<double>(random() % 5);
      need.gpu_memory = random() % 3 == 0 ? (1 + random() % 8) * kGiB : 0;
      queue.push_back({step, need});
    }
  }

  Reading Read() {
    Reading reading;
    reading.now = seconds(clock++);
    Bytes used = 0;
    reading.gpus = {{Card(1), 8 * kGiB, 0}, {Card(2), 8 * kGiB, 0}};
    for (const Admitted& step : running) {
      used += step.memory.value_or(0);
      for (GpuMemory& gpu : *reading.gpus) {
        // Some has been given back since the step was looked at.
        if (step.gpu == gpu.uuid) gpu.used += random() % (step.gpu_memory.value_or(0) + 1);
      }
    }
    reading.memory_total = 13 * kGiB;
    reading.memory_available = *reading.memory_total - used;
    return reading;
  }

  // Steps grow, or end.
  void Live() {
    for (Admitted& step : running) {
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
    for (const Admitted& step : running) {
      cpus += step.need.cpus;
      claimed += step.need.memory;
      if (step.gpu) gpu.at((*step.gpu)[0]) += step.need.gpu_memory;
    }
    ASSERT_LE(cpus, budget.cpus);
    ASSERT_LE(claimed, *budget.memory);
    ASSERT_LE(*std::ranges::max_element(gpu), 8 * kGiB);
  }

  std::mt19937 random;
  Budget budget;
  std::vector<Waiting> queue;
  std::vector<Admitted> running;
  int clock = 0;
};

TEST(Admission, IsNeverOverBudgetAndLetsNobodyWaitForEver) {
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
      ASSERT_LE(passed, Admission::kMostPassed);
      const Waiting& chosen = world.queue[*choice.index];
      Admitted step = Running(chosen.step, chosen.need, Bytes{0});
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

}  // namespace
}  // namespace reveza::runner
