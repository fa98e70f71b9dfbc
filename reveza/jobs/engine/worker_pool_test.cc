// The supervisor process: starting, recording and reporting steps.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/platform/process_limits.h"
#include "reveza/jobs/engine/testing_worker.h"

namespace reveza::jobs {
namespace worker_pool_test {

using namespace std::chrono_literals;

TEST_F(SupervisorTest, FailedStepReportsLimitsAndGroup) {
  folder_.Write("scope/memory.events", "max 3\noom 1\noom_kill 1\n");
  StartRequest request = Shell("ulimit -v 4194304; exit 3");
  request.group.scope = folder_.path() / "scope";
  worker_->Send(Pack(request));
  const auto limits = Await(FrameKind::kLimits);
  ASSERT_TRUE(limits);
  EXPECT_EQ(platform::ParseProcessLimits(limits->body).address_space.soft, 4 * kGiB);
  const auto group = Await(FrameKind::kGroup);
  ASSERT_TRUE(group);
  EXPECT_EQ(Unpack<GroupStats>(group->body), (GroupStats{1, std::nullopt, true}));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kMemory);
}

TEST_F(SupervisorTest, SuccessfulStepReportsNeither) {
  folder_.Write("scope/memory.events", "max 3\noom 1\noom_kill 1\n");
  StartRequest request = Shell("true");
  request.group.scope = folder_.path() / "scope";
  worker_->Send(Pack(request));
  EXPECT_EQ(AwaitAny()->kind, FrameKind::kStarted);
  EXPECT_EQ(AwaitAny()->kind, FrameKind::kResult);
}

TEST_F(SupervisorTest, RecordsResultBeforeReporting) {
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

TEST_F(SupervisorTest, SetsCpuAffinity) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "there is only one core";
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    auto request = Shell("sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status");
    request.processors = {core};
    EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
    EXPECT_EQ(Text("out"), std::to_string(core) + "\n");
    if (core > 0) break;
  }
}

TEST_F(SupervisorTest, DistinguishesFailures) {
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
  // It is still usable.
  EXPECT_EQ(Run(Shell("true")).outcome, Outcome::kSuccess);
}

