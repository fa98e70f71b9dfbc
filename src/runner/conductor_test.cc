#include "runner/conductor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace reveza::runner {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using How = StepEnd::How;

Conductor::Options Most(unsigned most, unsigned first = 1) {
  Conductor::Options options;
  options.cpu = {.first = first, .most = most};
  options.gpu = {.first = 1, .most = 2};
  options.budget.cpus = 64;
  return options;
}

Reading Free(Bytes available, int second = 0) {
  Reading reading;
  reading.now = seconds(second);
  reading.memory_total = 16 * kGiB;
  reading.memory_available = available;
  return reading;
}

Candidate Step(StepNumber step, std::optional<Bytes> memory = kMiB, Shape shape = 1) {
  Candidate candidate{.step = step, .shape = shape, .claim = {}};
  candidate.claim.memory = memory;
  return candidate;
}

// Starts what may start; how many did.
int StartAll(Conductor& conductor, const Reading& reading, std::vector<Candidate>& waiting) {
  int started = 0;
  while (true) {
    const auto choice = conductor.Choose(reading, waiting);
    if (!choice.index || choice.verdict.kind != Verdict::Kind::kAdmit) return started;
    conductor.Started(waiting[*choice.index], choice, reading.now);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(*choice.index));
    ++started;
  }
}

TEST(Conductor, StartsAsManyAsThereAreWorkers) {
  Conductor conductor(Most(8, 3));
  std::vector<Candidate> waiting;
  for (StepNumber step = 1; step <= 10; ++step) waiting.push_back(Step(step));
  EXPECT_EQ(conductor.workers(), 3);
  EXPECT_EQ(StartAll(conductor, Free(8 * kGiB), waiting), 3);
  EXPECT_EQ(conductor.running(), 3);
  const auto choice = conductor.Choose(Free(8 * kGiB), waiting);
  EXPECT_EQ(choice.index, std::nullopt);
  EXPECT_EQ(choice.verdict.reason, "");  // all workers are busy
  conductor.Ended(2, 2, {}, seconds(1));
  EXPECT_EQ(StartAll(conductor, Free(8 * kGiB), waiting), 1);
  EXPECT_EQ(conductor.Choose(Free(8 * kGiB), {}).index, std::nullopt);
}

TEST(Conductor, HoldsTheNumberThatWasAskedFor) {
  Conductor::Options options = Most(8);
  options.workers = 5;
  Conductor conductor(options);
  std::vector<Candidate> waiting;
  for (StepNumber step = 1; step <= 500; ++step) waiting.push_back(Step(step));
  StepNumber next = 1;
  for (int second = 1; !waiting.empty(); ++second) {
    StartAll(conductor, Free(8 * kGiB, second), waiting);
    ASSERT_EQ(conductor.running(), 5);
    conductor.Tick(seconds(second), waiting.size());
    conductor.Ended(next, next, {}, seconds(second));
    ++next;
  }
  ASSERT_EQ(conductor.cpu().Table().size(), 1);
  EXPECT_EQ(conductor.cpu().Table()[0].workers, 5);
}

TEST(Conductor, SaysWhyTheFirstWaits) {
  Conductor conductor(Most(8, 4));
  std::vector<Candidate> waiting = {Step(1, 3 * kGiB), Step(2, 3 * kGiB)};
  EXPECT_EQ(StartAll(conductor, Free(5 * kGiB), waiting), 1);
  EXPECT_EQ(conductor.Choose(Free(5 * kGiB), waiting).verdict.reason,
            "memory: 5 GiB are free, 3 GiB promised to others, a step takes 3 GiB");
  conductor.Used(1, kGiB, std::nullopt);
  EXPECT_EQ(conductor.Choose(Free(4 * kGiB), waiting).verdict.reason,
            "memory: 4 GiB are free, 2 GiB promised to others, a step takes 3 GiB");
}

TEST(Conductor, CountsStepsWithAndWithoutGpuApart) {
  Conductor conductor(Most(8, 2));
  Reading reading = Free(8 * kGiB);
  reading.gpus = {{{}, 8 * kGiB, 0}};
  std::vector<Candidate> waiting;
  for (StepNumber step = 1; step <= 4; ++step) waiting.push_back(Step(step));
  for (StepNumber step = 5; step <= 8; ++step) {
    waiting.push_back(Step(step));
    waiting.back().claim.gpu_memory = kGiB;
  }
  EXPECT_EQ(StartAll(conductor, reading, waiting), 3);  // two, and one on the GPU
  EXPECT_EQ(conductor.workers(), 3);
}

TEST(Conductor, LearnsWhatStepsNeed) {
  Conductor conductor(Most(8, 8));
  std::vector<Candidate> waiting;
  for (StepNumber step = 1; step <= 20; ++step) waiting.push_back(Step(step, std::nullopt));
  // A quarter of what is free is guessed: 4, 3 and 2.25 GiB of 16, and so on, never all.
  const int guessed = StartAll(conductor, Free(16 * kGiB), waiting);
  EXPECT_GE(guessed, 4);
  conductor.Ended(1, 1, {.memory_peak = 3 * kGiB}, seconds(1));
  for (StepNumber step = 2; step <= 20; ++step)
    conductor.Ended(step, step, {.how = How::kFailed}, seconds(1));
  EXPECT_EQ(conductor.running(), 0);
  EXPECT_EQ(StartAll(conductor, Free(16 * kGiB, 2), waiting), 4);  // of 3.3 GiB
  conductor.claims().Succeeded(2, kGiB, std::nullopt);
  EXPECT_TRUE(conductor.claims().Of(2).has_value());
}

