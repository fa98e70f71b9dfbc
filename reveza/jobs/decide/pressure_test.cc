#include "reveza/jobs/decide/pressure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reveza::jobs {
namespace pressure_test {

using std::chrono::seconds;
using Kind = PressureAction::Kind;

RunningStep Begun(StepNumber step, int second, bool paused = false) {
  RunningStep admitted;
  admitted.step = step;
  admitted.since = seconds(second);
  admitted.paused = paused;
  return admitted;
}

MachineReading At(int second, double full) {
  MachineReading reading;
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

TEST(PressureGuard, IsIdleWithoutPressure) {
  PressureGuard guard;
  const std::vector<RunningStep> running = {Begun(1, 0), Begun(2, 1)};
  EXPECT_FALSE(guard.Next(At(5, 3), running).has_value());
  EXPECT_FALSE(guard.blocks_starts());
  EXPECT_FALSE(guard.Next({}, running).has_value());  // nothing can be read
}

TEST(PressureGuard, PausesYoungestThenTerminatesWithoutRelief) {
  PressureGuard guard;
  std::vector<RunningStep> running = {Begun(1, 0), Begun(3, 2), Begun(2, 1)};
  const auto action = guard.Next(At(10, 25), running);
  ExpectAction(action, Kind::kPause, 3);
  EXPECT_EQ(action->reason, "all tasks stalled on memory 25 % of the last 10 s");
  EXPECT_TRUE(guard.blocks_starts());
  running[1].paused = true;
  EXPECT_FALSE(guard.Next(At(19, 25), running).has_value());
  ExpectAction(guard.Next(At(20, 25), running), Kind::kTerminate, 3);
  running.erase(running.begin() + 1);
  EXPECT_FALSE(guard.Next(At(21, 25), running).has_value());
  ExpectAction(guard.Next(At(30, 25), running), Kind::kPause, 2);
}

TEST(PressureGuard, NeverPausesGpuSteps) {
  PressureGuard guard;
  std::vector<RunningStep> running = {Begun(1, 0), Begun(2, 1), Begun(3, 2)};
  running[2].holds_gpu = true;
  ExpectAction(guard.Next(At(10, 25), running), Kind::kPause, 2);
  running[1].paused = true;
  EXPECT_FALSE(guard.Next(At(15, 5), running).has_value());
  ExpectAction(guard.Next(At(25, 25), running), Kind::kPause, 1);
  running[0].paused = true;
  ExpectAction(guard.Next(At(35, 25), running), Kind::kTerminate, 2);
}

TEST(PressureGuard, TerminatesYoungestIfOnlyGpuStepsRun) {
  PressureGuard guard;
  std::vector<RunningStep> running = {Begun(1, 0), Begun(3, 2), Begun(2, 1)};
  for (auto& step : running) step.holds_gpu = true;
  const auto action = guard.Next(At(10, 25), running);
  ExpectAction(action, Kind::kTerminate, 3);
  EXPECT_NE(action->reason.find("GPU steps cannot be paused"), std::string::npos);
  running.erase(running.begin() + 1);
  EXPECT_FALSE(guard.Next(At(15, 25), running).has_value());
  ExpectAction(guard.Next(At(20, 25), running), Kind::kTerminate, 2);
  running.pop_back();
  EXPECT_FALSE(guard.Next(At(40, 90), running).has_value()) << "never the last one";
}

TEST(PressureGuard, TerminatesPausedBeforeGpuSteps) {
  PressureGuard guard;
  std::vector<RunningStep> running = {Begun(1, 0), Begun(2, 1), Begun(3, 2)};
  running[0].holds_gpu = running[1].holds_gpu = true;
  ExpectAction(guard.Next(At(10, 25), running), Kind::kPause, 3);
  running[2].paused = true;
  EXPECT_FALSE(guard.Next(At(15, 5), running).has_value());  // temporary relief
  ExpectAction(guard.Next(At(25, 25), running), Kind::kTerminate, 3);
}

TEST(PressureGuard, PausedJobTerminatesPausedBeforeGpuSteps) {
  PressureGuard guard;
  std::vector<RunningStep> running = {Begun(1, 0), Begun(2, 1, true), Begun(3, 2),
                                      Begun(4, 3, true)};
  running[0].holds_gpu = running[2].holds_gpu = true;
  EXPECT_FALSE(guard.Next(At(10, 25), running, true).has_value()) << "the pause may bring relief";
  EXPECT_FALSE(guard.Next(At(19, 25), running, true).has_value());
  const auto action = guard.Next(At(20, 25), running, true);
  ExpectAction(action, Kind::kTerminate, 4);
  EXPECT_NE(action->reason.find("the job is paused"), std::string::npos);
  running.pop_back();
  EXPECT_FALSE(guard.Next(At(29, 25), running, true).has_value());
  ExpectAction(guard.Next(At(30, 25), running, true), Kind::kTerminate, 2);
  running.erase(running.begin() + 1);
  ExpectAction(guard.Next(At(40, 25), running, true), Kind::kTerminate, 3);
  running.pop_back();
  EXPECT_FALSE(guard.Next(At(90, 90), running, true).has_value()) << "never the last one";
}

TEST(PressureGuard, PausedJobResumesNothing) {
  PressureGuard guard;
  const std::vector<RunningStep> running = {Begun(1, 0, true), Begun(2, 1, true)};
  for (int second = 0; second < 60; ++second) {
    EXPECT_FALSE(guard.Next(At(second, second < 30 ? 90 : 0), running, true).has_value());
  }
  std::vector<RunningStep> with_gpu = {Begun(1, 0), Begun(2, 1, true)};
  with_gpu[0].holds_gpu = true;
  EXPECT_FALSE(guard.Next(At(70, 5), with_gpu, true).has_value()) << "no pressure";
  ExpectAction(guard.Next(At(80, 0), with_gpu), Kind::kResume, 2);
}

TEST(PressureGuard, NeverPausesLastStep) {
  PressureGuard guard;
  const std::vector<RunningStep> running = {Begun(1, 0)};
  EXPECT_FALSE(guard.Next(At(10, 90), running).has_value());
  EXPECT_TRUE(guard.blocks_starts());
}

TEST(PressureGuard, ResumesOldestFirst) {
  PressureGuard guard;
  std::vector<RunningStep> running = {Begun(1, 0), Begun(2, 1), Begun(3, 2)};
  ExpectAction(guard.Next(At(10, 25), running), Kind::kPause, 3);
  running[2].paused = true;
  EXPECT_FALSE(guard.Next(At(12, 5), running).has_value());  // relief
  ExpectAction(guard.Next(At(25, 25), running), Kind::kPause, 2);
  running[1].paused = true;
  EXPECT_FALSE(guard.Next(At(40, 5), running).has_value());  // not calm yet
  ExpectAction(guard.Next(At(41, 1), running), Kind::kResume, 2);
  running[1].paused = false;
  EXPECT_TRUE(guard.blocks_starts());
  EXPECT_FALSE(guard.Next(At(50, 1), running).has_value());
  ExpectAction(guard.Next(At(51, 1), running), Kind::kResume, 3);
  running[2].paused = false;
  EXPECT_FALSE(guard.Next(At(52, 1), running).has_value());
  EXPECT_FALSE(guard.blocks_starts());
}

TEST(PressureGuard, ResumesIfNothingElseRuns) {
  PressureGuard guard;
  std::vector<RunningStep> running = {Begun(1, 0), Begun(2, 1)};
  ExpectAction(guard.Next(At(10, 25), running), Kind::kPause, 2);
  const std::vector<RunningStep> alone = {Begun(2, 1, true)};
  ExpectAction(guard.Next(At(11, 25), alone), Kind::kResume, 2);
}

TEST(PressureGuard, AlwaysLeavesOneRunning) {
  std::mt19937 random(5);
  PressureGuard guard;
  std::vector<RunningStep> running;
  StepNumber next = 1;
  int paused = 0;
  int ended = 0;
  for (int second = 0; second < 20000; ++second) {
    const double full = random() % 3 == 0 ? 0 : static_cast<double>(random() % 60);
    const auto action = guard.Next(At(second, full), running);
    if (action) {
      const auto step = std::ranges::find(running, action->step, &RunningStep::step);
      ASSERT_NE(step, running.end());
      ASSERT_EQ(step->paused, action->kind != Kind::kPause);
      if (action->kind == Kind::kTerminate) {
        running.erase(step);
        ++ended;
      } else {
        step->paused = action->kind == Kind::kPause;
        paused += step->paused ? 1 : 0;
      }
    }
    ASSERT_TRUE(running.empty() || std::ranges::count(running, false, &RunningStep::paused) > 0);
    if (!guard.blocks_starts() || running.empty()) running.push_back(Begun(next++, second));
    const auto active = std::ranges::find(running, false, &RunningStep::paused);
    if (random() % 20 == 0 && std::ranges::count(running, false, &RunningStep::paused) > 1) {
      running.erase(active);
    }
  }
  EXPECT_GT(paused, 10);
  EXPECT_GT(ended, 10);
}

}  // namespace pressure_test
}  // namespace reveza::jobs
