// The supervisor as a process, and what it does with steps of all manners.
#include "runner/supervisor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "platform/testing_directory.h"
#include "runner/import_records.h"
#include "runner/record.h"
#include "runner/worker.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() : worker_(Start()) {}
  ~SupervisorTest() override {
    if (!worker_) return;
    kill(worker_->pid(), SIGKILL);
    waitpid(worker_->pid(), nullptr, 0);
  }

  std::optional<Worker> Start() {
    auto worker = Worker::Start(REVEZA_SUPERVISOR, folder_.path() / "record");
    EXPECT_TRUE(worker) << worker.error().message;
    return worker ? std::optional(std::move(*worker)) : std::nullopt;
  }

  StartRequest Shell(const std::string& line) const {
    StartRequest request;
    request.name.identity[0] = 1;
    request.name.attempt = 1;
    request.arguments = {"/bin/sh", "-c", line};
    request.environment = {"PATH=/usr/bin:/bin"};
    request.folder = folder_.path();
    request.output = folder_.path() / "out";
    request.errors = folder_.path() / "err";
    request.grace = 10'000'000'000;
    return request;
  }

  // The next frame of this kind; what comes before it is dropped.
  std::optional<Frame> Await(FrameKind kind) {
    for (const auto end = std::chrono::steady_clock::now() + 60s;
         std::chrono::steady_clock::now() < end;) {
      while (!frames_.empty()) {
        Frame frame = std::move(frames_.front());
        frames_.erase(frames_.begin());
        if (frame.kind == kind) return frame;
      }
      pollfd descriptor{worker_->descriptor(), POLLIN, 0};
      poll(&descriptor, 1, 1000);
      if (!worker_->Receive(frames_) && frames_.empty()) return std::nullopt;
    }
    return std::nullopt;
  }

  AttemptResult AwaitResult() {
    const auto frame = Await(FrameKind::kResult);
    EXPECT_TRUE(frame);
    const auto result = frame ? UnpackResult(frame->body) : std::nullopt;
    EXPECT_TRUE(result);
    return result.value_or(AttemptResult{});
  }

  AttemptResult Run(const StartRequest& request) {
    worker_->Send(PackStart(request));
    return AwaitResult();
  }

  std::string Text(const char* name) const {
    std::ifstream file(folder_.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Record TheRecord() const {
    auto record = ReadRecord((folder_.path() / "record").string());
    EXPECT_TRUE(record);
    return record.value_or(Record{});
  }

  void AwaitFile(const char* name) const {
    for (int i = 0; i < 6000 && !std::filesystem::exists(folder_.path() / name); ++i) {
      std::this_thread::sleep_for(10ms);
    }
  }

  platform::TestingDirectory folder_;
  std::vector<Frame> frames_;
  std::optional<Worker> worker_;
};

TEST_F(SupervisorTest, RunsAStepAndWritesItDownBeforeItSaysSo) {
  const auto result = Run(Shell("echo hello; echo oh >&2"));
  EXPECT_EQ(result.outcome, Outcome::kSuccess);
  EXPECT_EQ(result.output_bytes, 6u);
  EXPECT_EQ(result.error_bytes, 3u);
  EXPECT_EQ(Text("out"), "hello\n");
  EXPECT_EQ(Text("err"), "oh\n");
  EXPECT_GT(result.ended, result.began);
  const Record record = TheRecord();
  ASSERT_EQ(record.entries.size(), 2u);
  EXPECT_EQ(std::get<AttemptStarted>(record.entries[0]).name, result.name);
  EXPECT_EQ(std::get<AttemptResult>(record.entries[1]).name, result.name);
}

TEST_F(SupervisorTest, TellsFailuresApart) {
  EXPECT_EQ(Run(Shell("exit 3")).code, 3);
  EXPECT_EQ(Run(Shell("exit 3")).outcome, Outcome::kFailure);
  const auto killed = Run(Shell("kill -9 $$"));
  EXPECT_EQ(killed.outcome, Outcome::kSignal);
  EXPECT_EQ(killed.code, SIGKILL);
  auto request = Shell("");
  request.arguments = {"no-such-program-anywhere"};
  EXPECT_EQ(Run(request).outcome, Outcome::kNotStarted);
  EXPECT_EQ(Run(request).code, ENOENT);
  request.arguments = {"/etc/passwd"};
  EXPECT_EQ(Run(request).code, EACCES);
  request = Shell("true");
  request.folder = "/no/such/folder";
  EXPECT_EQ(Run(request).outcome, Outcome::kNotStarted);
  // And it is as good as before.
  EXPECT_EQ(Run(Shell("true")).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, LeavesNoFilesOfWhatPrintedNothing) {
  Run(Shell("true"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "err"));
}

TEST_F(SupervisorTest, AStepBeginsAsAtAShell) {
  auto request = Shell("read line; echo \"<$line>\"; kill -TERM $$");
  const auto result = Run(request);
  // Standard input is empty, and SIGTERM means what it always does.
  EXPECT_EQ(Text("out"), "<>\n");
  EXPECT_EQ(result.outcome, Outcome::kSignal);
  EXPECT_EQ(result.code, SIGTERM);
}

TEST_F(SupervisorTest, FindsProgramsInThePathOfTheStep) {
  std::filesystem::create_directory(folder_.path() / "bin");
  const auto program = folder_.path() / "bin" / "mine";
  std::ofstream(program) << "#!/bin/sh\necho mine\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  auto request = Shell("");
  request.arguments = {"mine"};
  request.environment = {"PATH=bin:/bin"};
  EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
  EXPECT_EQ(Text("out"), "mine\n");
}

TEST_F(SupervisorTest, EndsWhatRunsTooLong) {
  auto request = Shell("trap '' TERM; while :; do sleep 1; done");
  request.time_limit = 50'000'000;
  request.grace = 50'000'000;
  const auto result = Run(request);
  EXPECT_EQ(result.outcome, Outcome::kTimeLimit);
  EXPECT_EQ(TheRecord().entries.size(), 2u);
}

TEST_F(SupervisorTest, PausedTimeDoesNotCount) {
  auto request = Shell("touch begun; while [ ! -e go ]; do sleep 0.01; done");
  request.time_limit = 20'000'000'000;
  worker_->Send(PackStart(request));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kPause));
  std::this_thread::sleep_for(200ms);
  worker_->Send(PackFrame(FrameKind::kContinue));
  std::ofstream(folder_.path() / "go");
  const auto result = AwaitResult();
  EXPECT_EQ(result.outcome, Outcome::kSuccess);
  EXPECT_GE(result.paused, 150'000'000);
}

