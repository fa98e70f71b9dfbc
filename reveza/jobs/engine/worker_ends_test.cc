// The supervisor process: cancelled and paused steps, and leftover processes.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "common/platform/text_file.h"
#include "reveza/jobs/engine/testing_worker.h"

namespace reveza::jobs {
namespace worker_ends_test {

using namespace std::chrono_literals;

TEST_F(SupervisorTest, EnforcesTimeLimit) {
  auto request = Shell("trap '' TERM; while :; do sleep 1; done");
  request.time_limit = 50'000'000;
  request.grace = 50'000'000;
  const auto result = Run(request);
  EXPECT_EQ(result.outcome, Outcome::kTimeLimit);
  EXPECT_EQ(TheRecord().entries.size(), 2u);
}

TEST_F(SupervisorTest, PausedTimeDoesNotCount) {
  auto request = Shell("touch begun; while [ ! -e go ]; do sleep 0.01; done");
  request.time_limit = 2'000'000'000;
  worker_->Send(Pack(request));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kPause));
  std::this_thread::sleep_for(2200ms);
  std::ofstream(folder_.path() / "go");
  worker_->Send(PackFrame(FrameKind::kContinue));
  const auto result = AwaitResult();
  // On a busy machine it may have run for two seconds after all.
  if (result.ended - result.began - result.paused < request.time_limit) {
    EXPECT_EQ(result.outcome, Outcome::kSuccess);
    EXPECT_GE(result.paused, 150'000'000);
  }
}

TEST_F(SupervisorTest, CancelsOnRequest) {
  worker_->Send(Pack(Shell("touch begun; exec sleep 600")));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kEnd));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

TEST_F(SupervisorTest, PausedStepCanBeCancelled) {
  worker_->Send(Pack(Shell("touch begun; exec sleep 600")));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kPause));
  worker_->Send(PackFrame(FrameKind::kEnd));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

constexpr const char* kExitsWithZeroOnTerm =
    "trap 'exit 0' TERM; touch begun; while :; do sleep 0.01; done";

TEST_F(SupervisorTest, CancelledStepIsNotDoneEvenWithExitStatusZero) {
  worker_->Send(Pack(Shell(kExitsWithZeroOnTerm)));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kEnd));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

TEST_F(SupervisorTest, StepOutOfTimeIsNotDoneEvenWithExitStatusZero) {
  auto request = Shell(kExitsWithZeroOnTerm);
  request.time_limit = 100'000'000;
  EXPECT_EQ(Run(request).outcome, Outcome::kTimeLimit);
}

TEST_F(SupervisorTest, CancelledStepIsDoneIfItsLastCycleProvesIt) {
  for (const std::uint64_t cycles : {2u, 3u}) {
    auto request = Shell("echo 'reveza step 2'; " + std::string(kExitsWithZeroOnTerm));
    request.cycles = cycles;
    std::filesystem::remove(folder_.path() / "begun");
    worker_->Send(Pack(request));
    AwaitFile("begun");
    worker_->Send(PackFrame(FrameKind::kEnd));
    EXPECT_EQ(AwaitResult().outcome, cycles == 2 ? Outcome::kSuccess : Outcome::kCancelled);
  }
}

// The supervisor does not see SIGCHLD while it is stopped, and then reads the request to end first
// or second.
TEST_F(SupervisorTest, StepThatEndedByItselfBeforeItIsCancelledIsDone) {
  worker_->Send(Pack(Shell("touch begun; until [ -e go ]; do sleep 0.01; done")));
  AwaitFile("begun");
  const pid_t step = AwaitPid();
  kill(worker_->pid(), SIGSTOP);
  std::ofstream(folder_.path() / "go");
  ASSERT_TRUE(AwaitZombie(step));
  worker_->Send(PackFrame(FrameKind::kEnd));
  kill(worker_->pid(), SIGCONT);
  EXPECT_EQ(AwaitResult().outcome, Outcome::kSuccess);
}

