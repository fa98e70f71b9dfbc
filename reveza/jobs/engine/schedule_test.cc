#include "reveza/jobs/engine/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

namespace reveza::jobs {
namespace schedule_test {

Job Steps(int count) {
  Job job;
  job.commands.emplace_back();
  job.steps.resize(static_cast<std::size_t>(count));
  return job;
}

std::optional<std::uint32_t> Next(const Schedule& schedule) {
  const auto first = schedule.Ready(1);
  return first.empty() ? std::nullopt : std::optional(first.front());
}

TEST(ScheduleTest, RunsInOrderAndCounts) {
  const Job job = Steps(3);
  Schedule schedule(job);
  EXPECT_EQ(Next(schedule), 0u);
  EXPECT_EQ(schedule.Ready(2), (std::vector<std::uint32_t>{0, 1}));
  schedule.Start(0);
  EXPECT_EQ(Next(schedule), 1u);
  schedule.Finish(0);
  schedule.Start(1);
  schedule.Requeue(1);
  EXPECT_EQ(Next(schedule), 1u);
  EXPECT_EQ(schedule.counts().done, 1u);
  EXPECT_EQ(schedule.counts().ready, 2u);
  EXPECT_FALSE(schedule.finished());
}

TEST(ScheduleTest, FailureSkipsTransitively) {
  Job job = Steps(4);
  job.steps[1].after = {0};
  job.steps[2].after = {1};
  job.steps[3].after = {0, 2};
  Schedule schedule(job);
  EXPECT_EQ(schedule.counts().blocked, 3u);
  schedule.Start(0);
  schedule.Fail(0);
  EXPECT_EQ(schedule.counts().skipped, 3u);
  EXPECT_TRUE(schedule.finished());
}

TEST(ScheduleTest, LanesHaveSeparateQueues) {
  Job job = Steps(5);
  job.commands.emplace_back();
  job.commands[1].claim.gpu_memory = 1;
  job.commands[1].priority = 1;
  job.steps[2].command = job.steps[4].command = 1;
  job.steps[3].after = {0};
  Schedule schedule(job);
  EXPECT_EQ(schedule.Ready(9), (std::vector<std::uint32_t>{2, 4, 0, 1}));
  EXPECT_EQ(schedule.Ready(3), (std::vector<std::uint32_t>{2, 4, 0}));
  EXPECT_EQ(schedule.Ready(9, {true, false}), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(schedule.Ready(1, {false, true}), (std::vector<std::uint32_t>{2}));
  EXPECT_TRUE(schedule.Ready(9, {false, false}).empty());
  schedule.Start(2);
  EXPECT_EQ(schedule.waiting(Lane::kCpu), 3u);  // including the blocked one
  EXPECT_EQ(schedule.waiting(Lane::kGpu), 1u);
  EXPECT_EQ(schedule.waiting_by_command()[0], 3u);
  EXPECT_EQ(schedule.waiting_by_command()[1], 1u);
}

TEST(ScheduleTest, HeldStepBlocksDependents) {
  Job job = Steps(2);
  job.steps[1].after = {0};
  Schedule schedule(job);
  schedule.Start(0);
  schedule.Hold(0);
  EXPECT_EQ(schedule.counts().held, 1u);
  EXPECT_EQ(schedule.counts().blocked, 1u);
  EXPECT_FALSE(Next(schedule));
  EXPECT_TRUE(schedule.finished());
}

// In any order of events, every step is counted once and none runs before its dependencies.
TEST(ScheduleTest, RandomHistoriesKeepInvariants) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Job job = Steps(30);
    for (std::uint32_t step = 1; step < 30; ++step) {
      for (unsigned i = random() % 3; i > 0; --i) job.steps[step].after.push_back(random() % step);
      std::ranges::sort(job.steps[step].after);
      const auto [first, last] = std::ranges::unique(job.steps[step].after);
      job.steps[step].after.erase(first, last);
    }
    Schedule schedule(job);
    std::vector<std::uint32_t> running;
    while (!schedule.finished()) {
      const auto next = Next(schedule);
      if (next && (running.empty() || random() % 2 == 0)) {
        for (const auto before : job.steps[*next].after) {
          ASSERT_EQ(schedule.state(before), Schedule::State::kDone);
        }
        schedule.Start(*next);
        running.push_back(*next);
        continue;
      }
      ASSERT_FALSE(running.empty());
      const std::size_t which = random() % running.size();
      const auto step = running[which];
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      const unsigned end = random() % 10;
      if (end == 0) {
        schedule.Fail(step);
      } else if (end < 3) {
        schedule.Requeue(step);
      } else {
        schedule.Finish(step);
      }
      const auto& c = schedule.counts();
      ASSERT_EQ(c.blocked + c.ready + c.running + c.done + c.failed + c.held + c.skipped, 30u);
    }
    EXPECT_EQ(schedule.counts().blocked + schedule.counts().running, 0u);
  }
}

TEST(ScheduleTest, ReviveUnblocksUnlessAnotherFailed) {
  Job job = Steps(5);
  job.steps[2].after = {0};
  job.steps[3].after = {0, 1};
  job.steps[4].after = {2};
  Schedule schedule(job);
  for (const std::uint32_t step : {0u, 1u}) {
    schedule.Start(step);
    schedule.Fail(step);
  }
  EXPECT_EQ(schedule.counts().skipped, 3u);
  schedule.Revive(0);
  EXPECT_EQ(Next(schedule), 0u);
  EXPECT_EQ(schedule.state(3), Schedule::State::kSkipped);
  EXPECT_EQ(schedule.counts().blocked, 2u);
  schedule.Start(0);
  schedule.Finish(0);
  EXPECT_EQ(Next(schedule), 2u);
  schedule.Revive(1);
  EXPECT_EQ(schedule.state(3), Schedule::State::kBlocked);
}

TEST(ScheduleTest, AcceptsAppendedSteps) {
  Job job = Steps(3);
  Schedule schedule(job);
  schedule.Start(0);
  schedule.Finish(0);
  schedule.Start(1);
  schedule.Fail(1);
  for (const auto& after : {std::vector<std::uint32_t>{}, {0}, {0, 2}, {1}, {6}}) {
    job.steps.emplace_back().after = after;
  }
  schedule.AddNewSteps();
  EXPECT_EQ(schedule.state(3), Schedule::State::kReady);
  EXPECT_EQ(schedule.state(4), Schedule::State::kReady);
  EXPECT_EQ(schedule.state(5), Schedule::State::kBlocked);
  EXPECT_EQ(schedule.state(6), Schedule::State::kSkipped);
  EXPECT_EQ(schedule.state(7), Schedule::State::kSkipped);
  schedule.Start(2);
  schedule.Finish(2);
  EXPECT_EQ(schedule.state(5), Schedule::State::kReady);
  EXPECT_EQ(schedule.counts().ready, 3u);
}

}  // namespace schedule_test
}  // namespace reveza::jobs
