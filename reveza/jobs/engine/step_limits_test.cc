#include "reveza/jobs/engine/step_limits.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "common/platform/testing_directory.h"
#include "common/platform/text_file.h"
#include "common/platform/unix_socket.h"

namespace reveza::jobs {
namespace step_limits_test {

namespace fs = std::filesystem;
using platform::TestingDirectory;

struct StepLimitsTest : testing::Test {
  StepLimitsTest() {
    variables_["PATH"] = folder_.path() / "bin";
    variables_["XDG_RUNTIME_DIR"] = folder_.path();
  }
  platform::Environment Environment() const {
    return [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
  }
  Result<LimitsChoice> Choose(Limits wish) const {
    return ChooseLimits(wish, Environment(), folder_ / "machine");
  }
  // A program in PATH and a manager that answers.
  UniqueFd MakeSystemd() const {
    folder_.Write("bin/systemd-run", "#!/bin/sh\n");
    chmod((folder_ / "bin/systemd-run").c_str(), 0755);
    fs::create_directories(folder_ / "systemd");
    auto manager = platform::ListenAt(folder_ / "systemd/private", std::nullopt, SOCK_STREAM);
    EXPECT_TRUE(manager);
    return manager ? std::move(*manager) : UniqueFd();
  }
  void MakeGroups() const {
    folder_.Write("machine/proc/self/cgroup", "4:memory:/job\n");
    folder_.Write("machine/sys/fs/cgroup/memory/job/cgroup.procs", "1\n");
    folder_.Write("machine/sys/fs/cgroup/memory/job/memory.use_hierarchy", "1\n");
  }

  TestingDirectory folder_;
  std::map<std::string, std::string, std::less<>> variables_;
};

TEST_F(StepLimitsTest, PrefersCgroupThenSystemdThenWatch) {
  auto choice = Choose(Limits::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->by, Limits::kWatch);
  EXPECT_EQ(choice->description,
            "watched once a second (no control groups: none are mounted; no systemd-run)");
  const UniqueFd manager = MakeSystemd();
  choice = Choose(Limits::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->by, Limits::kSystemd);
  EXPECT_EQ(choice->systemd_run, folder_ / "bin/systemd-run");
  MakeGroups();
  choice = Choose(Limits::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->by, Limits::kCgroup);
  EXPECT_TRUE(choice->description.starts_with("control groups (version 1) in /"))
      << choice->description;
}

TEST_F(StepLimitsTest, UnavailableMethodIsRefused) {
  for (const auto wish : {Limits::kCgroup, Limits::kSystemd}) {
    const auto choice = Choose(wish);
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().code, Error::Code::kInvalidArgument);
    EXPECT_NE(choice.error().message.find("--limits auto"), std::string::npos);
  }
  EXPECT_EQ(Choose(Limits::kWatch)->by, Limits::kWatch);
  EXPECT_EQ(Choose(Limits::kNone)->by, Limits::kNone);
}

TEST_F(StepLimitsTest, UnusableUserManagerIsIgnored) {
  {
    const UniqueFd gone = MakeSystemd();
  }
  auto choice = Choose(Limits::kSystemd);
  ASSERT_FALSE(choice);
  EXPECT_NE(choice.error().message.find("does not answer"), std::string::npos);
  fs::remove(folder_ / "systemd/private");
  const UniqueFd manager = MakeSystemd();
  const std::string user = std::to_string(geteuid());
  folder_.Write("machine/sys/fs/cgroup/user.slice/user-" + user + ".slice/user@" + user +
                    ".service/cgroup.controllers",
                "cpu pids\n");
  choice = Choose(Limits::kSystemd);
  ASSERT_FALSE(choice);
  EXPECT_NE(choice.error().message.find("no memory controller"), std::string::npos);
}

TEST_F(StepLimitsTest, RemovesGroupsOfKilledRunner) {
  const auto folder = JobFolder::Create(folder_ / "state", "sweep");
  ASSERT_TRUE(folder);
  const fs::path left = folder_ / "group/reveza-sweep-0";
  fs::create_directories(left / "step-7-1");
  fs::create_directories(left / "step-8-1/alive");  // like a non-empty group
  std::ofstream(folder->path() / "control-group") << left.string() << '\n';
  RemoveStaleGroups(*folder);
  EXPECT_FALSE(fs::exists(left / "step-7-1"));
  EXPECT_TRUE(fs::exists(left / "step-8-1"));
  fs::remove(left / "step-8-1/alive");
  RemoveStaleGroups(*folder);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(folder->path() / "control-group"));
}

TEST_F(StepLimitsTest, RemovesEmptyGroupsOfSeveralRunners) {
  const auto folder = JobFolder::Create(folder_ / "state", "sweep");
  ASSERT_TRUE(folder);
  const fs::path alive = folder_ / "one/reveza-sweep-0";
  const fs::path dead = folder_ / "two/reveza-sweep-0";
  const fs::path leaf = folder_ / "two/reveza-runner-7";
  for (const auto& one : {alive / "step-1-1/alive", dead / "step-2-1", leaf}) {
    fs::create_directories(one);
  }
  folder_.Write("two/cgroup.subtree_control", "memory");
  std::ofstream(folder->path() / "control-group")
      << alive.string() << '\n'
      << dead.string() << "\nleaf " << leaf.string() << '\n';
  RemoveStaleGroups(*folder);
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_FALSE(fs::exists(leaf));
  EXPECT_EQ(platform::ReadText(folder_ / "two/cgroup.subtree_control"), "-memory");
  EXPECT_EQ(platform::ReadText(folder->path() / "control-group"), alive.string() + "\n")
      << "for the next";
}

TEST_F(StepLimitsTest, KeepsControllerForOtherGroups) {
  fs::create_directories(folder_ / "two/reveza-runner-7");
  fs::create_directories(folder_ / "two/others");
  folder_.Write("two/cgroup.subtree_control", "memory");
  EXPECT_TRUE(RemoveLeaf(folder_ / "two/reveza-runner-7"));
  EXPECT_EQ(platform::ReadText(folder_ / "two/cgroup.subtree_control"), "memory");
  EXPECT_FALSE(RemoveLeaf(folder_ / "two/others")) << "not ours";
}

TEST_F(StepLimitsTest, WaitsForLauncher) {
  const std::string group = "machine/sys/fs/cgroup/job/";
  folder_.Write("machine/proc/self/cgroup", "0::/job\n");
  for (const char* file : {"cgroup.type", "cgroup.subtree_control"})
    folder_.Write(group + file, "");
  folder_.Write("machine/sys/fs/cgroup/cgroup.controllers", "memory\n");
  folder_.Write(group + "cgroup.controllers", "memory\n");
  const std::string self = std::to_string(getpid()) + "\n";
  folder_.Write(group + "cgroup.procs", "1\n" + self);
  int asked = 0;
  const auto wait = [&] {
    if (++asked == 2) folder_.Write(group + "cgroup.procs", self);
    return asked < 9;
  };
  EXPECT_FALSE(Choose(Limits::kCgroup)) << "without wait";
  const auto choice = ChooseLimits(Limits::kCgroup, Environment(), folder_ / "machine", wait);
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_TRUE(choice->ground->must_leave);
  EXPECT_EQ(asked, 2);
  folder_.Write(group + "cgroup.procs", "1\n" + self);
  EXPECT_FALSE(ChooseLimits(Limits::kCgroup, Environment(), folder_ / "machine", wait));
  EXPECT_EQ(asked, 9) << "bounded";
}

TEST_F(StepLimitsTest, RemovesOnlyOwnGroups) {
  const auto folder = JobFolder::Create(folder_ / "state", "sweep");
  ASSERT_TRUE(folder);
  fs::create_directories(folder_ / "user.slice/step-1-1");
  std::ofstream(folder->path() / "control-group") << (folder_ / "user.slice").string() << '\n';
  RemoveStaleGroups(*folder);
  EXPECT_TRUE(fs::exists(folder_ / "user.slice/step-1-1"));
}

TEST_F(StepLimitsTest, GroupIsRemovedWithRunner) {
  fs::path group;
  {
    fs::create_directories(folder_ / "ground");
    const auto made = JobGroup::Make({1, folder_ / "ground", false, false}, "reveza-a");
    ASSERT_TRUE(made) << made.error().message;
    group = made->folder();
    EXPECT_TRUE(fs::is_directory(group));
    AttemptName name{.identity = {0x0a, 0xff}, .attempt = 2};
    EXPECT_EQ(made->ForStep(name), group / "step-0aff000000000000-2");
    fs::create_directory(made->ForStep(name));
    name.identity[7] = 1;
    EXPECT_EQ(made->ForStep(name), group / "step-0aff000000000001-2")
        << "another step, whatever its place in the list";
  }
  EXPECT_FALSE(fs::exists(group));
  EXPECT_FALSE(JobGroup::Make({1, folder_ / "nowhere", false, false}, "reveza-a"));
}

}  // namespace step_limits_test
}  // namespace reveza::jobs
