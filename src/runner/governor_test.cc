#include "runner/governor.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

Job OneCommand() {
  Job job;
  Command command;
  command.arguments = {"./simulate", "{n}"};
  job.commands.push_back(command);
  for (int n = 0; n < 10; ++n) job.steps.push_back({0, {{"n", std::to_string(n)}}, {}});
  return job;
}

AttemptResult Ended(Outcome outcome) {
  AttemptResult result;
  result.outcome = outcome;
  result.ended = 1'000'000'000;
  return result;
}

TEST(GovernorTest, AFixedNumberOfWorkersIsNotTuned) {
  const Job job = OneCommand();
  RunRequest request;
  request.workers = 3;
  const Governor governor(job, request, 2);
  EXPECT_EQ(governor.Workers(), 3u);
  EXPECT_FALSE(governor.tunes());
}

TEST(GovernorTest, ItBeginsWithOneAndMayTryTwoForEachCore) {
  const Job job = OneCommand();
  EXPECT_EQ(Governor(job, {}, 4).Workers(), 1u);
  EXPECT_EQ(Governor(job, {}, 4).most(), 8u);
  RunRequest request;
  request.max_workers = 5;
  EXPECT_EQ(Governor(job, request, 4).most(), 5u);
}

TEST(GovernorTest, WhatWasLearnedOutlivesTheRun) {
  const Job job = OneCommand();
  Governor first(job, {}, 2);
  first.Ended(std::chrono::seconds(1), 0, Ended(Outcome::kSuccess), {}, 1ULL << 30);
  Governor second(job, {}, 2);
  second.Restore(first.Learned());
  const Need need = second.NeedOf(5, {});
  EXPECT_EQ(need.memory_by, KnownBy::kLearned);
  EXPECT_GE(need.memory, 1ULL << 30);
}

TEST(GovernorTest, NonsenseTeachesNothing) {
  const Job job = OneCommand();
  for (const char* text : {"", "nonsense", "[1, null, {\"shape\": \"x\", \"memory\": -1}]", "{}"}) {
    Governor governor(job, {}, 2);
    governor.Restore(text);
    EXPECT_EQ(governor.NeedOf(0, {}).memory_by, KnownBy::kGuess) << text;
  }
}

TEST(GovernorTest, ADeathForMemoryAsksForMoreNextTime) {
  const Job job = OneCommand();
  Governor governor(job, {}, 2);
  Need need;
  need.memory = 1ULL << 30;
  governor.Ended(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), need, 1ULL << 30);
  EXPECT_GE(governor.NeedOf(1, {}).memory, (3ULL << 30) / 2);
}

TEST(GovernorTest, CyclesThatGrowLongerAreSaid) {
  const Job job = OneCommand();
  Governor governor(job, {}, 2);
  for (int i = 1; i <= 60; ++i) {
    governor.CycleEnded(static_cast<std::uint64_t>(i), std::chrono::milliseconds(400 + 60 * i));
  }
  const auto drift = governor.Drift();
  ASSERT_TRUE(drift);
  EXPECT_NEAR(*drift, 0.06, 0.005);
  const auto remaining = governor.RemainingCycles(10);
  ASSERT_TRUE(remaining);
  EXPECT_GT(remaining->p50, std::chrono::seconds(30));
}

}  // namespace
}  // namespace reveza::runner
