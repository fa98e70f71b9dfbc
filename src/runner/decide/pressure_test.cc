#include "runner/decide/pressure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reveza::runner {
namespace {

using std::chrono::seconds;
using Kind = PressureAction::Kind;

Admitted Begun(StepNumber step, int second, bool paused = false) {
  Admitted admitted;
  admitted.step = step;
  admitted.since = seconds(second);
  admitted.paused = paused;
  return admitted;
}

Reading At(int second, double full) {
  Reading reading;
  reading.now = seconds(second);
  reading.memory_full = full;
  return reading;
}

void ExpectAction(const std::optional<PressureAction>& action, Kind kind, StepNumber step) {
  ASSERT_TRUE(action.has_value());
  EXPECT_EQ(static_cast<int>(action->kind), static_cast<int>(kind)) << action->reason;
  EXPECT_EQ(action->step, step);
  EXPECT_FALSE(action->reason.empty());
}

TEST(RunningTime, CountsNoPauses) {
  RunningTime time{seconds(10)};
  EXPECT_EQ(time.Elapsed(seconds(15)), seconds(5));
  time.Pause(seconds(15));
  EXPECT_EQ(time.Elapsed(seconds(100)), seconds(5));
  time.Pause(seconds(50));
  time.Resume(seconds(100));
  EXPECT_EQ(time.Elapsed(seconds(101)), seconds(6));
  time.Resume(seconds(102));
  EXPECT_EQ(time.Elapsed(seconds(103)), seconds(8));
}

TEST(PressureGuard, DoesNothingWithoutPressure) {
  PressureGuard guard;
  const std::vector<Admitted> running = {Begun(1, 0), Begun(2, 1)};
  EXPECT_FALSE(guard.Next(At(5, 3), running).has_value());
  EXPECT_FALSE(guard.holds());
  EXPECT_FALSE(guard.Next({}, running).has_value());  // nothing can be read
}

TEST(PressureGuard, PausesTheYoungestAndEndsItWithoutRelief) {
  PressureGuard guard;
  std::vector<Admitted> running = {Begun(1, 0), Begun(3, 2), Begun(2, 1)};
  const auto action = guard.Next(At(10, 25), running);
  ExpectAction(action, Kind::kPause, 3);
  EXPECT_EQ(action->reason, "all waited for memory 25 % of the last 10 s");
  EXPECT_TRUE(guard.holds());
  running[1].paused = true;
  EXPECT_FALSE(guard.Next(At(19, 25), running).has_value());
  ExpectAction(guard.Next(At(20, 25), running), Kind::kEnd, 3);
  running.erase(running.begin() + 1);
  EXPECT_FALSE(guard.Next(At(21, 25), running).has_value());
  ExpectAction(guard.Next(At(30, 25), running), Kind::kPause, 2);
}

TEST(PressureGuard, PassesOverAStepOnAGpuWhenSomeoneIsPaused) {
  PressureGuard guard;
  std::vector<Admitted> running = {Begun(1, 0), Begun(2, 1), Begun(3, 2)};
  running[2].holds_gpu = true;
  ExpectAction(guard.Next(At(10, 25), running), Kind::kPause, 2);
  running[1].paused = true;
  EXPECT_FALSE(guard.Next(At(15, 5), running).has_value());
  ExpectAction(guard.Next(At(25, 25), running), Kind::kPause, 1);
  running[0].paused = true;
  ExpectAction(guard.Next(At(35, 25), running), Kind::kEnd, 2);
}

TEST(PressureGuard, EndsTheYoungestAtOnceWhereOnlyStepsOnAGpuRun) {
  PressureGuard guard;
  std::vector<Admitted> running = {Begun(1, 0), Begun(3, 2), Begun(2, 1)};
  for (auto& step : running) step.holds_gpu = true;
  const auto action = guard.Next(At(10, 25), running);
  ExpectAction(action, Kind::kEnd, 3);
  EXPECT_NE(action->reason.find("a step on a GPU is not paused"), std::string::npos);
  running.erase(running.begin() + 1);
  EXPECT_FALSE(guard.Next(At(15, 25), running).has_value());
  ExpectAction(guard.Next(At(20, 25), running), Kind::kEnd, 2);
  running.pop_back();
  EXPECT_FALSE(guard.Next(At(40, 90), running).has_value()) << "never the last one";
}

TEST(PressureGuard, EndsWhatIsPausedBeforeAStepOnAGpu) {
  PressureGuard guard;
  std::vector<Admitted> running = {Begun(1, 0), Begun(2, 1), Begun(3, 2)};
  running[0].holds_gpu = running[1].holds_gpu = true;
  ExpectAction(guard.Next(At(10, 25), running), Kind::kPause, 3);
  running[2].paused = true;
  EXPECT_FALSE(guard.Next(At(15, 5), running).has_value());  // it helped, for a while
  ExpectAction(guard.Next(At(25, 25), running), Kind::kEnd, 3);
}

TEST(PressureGuard, InAPausedJobEndsWhatStandsStillBeforeWhatRunsOnAGpu) {
  PressureGuard guard;
  std::vector<Admitted> running = {Begun(1, 0), Begun(2, 1, true), Begun(3, 2), Begun(4, 3, true)};
  running[0].holds_gpu = running[2].holds_gpu = true;
  EXPECT_FALSE(guard.Next(At(10, 25), running, true).has_value()) << "the pause may help";
  EXPECT_FALSE(guard.Next(At(19, 25), running, true).has_value());
  const auto action = guard.Next(At(20, 25), running, true);
  ExpectAction(action, Kind::kEnd, 4);
  EXPECT_NE(action->reason.find("in a paused job"), std::string::npos);
  running.pop_back();
  EXPECT_FALSE(guard.Next(At(29, 25), running, true).has_value());
  ExpectAction(guard.Next(At(30, 25), running, true), Kind::kEnd, 2);
  running.erase(running.begin() + 1);
  ExpectAction(guard.Next(At(40, 25), running, true), Kind::kEnd, 3);
  running.pop_back();
  EXPECT_FALSE(guard.Next(At(90, 90), running, true).has_value()) << "never the last one";
}

TEST(PressureGuard, InAPausedJobNothingGoesOnAndWithoutAGpuNothingIsEnded) {
  PressureGuard guard;
  const std::vector<Admitted> running = {Begun(1, 0, true), Begun(2, 1, true)};
  for (int second = 0; second < 60; ++second) {
    EXPECT_FALSE(guard.Next(At(second, second < 30 ? 90 : 0), running, true).has_value());
  }
  std::vector<Admitted> with_gpu = {Begun(1, 0), Begun(2, 1, true)};
  with_gpu[0].holds_gpu = true;
  EXPECT_FALSE(guard.Next(At(70, 5), with_gpu, true).has_value()) << "there is no pressure";
  ExpectAction(guard.Next(At(80, 0), with_gpu), Kind::kResume, 2);
}

TEST(PressureGuard, NeverPausesTheLast) {
  PressureGuard guard;
  const std::vector<Admitted> running = {Begun(1, 0)};
  EXPECT_FALSE(guard.Next(At(10, 90), running).has_value());
  EXPECT_TRUE(guard.holds());
}

TEST(PressureGuard, LetsWhatWasPausedGoOnTheOldestFirst) {
  PressureGuard guard;
  std::vector<Admitted> running = {Begun(1, 0), Begun(2, 1), Begun(3, 2)};
  ExpectAction(guard.Next(At(10, 25), running), Kind::kPause, 3);
  running[2].paused = true;
  EXPECT_FALSE(guard.Next(At(12, 5), running).has_value());  // relief
  ExpectAction(guard.Next(At(25, 25), running), Kind::kPause, 2);
  running[1].paused = true;
  EXPECT_FALSE(guard.Next(At(40, 5), running).has_value());  // not calm yet
  ExpectAction(guard.Next(At(41, 1), running), Kind::kResume, 2);
  running[1].paused = false;
  EXPECT_TRUE(guard.holds());
  EXPECT_FALSE(guard.Next(At(50, 1), running).has_value());
  ExpectAction(guard.Next(At(51, 1), running), Kind::kResume, 3);
  running[2].paused = false;
  EXPECT_FALSE(guard.Next(At(52, 1), running).has_value());
  EXPECT_FALSE(guard.holds());
}

TEST(PressureGuard, LeavesNothingPausedAlone) {
  PressureGuard guard;
  std::vector<Admitted> running = {Begun(1, 0), Begun(2, 1)};
  ExpectAction(guard.Next(At(10, 25), running), Kind::kPause, 2);
  const std::vector<Admitted> alone = {Begun(2, 1, true)};
  ExpectAction(guard.Next(At(11, 25), alone), Kind::kResume, 2);
}

TEST(PressureGuard, HeedsFreeMemory) {
  PressureGuard guard({.available_least = kGiB});
  const std::vector<Admitted> running = {Begun(1, 0), Begun(2, 1)};
  Reading reading = At(10, 0);
  reading.memory_available = 5 * kGiB;
  reading.cgroup_headroom = 900 * kMiB;
  const auto action = guard.Next(reading, running);
  ExpectAction(action, Kind::kPause, 2);
  EXPECT_EQ(action->reason, "only 900 MiB of memory are free");
}

TEST(PressureGuard, AlwaysLeavesOneThatRuns) {
  std::mt19937 random(5);
  PressureGuard guard;
  std::vector<Admitted> running;
  StepNumber next = 1;
  int paused = 0;
  int ended = 0;
  for (int second = 0; second < 20000; ++second) {
    const double full = random() % 3 == 0 ? 0 : static_cast<double>(random() % 60);
    const auto action = guard.Next(At(second, full), running);
    if (action) {
      const auto step = std::ranges::find(running, action->step, &Admitted::step);
      ASSERT_NE(step, running.end());
      ASSERT_EQ(step->paused, action->kind != Kind::kPause);
      if (action->kind == Kind::kEnd) {
        running.erase(step);
        ++ended;
      } else {
        step->paused = action->kind == Kind::kPause;
        paused += step->paused ? 1 : 0;
      }
    }
    ASSERT_TRUE(running.empty() || std::ranges::count(running, false, &Admitted::paused) > 0);
    if (!guard.holds() || running.empty()) running.push_back(Begun(next++, second));
    const auto active = std::ranges::find(running, false, &Admitted::paused);
    if (random() % 20 == 0 && std::ranges::count(running, false, &Admitted::paused) > 1) {
      running.erase(active);
    }
  }
  EXPECT_GT(paused, 10);
  EXPECT_GT(ended, 10);
}

}  // namespace
}  // namespace reveza::runner
