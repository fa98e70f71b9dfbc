#include "reveza/insight/doctor/trial.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace trial_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kProgram = REVEZA_LIMITED_PROGRAM;
const std::string kLibrary = REVEZA_LATE_LIBRARY;
// Under the sanitizers address space is taken in terabytes, and no limit on it can be met.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

Trial Try(const std::vector<std::string>& command, milliseconds limit = seconds(60)) {
  auto trial = RunTrial(command, limit);
  EXPECT_TRUE(trial) << trial.error().message;
  return trial ? std::move(*trial) : Trial{};
}

std::optional<Finding> EndOf(const Trial& trial) {
  auto findings = DiagnoseExit(trial);
  if (findings.empty()) return std::nullopt;
  return findings.front();
}

Findings Ask(const Trial& trial, Findings (*check)(const Subject&)) {
  Subject subject;
  subject.seen = trial.seen;
  return MergeFindings(check(subject));
}

TEST(Trial, SuccessYieldsNothing) {
  const Trial trial = Try({"true"});
  EXPECT_TRUE(trial.ended);
  EXPECT_EQ(trial.termination.exit_status, 0);
  EXPECT_FALSE(EndOf(trial));
}

TEST(Trial, KeepsTheLastOutput) {
  const Trial trial = Try({"sh", "-c", "seq 1 100000; echo the end >&2; exit 9"});
  const auto finding = EndOf(trial);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kCommandFailed);
  EXPECT_NE(finding->observed.find("status 9"), std::string::npos) << finding->observed;
  EXPECT_TRUE(finding->observed.ends_with("the end\n")) << finding->observed;
  EXPECT_LE(trial.termination.last_lines.size(), 4096u);
}

TEST(Trial, MissingCommandFails) {
  const auto none = RunTrial({"/no/such/program"}, seconds(1));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kNotFound);
  const auto folder = RunTrial({"/"}, seconds(1));
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Error::Code::kPermission);
}

TEST(Trial, LeavesNothingRunning) {
  const platform::TestingDirectory folder;
  const std::string file = folder / "pids";
  // One that goes away from its parent and its group, and one that does not listen to SIGTERM.
  const Trial trial = Try({"sh", "-c",
                           "setsid sleep 1000 & echo $! >" + file +
                               "; (trap '' TERM; exec sleep "
                               "1000) & echo $! >>" +
                               file + "; wait"},
                          milliseconds(4000));
  EXPECT_FALSE(trial.ended);
  EXPECT_FALSE(EndOf(trial));
  std::ifstream pids(file);
  int count = 0;
  for (pid_t pid = 0; pids >> pid; ++count) EXPECT_NE(kill(pid, 0), 0) << pid;
  EXPECT_EQ(count, 2);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST(ThreadLocalData, ReproducedByAnAddressSpaceLimit) {
  if (kSanitized) GTEST_SKIP() << "no limit on address space under sanitizers";
  const Trial trial = Try({kProgram, "address-space", kLibrary});
  const auto finding = EndOf(trial);
  ASSERT_TRUE(finding);
  EXPECT_EQ(trial.termination.exit_status, 127) << trial.termination.last_lines;
  EXPECT_EQ(finding->id, Id::kThreadLocalData) << trial.termination.last_lines;
  EXPECT_EQ(finding->confidence, Confidence::kMeasured);
  EXPECT_TRUE(finding->limit.starts_with("RLIMIT_AS")) << finding->limit;
}

TEST(ThreadLocalData, ReproducedThroughAShell) {
  if (kSanitized) GTEST_SKIP() << "no limit on address space under sanitizers";
  const Trial trial =
      Try({"sh", "-c", kProgram + " address-space " + kLibrary + "; echo gone; exit 1"});
  const auto finding = EndOf(trial);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kThreadLocalData) << trial.termination.last_lines;
  EXPECT_TRUE(finding->limit.starts_with("RLIMIT_AS")) << finding->limit;
}

TEST(ThreadLocalData, ReproducedByADataLimit) {
  if (kSanitized) GTEST_SKIP() << "no limit on memory under sanitizers";
  const Trial trial = Try({kProgram, "data", kLibrary});
  const auto finding = EndOf(trial);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kThreadLocalData) << trial.termination.last_lines;
  EXPECT_TRUE(finding->limit.starts_with("RLIMIT_DATA")) << finding->limit;
}