// The step itself is fine and can start later.
TEST_F(SupervisorTest, ResourceExhaustionIsNotAFailure) {
  // With an output, so that the next step needs files of its own.
  EXPECT_EQ(Run(Shell("echo; echo >&2")).outcome, Outcome::kSuccess);
  rlimit before{};
  ASSERT_EQ(prlimit(worker_->pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(prlimit(worker_->pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  const auto result = Run(Shell("true"));
  EXPECT_EQ(result.outcome, Outcome::kCancelled);
  EXPECT_EQ(result.code, EMFILE);
  EXPECT_EQ(result.pid, 0);
  ASSERT_EQ(prlimit(worker_->pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_EQ(Run(Shell("true")).outcome, Outcome::kSuccess);
}

// Without a descriptor it cannot list its descendants, but knows that there are some.
TEST_F(SupervisorTest, ReapsLeftoversWithoutDescriptors) {
  worker_->Send(Pack(
      Shell("trap '' TERM; (trap '' TERM; while [ ! -e go ]; do sleep 0.01; done; touch late) & "
            "touch begun; while [ ! -e on ]; do sleep 0.01; done")));
  AwaitFile("begun");
  rlimit before{};
  ASSERT_EQ(prlimit(worker_->pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(prlimit(worker_->pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  std::ofstream(folder_.path() / "on");
  std::thread later([&] {
    std::this_thread::sleep_for(500ms);
    std::ofstream(folder_.path() / "go");
  });
  EXPECT_EQ(AwaitResult().outcome, Outcome::kSuccess);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "late")) << "every process is dead";
  later.join();
}

TEST_F(SupervisorTest, IgnoresGroupThatStepDidNotEnter) {
  // A plain folder can be created like a cgroup, but not entered.
  const auto group = folder_.path() / "group";
  std::filesystem::create_directories(group);
  std::ofstream(group / "memory.events") << "oom_kill 5\n";
  std::ofstream(group / "memory.peak") << "0\n";
  StartRequest request = Shell("exit 3");
  request.group = {group, 2, 0};
  worker_->Send(Pack(request));
  ASSERT_TRUE(Await(FrameKind::kNoGroup));
  bool read = false;
  std::optional<AttemptResult> result;
  while (!result) {
    const auto frame = AwaitAny();
    ASSERT_TRUE(frame);
    read = read || frame->kind == FrameKind::kGroup;
    if (frame->kind == FrameKind::kResult) result = Unpack<AttemptResult>(frame->body);
  }
  EXPECT_FALSE(read);
  EXPECT_EQ(result->outcome, Outcome::kFailure) << "not OOM-killed";
}

TEST_F(SupervisorTest, RemovesEmptyOutputs) {
  Run(Shell("true"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "err"));
}

TEST_F(SupervisorTest, ResetsSignalsAndStdin) {
  auto request = Shell("read line; echo \"<$line>\"; kill -TERM $$");
  const auto result = Run(request);
  // Standard input is empty and SIGTERM has its default action.
  EXPECT_EQ(Text("out"), "<>\n");
  EXPECT_EQ(result.outcome, Outcome::kSignal);
  EXPECT_EQ(result.code, SIGTERM);
}

// Also signals that the runner, or a shell before it, ignores.
TEST_F(SupervisorTest, StepsHaveNoSignalIgnoredOrBlocked) {
  constexpr int kIgnored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (const int signal : kIgnored) ::signal(signal, SIG_IGN);
  auto other = Worker::Start(REVEZA_SUPERVISOR, folder_.path() / "other");
  for (const int signal : kIgnored) ::signal(signal, SIG_DFL);
  ASSERT_TRUE(other);
  std::swap(*worker_, *other);
  EXPECT_EQ(Run(Shell("exec sed -n 's/^Sig[BI][lg][kn]:.//p' /proc/self/status")).outcome,
            Outcome::kSuccess);
  std::uint64_t ours = std::uint64_t{1} << (SIGCHLD - 1);
  for (const int signal : kIgnored) ours |= std::uint64_t{1} << (signal - 1);
  std::istringstream masks(Text("out"));
  std::uint64_t blocked = ~std::uint64_t{0};
  std::uint64_t ignored = blocked;
  masks >> std::hex >> blocked >> ignored;
  EXPECT_EQ(blocked & ours, 0u) << Text("out");
  EXPECT_EQ(ignored & ours, 0u) << Text("out");
  kill(other->pid(), SIGKILL);
  waitpid(other->pid(), nullptr, 0);
}

TEST_F(SupervisorTest, SurvivesSignalsOfTheTerminal) {
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT}) kill(worker_->pid(), signal);
  EXPECT_EQ(Run(Shell("true")).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, StepsInheritUntilToldOtherwise) {
  worker_->Send(Pack(InheritedEnvironment{{"PATH=/usr/bin:/bin", "A=inherited", "B=1"}}));
  auto request = Shell("echo $A $B $C");
  request.environment = {"C=own"};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
    EXPECT_EQ(Text("out"), "inherited 1 own\n");
  }
  worker_->Send(Pack(InheritedEnvironment{{"PATH=/usr/bin:/bin", "A=other"}}));
  EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
  EXPECT_EQ(Text("out"), "other own\n");
}

// It is remembered where a program is, but not for longer than it is there.
TEST_F(SupervisorTest, SearchesAgainForAProgramThatIsGone) {
  for (const char* name : {"one", "two"}) {
    std::filesystem::create_directory(folder_.path() / name);
    const auto program = folder_.path() / name / "mine";
    std::ofstream(program) << "#!/bin/sh\necho " << name << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  auto request = Shell("");
  request.arguments = {"mine"};
  request.environment = {"PATH=one:two:/bin"};
  for (const char* name : {"one", "two"}) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
      EXPECT_EQ(Text("out"), std::string(name) + "\n");
    }
    std::filesystem::remove(folder_.path() / name / "mine");
  }
  const auto result = Run(request);
  EXPECT_EQ(result.outcome, Outcome::kNotStarted);
  EXPECT_EQ(result.code, ENOENT);
}

TEST_F(SupervisorTest, SearchesAgainForAnotherFolderOrPath) {
  for (const char* name : {"here/bin", "there/bin", "path"}) {
    std::filesystem::create_directories(folder_.path() / name);
    const auto program = folder_.path() / name / "mine";
    std::ofstream(program) << "#!/bin/sh\necho " << name << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  auto request = Shell("");
  request.arguments = {"mine"};
  for (const char* folder : {"here", "there", "here"}) {
    request.folder = folder_.path() / folder;
    request.environment = {"PATH=bin:/bin"};
    EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
    EXPECT_EQ(Text("out"), std::string(folder) + "/bin\n");
  }
  request.environment = {"PATH=" + (folder_.path() / "path").string() + ":/bin"};
  EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
  EXPECT_EQ(Text("out"), "path\n");
}

TEST_F(SupervisorTest, SearchesPathOfStep) {
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

TEST_F(SupervisorTest, ReportsCyclesImmediately) {
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

TEST_F(SupervisorTest, EarlyEndIsPartial) {
  auto request = Shell("echo 'reveza step 1'; echo 'reveza step 2'");
  request.cycles = 3;
  EXPECT_EQ(Run(request).outcome, Outcome::kPartial);
  request.cycles = 2;
  EXPECT_EQ(Run(request).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, OutlivesRunnerUntilStepEnds) {
  worker_->Send(Pack(Shell("touch begun; while [ ! -e go ]; do sleep 0.01; done; echo late")));
  AwaitFile("begun");
  const pid_t pid = worker_->pid();
  worker_.reset();
  EXPECT_EQ(IsHeld((folder_.path() / "record").string()), true);
  std::ofstream(folder_.path() / "go");
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(IsHeld((folder_.path() / "record").string()), false);
  EXPECT_EQ(Text("out"), "late\n");
  EXPECT_EQ(std::get<AttemptResult>(TheRecord().entries.at(1)).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, ResumesStepWhenRunnerDies) {
  worker_->Send(Pack(Shell("touch begun; sleep 0.1; echo late")));
  AwaitFile("begun");
  worker_->Send(PackFrame(FrameKind::kPause));
  const pid_t pid = worker_->pid();
  worker_.reset();
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(std::get<AttemptResult>(TheRecord().entries.at(1)).outcome, Outcome::kSuccess);
}

TEST_F(SupervisorTest, RecordStaysHeldWhileStepLives) {
  worker_->Send(Pack(Shell("touch begun; while [ ! -e go ]; do sleep 0.01; done")));
  AwaitFile("begun");
  kill(worker_->pid(), SIGKILL);
  waitpid(worker_->pid(), nullptr, 0);
  worker_.reset();
  const std::string record = folder_.path() / "record";
  EXPECT_EQ(IsHeld(record), true);
  std::ofstream(folder_.path() / "go");
  for (int i = 0; i < 6000 && IsHeld(record) != false; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(IsHeld(record), false);
  EXPECT_EQ(TheRecord().entries.size(), 1u);
}

// The runner was killed after sending a start that its supervisor has not read yet: the record must
// report that start, so that no second one is made.
TEST_F(SupervisorTest, PendingStartIsAwaited) {
  const auto state = folder_.path() / "state";
  const auto folder = JobFolder::Create(state, "orphan");
  ASSERT_TRUE(folder);
  auto orphan = Worker::Start(REVEZA_SUPERVISOR, folder->NewRecord());
  ASSERT_TRUE(orphan);
  const std::string record = orphan->record();
  for (int i = 0; i < 6000 && IsHeld(record) != true; ++i) std::this_thread::sleep_for(10ms);
  const pid_t pid = orphan->pid();
  kill(pid, SIGSTOP);
  orphan->Send(Pack(Shell("while [ ! -e go ]; do sleep 0.01; done")));
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

TEST_F(SupervisorTest, RefusesSecondStep) {
  worker_->Send(Pack(Shell("exec sleep 600")));
  worker_->Send(Pack(Shell("true")));
  EXPECT_TRUE(Await(FrameKind::kRefused));
  worker_->Send(PackFrame(FrameKind::kKill));
  EXPECT_EQ(AwaitResult().outcome, Outcome::kCancelled);
}

TEST_F(SupervisorTest, ExitsOnInvalidInput) {
  const pid_t pid = worker_->pid();
  worker_->Send("\xff\xff\xff\xff\xff nonsense");
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  worker_.reset();
}

}  // namespace worker_pool_test
}  // namespace reveza::jobs