// A supervisor reads what has come while it is stopped as if it had come at once: the exit of the
// step, its own SIGTERM, the request to end.
TEST_F(SupervisorTest, StepThatEndedBecauseEverybodyGotSigtermIsNotDone) {
  worker_->Send(Pack(Shell(kExitsWithZeroOnTerm)));
  AwaitFile("begun");
  const pid_t step = AwaitPid();
  kill(worker_->pid(), SIGSTOP);
  kill(step, SIGTERM);
  ASSERT_TRUE(AwaitZombie(step));
  kill(worker_->pid(), SIGTERM);
  worker_->Send(PackFrame(FrameKind::kEnd));
  kill(worker_->pid(), SIGCONT);
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

// The step gets its SIGTERM first and has exited before its supervisor gets another. A machine that
// stops this test in between makes it try again.
TEST_F(SupervisorTest, SigtermAfterTheStepHasExitedExplainsTheExit) {
  for (const std::string what : {"trap 'exit 0' TERM", "trap 'exit 3' TERM", "trap - TERM"}) {
    bool on_time = false;
    for (int i = 0; i < 20 && !on_time; ++i) {
      worker_->Send(Pack(Shell(what + "\nsleep 2; while :; do sleep 0.01; done")));
      const pid_t step = AwaitPid();
      std::this_thread::sleep_for(2100ms);
      const auto sent = std::chrono::steady_clock::now();
      kill(step, SIGTERM);
      if (!AwaitGone(step)) continue;
      kill(worker_->pid(), SIGTERM);
      on_time = std::chrono::steady_clock::now() - sent < 50ms;
      const Outcome outcome = AwaitResult().outcome;
      if (on_time) {
        EXPECT_EQ(outcome, Outcome::kCancelled) << what;
      }
    }
  }
}

TEST_F(SupervisorTest, SigtermOfTheSupervisorEndsItsStep) {
  worker_->Send(Pack(Shell("echo $$ > begun; exec sleep 600")));
  AwaitFile("begun");
  kill(worker_->pid(), SIGTERM);
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
  // It goes on, with what it did not end.
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(Run(Shell("true")).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, StepThatStartsAfterTheSigtermMayHaveGotItToo) {
  EXPECT_EQ(Run(Shell("true")).outcome, Outcome::kSuccess);
  for (int i = 0; i < 20; ++i) {
    const auto sent = std::chrono::steady_clock::now();
    kill(worker_->pid(), SIGTERM);
    const Outcome outcome = Run(Shell("true")).outcome;
    if (std::chrono::steady_clock::now() - sent > 80ms) continue;
    EXPECT_EQ(outcome, Outcome::kCancelled);
    return;
  }
}

TEST_F(SupervisorTest, StepGetsSigtermOnce) {
  worker_->Send(
      Pack(Shell("trap 'echo got' TERM; touch begun; until [ -e go ]; do sleep 0.01; done")));
  AwaitFile("begun");
  for (int i = 0; i < 2; ++i) {
    kill(worker_->pid(), SIGTERM);
    worker_->Send(PackFrame(FrameKind::kEnd));
    std::this_thread::sleep_for(100ms);
  }
  std::ofstream(folder_.path() / "go");
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
  EXPECT_EQ(Text("out"), "got\n");
}

TEST_F(SupervisorTest, KillsLeftoverProcesses) {
  const auto result =
      Run(Shell("setsid sh -c 'echo $$ > left; exec sleep 600' & "
                "while [ ! -s left ]; do sleep 0.01; done"));
  EXPECT_EQ(result.outcome, Outcome::kSuccess);
  const int left = std::stoi(Text("left"));
  EXPECT_NE(kill(left, 0), 0);
}

TEST_F(SupervisorTest, KillsStubbornAndDetachedProcesses) {
  auto request = Shell(
      "trap '' TERM; setsid sh -c \"trap '' TERM; echo \\$\\$ > new; mv new other; exec sleep "
      "600\" & "
      "while [ ! -e other ]; do sleep 0.01; done; sleep 600 & sleep 600");
  request.grace = 200'000'000;
  worker_->Send(Pack(request));
  AwaitFile("other");
  worker_->Send(PackFrame(FrameKind::kEnd));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
  const auto other = static_cast<pid_t>(std::stoi(Text("other")));
  EXPECT_NE(kill(other, 0), 0) << "it lives on";
}

// The output passes through the supervisor, which scans it for cycles.
TEST_F(SupervisorTest, LargeOutputIsNotBuffered) {
  auto request = Shell("head -c 1073741824 /dev/zero; echo; echo reveza step 1");
  request.output = "/dev/null";
  request.cycles = 1;
  EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
  std::ifstream status("/proc/" + std::to_string(worker_->pid()) + "/status");
  std::uint64_t peak = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> peak;
  }
  EXPECT_GT(peak, 0u);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_LT(peak, 16'384u) << "KiB";
#endif
}

TEST_F(SupervisorTest, PausesDetachedProcesses) {
  worker_->Send(
      Pack(Shell("setsid sh -c 'echo $$ > left; exec sleep 600' & "
                 "while [ ! -s left ]; do sleep 0.01; done; touch begun; wait")));
  AwaitFile("begun");
  const int left = std::stoi(Text("left"));
  worker_->Send(PackFrame(FrameKind::kPause));
  char state = '?';
  for (int i = 0; i < 6000 && state != 'T'; ++i) {
    std::ifstream stat("/proc/" + std::to_string(left) + "/stat");
    std::string pid, name;
    stat >> pid >> name >> state;
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(state, 'T');
  worker_->Send(PackFrame(FrameKind::kKill));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

}  // namespace worker_ends_test
}  // namespace reveza::jobs