TEST(ThreadLocalData, ReproducedByTooManyMappings) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need mappings themselves";
  const auto limit = platform::ReadKernelLimits().max_map_count;
  if (!limit || *limit > 300'000) GTEST_SKIP() << "too many mappings are allowed to fill them";
  const Trial trial = Try({kProgram, "mappings", kLibrary});
  const auto finding = EndOf(trial);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kThreadLocalData) << trial.termination.last_lines;
  EXPECT_EQ(finding->confidence, Confidence::kMeasured);
  EXPECT_TRUE(finding->limit.starts_with("vm.max_map_count")) << finding->limit;
}

TEST(ThreadLocalData, DetectedBeforeItHappens) {
  if (kSanitized) GTEST_SKIP() << "no limit on address space under sanitizers";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(kProgram.c_str(), kProgram.c_str(), "near-address-space", kLibrary.c_str(), nullptr);
    _exit(1);
  }
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  Subject subject;
  subject.pid = pid;
  const auto found = MergeFindings(CheckAddressSpace(subject));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].severity, Severity::kFatal);
  EXPECT_NE(found[0].why.find("thread-local data"), std::string::npos);
}

TEST(NoThread, ReproducedByAProcessLimit) {
  const Trial trial = Try({kProgram, "threads", "20"});
  if (trial.termination.exit_status == 99) GTEST_SKIP() << "root may not become another user here";
  const auto finding = EndOf(trial);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kProcessLimit) << trial.termination.last_lines;
  EXPECT_EQ(finding->limit, "RLIMIT_NPROC = 20");
}

// A group below this process's own in the hierarchy of version 1, where the test may make one.
class OwnGroup {
 public:
  explicit OwnGroup(const char* controller) {
    const auto place = platform::FindCgroup(controller);
    if (!place || place->version != 1) return;
    const auto folder = place->mount / place->group / ("reveza-test-" + std::to_string(getpid()));
    std::error_code error;
    if (std::filesystem::create_directory(folder, error)) folder_ = folder;
  }
  ~OwnGroup() {
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;

  bool Set(const char* name, const std::string& value) const {
    if (folder_.empty()) return false;
    std::ofstream file(folder_ / name);
    file << value << std::flush;
    return file.good();
  }
  std::string Enter() const { return "echo $$ >" + (folder_ / "cgroup.procs").string() + " && "; }

 private:
  std::filesystem::path folder_;
};

TEST(Killed, ReproducedByAControlGroup) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const OwnGroup group("memory");
  if (!group.Set("memory.limit_in_bytes", "67108864")) GTEST_SKIP() << "no group may be made here";
  const Trial trial = Try({"sh", "-c", group.Enter() + "exec " + kProgram + " allocate 268435456"});
  const auto finding = EndOf(trial);
  ASSERT_TRUE(finding);
  EXPECT_EQ(trial.termination.signal, SIGKILL) << trial.termination.last_lines;
  EXPECT_EQ(finding->id, Id::kOutOfMemoryKill) << finding->observed;
  EXPECT_TRUE(finding->limit.starts_with("64 MiB in ")) << finding->limit;
}

TEST(NoThread, ReproducedByAControlGroup) {
  const OwnGroup group("pids");
  if (!group.Set("pids.max", "20")) GTEST_SKIP() << "no group may be made here";
  const Trial trial = Try({"sh", "-c", group.Enter() + "exec " + kProgram + " threads 100000"});
  if (trial.termination.exit_status == 99) GTEST_SKIP() << "root may not become another user here";
  const auto finding = EndOf(trial);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kCgroupPids) << finding->observed << trial.termination.last_lines;
  EXPECT_TRUE(finding->limit.starts_with("pids.max = 20 in ")) << finding->limit;
}

// The scripts that this project began with set a limit on their address space and died of it an
// hour later. A trial of a few seconds names it.
TEST(Scenario, ScriptThatLimitsItsAddressSpaceIsDiagnosed) {
  if (kSanitized) GTEST_SKIP() << "no limit on address space under sanitizers";
  const platform::TestingDirectory folder;
  folder.Write("cycles.sh", "ulimit -v 8388608\nexec " + kProgram + " load " + REVEZA_FAKE_DRIVER +
                                " 8589934592\n");
  const Trial trial = Try({"sh", folder / "cycles.sh"}, seconds(5));
  EXPECT_FALSE(trial.ended) << trial.termination.last_lines;
  const auto found = Ask(trial, CheckAddressSpace);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].severity, Severity::kFatal);
  EXPECT_NE(found[0].observed.find("the CUDA driver"), std::string::npos) << found[0].observed;
  EXPECT_NE(found[0].limit.find("8 GiB"), std::string::npos) << found[0].limit;
}

}  // namespace trial_test
}  // namespace reveza::doctor