TEST(Conductor, AsksForMoreAfterADeathAndHalvesTheWorkers) {
  Conductor conductor(Most(8, 4));
  std::vector<Candidate> waiting = {Step(1, 2 * kGiB), Step(2, 2 * kGiB), Step(3, 2 * kGiB),
                                    Step(4, 2 * kGiB)};
  EXPECT_EQ(StartAll(conductor, Free(16 * kGiB), waiting), 4);
  conductor.Ended(3, 3, {.how = How::kOutOfMemory, .memory_peak = 4 * kGiB}, seconds(9));
  EXPECT_EQ(conductor.workers(), 2);
  conductor.Ended(1, 1, {}, seconds(10));
  conductor.Ended(2, 2, {}, seconds(10));
  waiting = {Step(3, 2 * kGiB)};
  const auto choice = conductor.Choose(Free(16 * kGiB, 11), waiting);
  EXPECT_EQ(choice.need.memory, 6 * kGiB);
  // What died of a limit of its own says nothing of the machine.
  conductor.Ended(4, 4, {.how = How::kOverLimit}, seconds(30));
  EXPECT_EQ(conductor.workers(), 2);
}

TEST(Conductor, PausesUnderPressureAndCountsNoPause) {
  Conductor conductor(Most(8, 4));
  std::vector<Candidate> waiting = {Step(1), Step(2), Step(3), Step(4), Step(5)};
  StartAll(conductor, Free(8 * kGiB), waiting);
  Reading reading = Free(8 * kGiB, 10);
  reading.memory_full = 50;
  auto action = conductor.Relieve(reading);
  ASSERT_TRUE(action.has_value());
  EXPECT_EQ(action->step, 4);
  EXPECT_EQ(conductor.workers(), 2);
  EXPECT_FALSE(conductor.Choose(reading, waiting).index.has_value());
  EXPECT_NE(conductor.Choose(reading, waiting).verdict.reason, "");
  EXPECT_EQ(conductor.Elapsed(4, seconds(15)), seconds(10));
  EXPECT_EQ(conductor.Elapsed(1, seconds(15)), seconds(15));
  reading = Free(8 * kGiB, 40);
  reading.memory_full = 0;
  action = conductor.Relieve(reading);
  ASSERT_TRUE(action.has_value());
  EXPECT_EQ(action->step, 4);
  EXPECT_EQ(static_cast<int>(action->kind), static_cast<int>(PressureAction::Kind::kResume));
  EXPECT_EQ(conductor.Elapsed(4, seconds(45)), seconds(15));
  EXPECT_EQ(conductor.Elapsed(77, seconds(45)), seconds(0));
}

TEST(Conductor, SaysHowLongItTakes) {
  Conductor conductor(Most(1));
  for (StepNumber step = 1; step <= 30; ++step) {
    std::vector<Candidate> waiting = {Step(step)};
    const int now = static_cast<int>(step) * 2;
    ASSERT_EQ(StartAll(conductor, Free(8 * kGiB, now), waiting), 1);
    conductor.Ended(step, step, {}, seconds(now + 2));
  }
  const WorkLeft left{.step_class = 1, .steps = 10};
  EXPECT_EQ(conductor.Remaining({&left, 1}, seconds(100))->p50, seconds(20));
  EXPECT_FALSE(conductor.MainDrift().has_value());
}

// Steps that take what they take, on a machine that kills when there is no more.
TEST(Conductor, FinishesEverythingThatCanBeFinished) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    Conductor::Options options = Most(6, 2);
    options.budget.memory_reserve = kGiB;
    Conductor conductor(options);
    std::vector<Candidate> waiting;
    std::map<StepNumber, Bytes> takes;
    for (StepNumber step = 1; step <= 200; ++step) {
      takes[step] = (step % 10 == 0 ? 9 : 1 + random() % 3) * kGiB;
      waiting.push_back(Step(step, std::nullopt, step % 10 == 0 ? 2 : 1));
    }
    std::map<StepNumber, int> running;  // and when they end
    std::size_t done = 0;
    int deaths = 0;
    int second = 0;
    for (; done < 200 && second < 20000; ++second) {
      Bytes used = 0;
      for (const auto& [step, end] : running) used += takes[step];
      StepNumber died = 0;
      if (used > 16 * kGiB) {
        died = running.rbegin()->first;
        used -= takes[died];
      }
      for (auto next = running.begin(); next != running.end();) {
        const auto [step, end] = *next;
        if (step != died && end > second) {
          conductor.Used(step, takes[step], std::nullopt);
          ++next;
          continue;
        }
        StepEnd how{.memory_peak = takes[step]};
        if (step == died) how.how = How::kOutOfMemory;
        conductor.Ended(step, step, how, seconds(second));
        if (step == died) {
          waiting.insert(waiting.begin(), Step(step, std::nullopt, step % 10 == 0 ? 2 : 1));
          ++deaths;
        } else {
          ++done;
        }
        next = running.erase(next);
      }
      conductor.Tick(seconds(second), waiting.size());
      const Reading reading = Free(16 * kGiB - std::min(16 * kGiB, used), second);
      while (true) {
        const auto choice = conductor.Choose(reading, waiting);
        if (!choice.index) break;
        ASSERT_EQ(static_cast<int>(choice.verdict.kind), static_cast<int>(Verdict::Kind::kAdmit));
        running[waiting[*choice.index].step] = second + 5 + static_cast<int>(random() % 5);
        conductor.Started(waiting[*choice.index], choice, seconds(second));
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(*choice.index));
        ASSERT_LE(conductor.running(), 6);
      }
    }
    EXPECT_EQ(done, 200) << "seed " << seed;
    EXPECT_LE(deaths, 20) << "seed " << seed;
    EXPECT_FALSE(conductor.cpu().log().empty());
    EXPECT_TRUE(conductor.gpu().log().empty());
  }
}

}  // namespace
}  // namespace reveza::runner
