// Steps that exceed their memory limit, in real control groups if available.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/platform/cgroup.h"
#include "common/platform/unix_socket.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_limits_test {

using EngineLimitsTest = EngineTest;

// Takes {n} x 16 MiB and keeps them until it is ended.
constexpr const char* kTakeMemory =
    "exec python3 -c 'import time; b = b\"x\" * ({n} * 16777216); print(len(b)); "
    "open(\"took\", \"w\").write(str({n}))'";

TEST_F(EngineLimitsTest, StepOverLimitIsKilledAndRetriedWithMore) {
  const auto ground = platform::FindCgroupDelegation();
  if (!ground) GTEST_SKIP() << "no control groups here: " << ground.error().message;
  Job job = Shell(kTakeMemory, 1);
  job.steps[0].parameters = {{"n", "6"}};  // 96 MiB and Python
  job.commands[0].claim.memory = 32 * kMiB;
  RunRequest request = Workers(1);
  request.limits = Limits::kCgroup;
  request.memory_reserve = kMiB;
  std::vector<Outcome> outcomes;
  listener_.on_end = [&](const AttemptResult& result) { outcomes.push_back(result.outcome); };
  const auto summary = Run(job, request);
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(outcomes, (std::vector{Outcome::kMemory, Outcome::kSuccess}));
  EXPECT_EQ(Text("took"), "6");
  std::string group = Text("jobs/test/control-group");
  ASSERT_TRUE(group.ends_with('\n'));
  group.pop_back();
  EXPECT_FALSE(std::filesystem::exists(group)) << "all groups are removed";
}

TEST_F(EngineLimitsTest, OomKillElsewhereIsIgnoredWithOwnGroup) {
  const auto ground = platform::FindCgroupDelegation();
  if (!ground) GTEST_SKIP() << "no control groups here: " << ground.error().message;
  // The first is OOM-killed while the second waits for it and then kills itself.
  Job job = Shell(
      "touch begun-{n}; while [ ! -e begun-1 ] || [ ! -e begun-2 ]; do sleep 0.01; done; "
      "if [ {n} = 2 ]; then while [ ! -e killed ]; do sleep 0.01; done; kill -9 $$; fi; "
      "[ -e killed ] || exec python3 -c 'b = b\"x\" * (96 << 20)'",
      2);
  job.commands[0].claim.memory = 32 * kMiB;
  RunRequest request = Workers(2);
  request.limits = Limits::kCgroup;
  request.memory_reserve = kMiB;
  listener_.on_end = [&](const AttemptResult& result) {
    if (result.outcome == Outcome::kMemory) std::ofstream(folder_ / "killed");
  };
  EXPECT_EQ(Run(job, request).counts.failed, 1u);
  EXPECT_EQ(listener_.outcomes["n=1"], Outcome::kSuccess);
  EXPECT_EQ(listener_.outcomes["n=2"], Outcome::kSignal);
}

TEST_F(EngineLimitsTest, LearnedLimitIsDroppedOnLastAttempt) {
  const auto ground = platform::FindCgroupDelegation();
  if (!ground) GTEST_SKIP() << "no control groups here: " << ground.error().message;
  // The first step teaches the need of its command. The second logs its limit in each attempt,
  // lowers it to 8 MiB and allocates more, four times.
  const std::string limit = ground->version == 1 ? "memory.limit_in_bytes" : "memory.max";
  Job job = Shell(
      "[ {n} = 1 ] && exec sleep 0.2; file=$(echo $(cat jobs/test/control-group)/step-*/" + limit +
          "); cat $file >> limits; [ $(wc -l < limits) = 4 ] && exit; echo 8388608 > $file; "
          "exec python3 -c 'b = b\"x\" * (32 << 20)'",
      2);
  RunRequest request = Workers(1);
  request.limits = Limits::kCgroup;
  request.memory_reserve = kMiB;
  EXPECT_EQ(Run(job, request).counts.failed, 0u);
  EXPECT_EQ(listener_.outcomes["n=2"], Outcome::kSuccess);
  std::vector<double> limits;
  std::istringstream text(Text("limits"));
  for (std::string line; std::getline(text, line);) {
    limits.push_back(line == "max" ? 1e18 : std::stod(line));
  }
  ASSERT_EQ(limits.size(), 4u);
  EXPECT_LT(limits[2], 1e10);
  EXPECT_GT(limits[3], 1e15) << "none on the last attempt";
}

TEST_F(EngineLimitsTest, StepWithoutGroupIsWatched) {
  const auto ground = platform::FindCgroupDelegation();
  if (!ground) GTEST_SKIP() << "no control groups here: " << ground.error().message;
  // The first finishes at once, so the second gets no group.
  Job job = Shell(
      "[ {n} = 1 ] || [ -e seen ] || exec python3 -c 'import time; b = b\"x\" * (96 << 20); "
      "time.sleep(60)'",
      2);
  RunRequest request = Workers(1);
  request.limits = Limits::kCgroup;
  request.memory_reserve = kMiB;
  std::vector<Outcome> outcomes;
  listener_.on_end = [&](const AttemptResult& result) {
    outcomes.push_back(result.outcome);
    if (outcomes.size() == 2) std::ofstream(folder_ / "seen");
  };
  Hurry();
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kDone);
  EXPECT_EQ(outcomes, (std::vector{Outcome::kSuccess, Outcome::kMemory, Outcome::kSuccess}));
}