TEST_F(SupervisorTest, EndsOnRequestAndSaysSo) {
  worker_->Send(PackStart(Shell("touch begun; exec sleep 600")));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kEnd));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

TEST_F(SupervisorTest, WhatStandsStillCanBeEnded) {
  worker_->Send(PackStart(Shell("touch begun; exec sleep 600")));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kPause));
  worker_->Send(PackFrame(FrameKind::kEnd));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

TEST_F(SupervisorTest, WhatWasAskedToEndAndFinishedHasFinished) {
  worker_->Send(PackStart(Shell("trap 'exit 0' TERM; touch begun; while :; do sleep 0.01; done")));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kEnd));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, EndsWhatAStepLeavesBehind) {
  const auto result =
      Run(Shell("setsid sh -c 'echo $$ > left; exec sleep 600' & "
                "while [ ! -s left ]; do sleep 0.01; done"));
  EXPECT_EQ(result.outcome, Outcome::kSuccess);
  const int left = std::stoi(Text("left"));
  EXPECT_NE(kill(left, 0), 0);
}

TEST_F(SupervisorTest, PausesWhatChangedItsProcessGroup) {
  worker_->Send(
      PackStart(Shell("setsid sh -c 'echo $$ > left; exec sleep 600' & "
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

TEST_F(SupervisorTest, SaysCyclesAsTheyCome) {
  auto request = Shell("echo before; echo 'reveza step 1 phi=0.5'; echo 'reveza step 2 phi=0.25'");
  request.cycles = 2;
  const auto result = Run(request);
  EXPECT_EQ(result.outcome, Outcome::kSuccess);
  EXPECT_EQ(Text("out"), "before\nreveza step 1 phi=0.5\nreveza step 2 phi=0.25\n");
  const Record record = TheRecord();
  ASSERT_EQ(record.entries.size(), 4u);
  EXPECT_EQ(std::get<CycleResult>(record.entries[1]).number, 1u);
  EXPECT_EQ(std::get<CycleResult>(record.entries[2]).metrics, "phi=0.25");
}

TEST_F(SupervisorTest, AnEndBeforeTheLastCycleIsAPart) {
  auto request = Shell("echo 'reveza step 1'; echo 'reveza step 2'");
  request.cycles = 3;
  EXPECT_EQ(Run(request).outcome, Outcome::kPartial);
  request.cycles = 2;
  EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, OutlivesTheRunnerUntilItsStepHasEnded) {
  worker_->Send(PackStart(Shell("touch begun; while [ ! -e go ]; do sleep 0.01; done; echo late")));
  AwaitFile("begun");
  const pid_t pid = worker_->pid();
  worker_.reset();
  EXPECT_TRUE(IsHeld((folder_.path() / "record").string()));
  std::ofstream(folder_.path() / "go");
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(IsHeld((folder_.path() / "record").string()));
  EXPECT_EQ(Text("out"), "late\n");
  EXPECT_EQ(std::get<AttemptResult>(TheRecord().entries.at(1)).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, APausedStepGoesOnWhenTheRunnerDies) {
  worker_->Send(PackStart(Shell("touch begun; sleep 0.1; echo late")));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kPause));
  const pid_t pid = worker_->pid();
  worker_.reset();
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(std::get<AttemptResult>(TheRecord().entries.at(1)).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, AKilledSupervisorLeavesAHeldRecordWhileItsStepLives) {
  worker_->Send(PackStart(Shell("touch begun; while [ ! -e go ]; do sleep 0.01; done")));
  AwaitFile("begun");
  kill(worker_->pid(), SIGKILL);
  waitpid(worker_->pid(), nullptr, 0);
  worker_.reset();
  const std::string record = folder_.path() / "record";
  EXPECT_TRUE(IsHeld(record));
  std::ofstream(folder_.path() / "go");
  for (int i = 0; i < 6000 && IsHeld(record); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(IsHeld(record));
  EXPECT_EQ(TheRecord().entries.size(), 1u);
}

// The runner was killed after it had sent a start that its supervisor has not read yet: whoever
// asks the records now hears of that start, and does not make a second one.
TEST_F(SupervisorTest, AStartOnItsWayIsWaitedFor) {
  const auto state = folder_.path() / "state";
  const auto folder = JobFolder::Make(state, "orphan");
  ASSERT_TRUE(folder);
  auto orphan = Worker::Start(REVEZA_SUPERVISOR, folder->NewRecord());
  ASSERT_TRUE(orphan);
  const std::string record = orphan->record();
  for (int i = 0; i < 6000 && !IsHeld(record); ++i) std::this_thread::sleep_for(10ms);
  const pid_t pid = orphan->pid();
  kill(pid, SIGSTOP);
  orphan->Send(PackStart(Shell("while [ ! -e go ]; do sleep 0.01; done")));
  {
    const Worker gone = std::move(*orphan);
  }
  std::thread later([pid] {
    std::this_thread::sleep_for(300ms);
    kill(pid, SIGCONT);
  });
  auto journal = Journal::Open(folder->journal());
  ASSERT_TRUE(journal);
  const auto imported = ImportRecords(*folder, *journal, Supervisors::kOrphans);
  later.join();
  std::ofstream(folder_.path() / "go");
  waitpid(pid, nullptr, 0);
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->live.size(), 1u);
  EXPECT_EQ(imported->live[0].name, Shell("").name);
}

TEST_F(SupervisorTest, RefusesASecondStepWhileOneRuns) {
  worker_->Send(PackStart(Shell("exec sleep 600")));
  worker_->Send(PackStart(Shell("true")));
  EXPECT_TRUE(Await(FrameKind::kRefused));
  worker_->Send(PackFrame(FrameKind::kKill));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

TEST_F(SupervisorTest, NonsenseEndsIt) {
  const pid_t pid = worker_->pid();
  worker_->Send("\xff\xff\xff\xff\xff nonsense");
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  worker_.reset();
}

}  // namespace
}  // namespace reveza::runner