// A fake systemd-run that logs its arguments.
class ScopeTest : public EngineTest {
 protected:
  ScopeTest() : path_(getenv("PATH")) {
    std::filesystem::create_directories(folder_ / "systemd");
    manager_ = platform::ListenAt(folder_ / "systemd/private", std::nullopt, SOCK_STREAM);
    EXPECT_TRUE(manager_) << manager_.error().message;
    setenv("PATH", ((folder_ / "bin").string() + ":" + path_).c_str(), 1);
    prepare_ = [this](EngineParts& parts) { parts.root = folder_ / "machine"; };
  }
  ~ScopeTest() override { setenv("PATH", path_.c_str(), 1); }

  // `first`: a shell line with the fake's own arguments in $1 and so on, and the folder that a
  // manager would create in $group.
  void WriteSystemdRun(const std::string& first) const {
    const std::string user = std::to_string(geteuid());
    folder_.Write("bin/systemd-run",
                  "#!/bin/sh\nfor word; do case $word in --slice=*) slice=${word#*=};; "
                  "--unit=*) unit=${word#*=};; esac; done\ngroup=" +
                      (folder_ / "machine/sys/fs/cgroup/user.slice/user-").string() + user +
                      ".slice/user@" + user + ".service/$slice/$unit\n" + first +
                      "\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n");
    chmod((folder_ / "bin/systemd-run").c_str(), 0755);
  }
  static RunRequest Request() {
    RunRequest request = Workers(1);
    request.limits = Limits::kSystemd;
    request.memory_reserve = kMiB;
    return request;
  }

 private:
  std::string path_;
  Result<UniqueFd> manager_ = Fail(Error::Code::kUnavailable, "");
};

TEST_F(ScopeTest, WrapsStepWithLimit) {
  WriteSystemdRun("echo \"$@\" > scope");
  Job job = Shell("echo {n} >> ran; exit 3", 1);
  job.commands[0].claim.memory = 100 * kMiB;
  EXPECT_EQ(Run(job, Request()).counts.failed, 1u);
  EXPECT_EQ(Text("ran"), "1\n");
  const std::string scope = Text("scope");
  EXPECT_TRUE(
      scope.starts_with("--user --scope --quiet --collect --slice=reveza.slice --unit=reveza-"))
      << scope;
  EXPECT_NE(scope.find("-1.scope --property=MemoryMax=138412032 "), std::string::npos) << scope;
  EXPECT_NE(scope.find("MemorySwapMax=0 "), std::string::npos) << scope;
  EXPECT_EQ(listener_.notes.front(), "limits: a systemd scope per step");
}

TEST_F(ScopeTest, ScopeCountersIdentifyOomKills) {
  WriteSystemdRun("mkdir -p $group; cp events $group/memory.events");
  folder_.Write("events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n");
  // The machine's counter includes kills of other processes.
  folder_.Write("machine/proc/vmstat", "oom_kill 0\n");
  Job job = Shell(
      "echo {n} >> ran; [ $(wc -l < ran) = 3 ] && exit; echo oom_kill $(wc -l < ran) > "
      "machine/proc/vmstat; kill -9 $$",
      1);
  job.commands[0].claim.memory = 100 * kMiB;
  std::vector<Outcome> outcomes;
  listener_.on_end = [&](const AttemptResult& result) {
    outcomes.push_back(result.outcome);
    if (outcomes.size() > 1) return;
    EXPECT_NE(listener_.explanations["n=1"].find("132 MiB in its control group"), std::string::npos)
        << listener_.explanations["n=1"];
    folder_.Write("events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
  };
  RunRequest request = Request();
  request.retries = 1;
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kDone);
  EXPECT_EQ(outcomes, (std::vector{Outcome::kMemory, Outcome::kSignal, Outcome::kSuccess}));
}

TEST_F(EngineLimitsTest, RunnerWatchesLimitWithoutKernelSupport) {
  const std::string hold =
      "python3 -c 'import time; b = b\"x\" * (96 << 20); "
      "time.sleep(0 if __import__(\"os\").path.exists(\"seen\") else 60)'";
  Job job = Shell("[ {n} ] && " + hold, 1);
  job.commands[0].claim.memory = 16 * kMiB;
  RunRequest request = Workers(1);
  request.limits = Limits::kWatch;
  request.memory_reserve = kMiB;
  std::vector<Outcome> outcomes;
  listener_.on_end = [&](const AttemptResult& result) {
    outcomes.push_back(result.outcome);
    std::ofstream(folder_ / "seen");
  };
  Hurry();
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kDone);
  EXPECT_EQ(outcomes, (std::vector{Outcome::kMemory, Outcome::kSuccess}));
}

// As in a pod whose control group counts processes one by one.
TEST_F(EngineLimitsTest, OomKillOfAShellsCommandIsRetried) {
  folder_.Write("machine/proc/vmstat", "oom_kill 0\n");
  prepare_ = [this](EngineParts& parts) { parts.root = folder_ / "machine"; };
  RunRequest request = Workers(1);
  request.limits = Limits::kNone;
  std::vector<Outcome> outcomes;
  listener_.on_end = [&](const AttemptResult& result) { outcomes.push_back(result.outcome); };
  Hurry();
  const Job job = Shell(
      "echo {n} >> ran; [ $(wc -l < ran) = 2 ] && exit; "
      "echo oom_kill 1 > machine/proc/vmstat; sh -c 'kill -9 $$'; exit $?",
      1);
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kDone);
  EXPECT_EQ(outcomes, (std::vector{Outcome::kMemory, Outcome::kSuccess}));
}

}  // namespace engine_limits_test
}  // namespace reveza::jobs
