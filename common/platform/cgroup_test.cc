#include "common/platform/cgroup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/platform/text_file.h"

namespace reveza::platform {
namespace cgroup_test {

TEST(CountCpus, CountsRanges) {
  EXPECT_EQ(CountCpus("0-3,8\n"), 5u);
  EXPECT_EQ(CountCpus("7"), 1u);
  for (const char* wrong : {"", "\n", "a", "3-1", "1,,2", "1-"}) {
    EXPECT_FALSE(CountCpus(wrong)) << wrong;
  }
}

TEST(Cgroup, Version2UsesTheTightestAncestor) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/user.slice/job.scope\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/memory.current", "100\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/memory.events",
             "low 0\nhigh 0\nmax 5\noom 4\noom_kill 3\n");
  root.Write("sys/fs/cgroup/user.slice/memory.max", "1000\n");
  root.Write("sys/fs/cgroup/user.slice/memory.current", "700\n");
  root.Write("sys/fs/cgroup/user.slice/memory.stat", "anon 500\ninactive_file 200\n");
  root.Write("sys/fs/cgroup/user.slice/pids.max", "64\n");
  root.Write("sys/fs/cgroup/user.slice/pids.current", "60\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/pids.max", "512\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/pids.current", "9\n");
  root.Write("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  root.Write("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 1\nnr_periods 10\nnr_throttled 4\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "max 100000\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/cpuset.cpus.effective", "0-2\n");

  const auto memory = ReadCgroupMemory(0, root.path());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->limit, 1000u);
  EXPECT_EQ(memory->used, 500u) << "reclaimable page cache does not count";
  EXPECT_TRUE(memory->folder.ends_with("user.slice")) << memory->folder;
  EXPECT_EQ(ReadOutOfMemoryKills(*FindCgroup("memory", 0, root.path())), 3u);
  const auto tasks = ReadCgroupTasks(0, root.path());
  ASSERT_TRUE(tasks);
  EXPECT_EQ(tasks->limit, 64u) << "the tightest limit";
  const auto quota = ReadCgroupQuota(0, root.path());
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 1.5);
  EXPECT_EQ(quota->throttled, 4u);
  EXPECT_EQ(ReadCgroupCpus(0, root.path()), 3u);
}

TEST(Cgroup, SupportsHybridHierarchies) {
  const TestingDirectory root;
  root.Write("proc/7/cgroup",
             "4:memory:/docker/abc\n3:pids:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/x\n");
  root.Write("proc/7/mountinfo",
             "31 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
             "32 31 0:27 /docker/abc /sys/fs/cgroup/memory ro shared:9 - cgroup cgroup rw,memory\n"
             "33 31 0:28 /docker/abc /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n"
             "34 31 0:29 / /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
             "35 31 0:30 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  root.Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1024\n");
  root.Write("sys/fs/cgroup/memory/memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  root.Write("sys/fs/cgroup/pids/pids.max", "max\n");
  root.Write("sys/fs/cgroup/pids/pids.current", "3\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "50000\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");

  const auto place = FindCgroup("memory", 7, root.path());
  ASSERT_TRUE(place);
  EXPECT_EQ(place->version, 1);
  EXPECT_TRUE(place->group.empty()) << "the mount is the group itself";
  const auto memory = ReadCgroupMemory(7, root.path());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->limit, 4096u);
  EXPECT_EQ(ReadOutOfMemoryKills(*FindCgroup("memory", 7, root.path())), 2u);
  EXPECT_FALSE(ReadCgroupTasks(7, root.path())) << "max means unlimited";
  const auto quota = ReadCgroupQuota(7, root.path());
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 0.5);
  EXPECT_EQ(quota->throttled, std::nullopt);
}

TEST(Cgroup, CountsRefusedTasks) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/user/app\n");
  const auto refusals = [&] { return ReadTaskRefusals(*FindCgroup("pids", 0, root.path())); };
  EXPECT_EQ(refusals(), std::nullopt);
  root.Write("sys/fs/cgroup/user/pids.events", "max 9\n");
  root.Write("sys/fs/cgroup/user/app/pids.events", "max 2\n");
  EXPECT_EQ(refusals(), 2u) << "those of the parent are of its own processes";
  root.Write("sys/fs/cgroup/user/app/pids.events.local", "max 1\n");
  root.Write("sys/fs/cgroup/user/pids.events.local", "max 3\n");
  EXPECT_EQ(refusals(), 4u) << "own limit and that of the parent";
}

TEST(Cgroup, FallsBackToTheMountForForeignPaths) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/../../elsewhere\n");
  root.Write("proc/self/mountinfo", "35 31 0:30 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/memory.max", "77\n");
  root.Write("sys/fs/cgroup/memory.current", "7\n");
  const auto memory = ReadCgroupMemory(0, root.path());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->limit, 77u);
}

TEST(Cgroup, ReturnsNothingWithoutCgroups) {
  const TestingDirectory root;
  EXPECT_FALSE(FindCgroup("memory", 0, root.path()));
  EXPECT_FALSE(ReadCgroupMemory(0, root.path()));
  EXPECT_FALSE(ReadCgroupTasks(0, root.path()));
  EXPECT_FALSE(ReadCgroupQuota(0, root.path()));
  EXPECT_FALSE(ReadCgroupCpus(0, root.path()));
  EXPECT_FALSE(FindCgroup("memory", 0, root.path()));
}

constexpr const char* kShell = "sys/fs/cgroup/user/shell/";

// A group of version 2 with `processes` in it, delegated or not.
struct Delegated : testing::Test {
  void Make(const std::string& processes, const char* enabled = "") {
    root_.Write("proc/self/cgroup", "0::/user/shell\n");
    for (const char* group : {"sys/fs/cgroup/user/", kShell}) {
      const std::string in = group;
      root_.Write(in + "cgroup.type", "domain\n");
      root_.Write(in + "cgroup.controllers", "cpu memory pids\n");
      root_.Write(in + "cgroup.subtree_control", "");
      root_.Write(in + "cgroup.procs", "");
    }
    root_.Write(std::string(kShell) + "cgroup.procs", processes);
    root_.Write(std::string(kShell) + "cgroup.subtree_control", enabled);
  }
  std::filesystem::path Group(const char* name) const { return root_ / name; }

  TestingDirectory root_;
  const std::string self_ = std::to_string(getpid()) + "\n";
};

TEST_F(Delegated, SoleProcessMovesToALeafGroup) {
  Make(self_);
  const auto ground = FindCgroupDelegation(root_.path());
  ASSERT_TRUE(ground) << ground.error().message;
  EXPECT_EQ(ground->version, 2);
  EXPECT_EQ(ground->folder, Group("sys/fs/cgroup/user/shell"));
  EXPECT_TRUE(ground->must_leave);
  EXPECT_TRUE(ground->must_enable);
}

TEST_F(Delegated, FailsIfOtherProcessesShareTheGroup) {
  Make("1\n" + self_);
  const auto ground = FindCgroupDelegation(root_.path());
  ASSERT_FALSE(ground);
  EXPECT_NE(ground.error().message.find("other processes"), std::string::npos);
  EXPECT_EQ(ground.error().code, Error::Code::kUnavailable);
}

TEST_F(Delegated, UsesTheParentIfItDelegatesMemory) {
  Make("1\n" + self_);
  root_.Write("sys/fs/cgroup/user/cgroup.subtree_control", "memory pids\n");
  const auto ground = FindCgroupDelegation(root_.path());
  ASSERT_TRUE(ground) << ground.error().message;
  EXPECT_EQ(ground->folder, Group("sys/fs/cgroup/user"));
  EXPECT_FALSE(ground->must_leave);
  EXPECT_FALSE(ground->must_enable);
}

TEST_F(Delegated, DoesNotEscapeFromLimitsOfTheOwnGroup) {
  Make("1\n" + self_);
  root_.Write("sys/fs/cgroup/user/cgroup.subtree_control", "memory pids\n");
  const auto set = [&](const char* file, const char* text) {
    root_.Write(std::string(kShell) + file, text);
  };
  constexpr const char* kFiles[] = {"memory.max", "memory.high", "memory.swap.max", "pids.max"};
  for (const char* file : kFiles) set(file, "max\n");
  set("cpu.max", "max 100000\n");
  EXPECT_TRUE(FindCgroupDelegation(root_.path()));
  for (const char* file : kFiles) {
    set(file, "1073741824\n");
    const auto ground = FindCgroupDelegation(root_.path());
    ASSERT_FALSE(ground) << file;
    EXPECT_NE(ground.error().message.find("would not apply"), std::string::npos);
    set(file, "max\n");
  }
  set("cpu.max", "50000 100000\n");
  EXPECT_FALSE(FindCgroupDelegation(root_.path()));
}

TEST_F(Delegated, RootGroupMayHaveProcessesAndLimitedGroups) {
  root_.Write("proc/self/cgroup", "0::/\n");
  root_.Write("sys/fs/cgroup/cgroup.controllers", "memory\n");
  root_.Write("sys/fs/cgroup/cgroup.subtree_control", "");
  root_.Write("sys/fs/cgroup/cgroup.procs", "1\n2\n");
  const auto ground = FindCgroupDelegation(root_.path());
  ASSERT_TRUE(ground) << ground.error().message;
  EXPECT_FALSE(ground->must_leave);
  EXPECT_TRUE(ground->must_enable);
}

TEST_F(Delegated, RequiresTheMemoryController) {
  Make(self_);
  root_.Write(std::string(kShell) + "cgroup.controllers", "cpu pids\n");
  const auto ground = FindCgroupDelegation(root_.path());
  ASSERT_FALSE(ground);
  EXPECT_NE(ground.error().message.find("no memory controller"), std::string::npos);
}

TEST_F(Delegated, IgnoresGroupsThatAreNotDelegated) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write to everything";
  Make(self_);
  chmod(Group("sys/fs/cgroup/user/shell").c_str(), 0500);
  const auto ground = FindCgroupDelegation(root_.path());
  chmod(Group("sys/fs/cgroup/user/shell").c_str(), 0700);
  ASSERT_FALSE(ground);
  EXPECT_NE(ground.error().message.find("not delegated"), std::string::npos);
}

TEST(CgroupDelegation, Version1RequiresUseHierarchy) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "4:memory:/job\n0::/\n");
  root.Write("sys/fs/cgroup/memory/job/cgroup.procs", "1\n");
  root.Write("sys/fs/cgroup/memory/job/memory.use_hierarchy", "0\n");
  EXPECT_FALSE(FindCgroupDelegation(root.path()));
  root.Write("sys/fs/cgroup/memory/job/memory.use_hierarchy", "1\n");
  const auto ground = FindCgroupDelegation(root.path());
  ASSERT_TRUE(ground) << ground.error().message;
  EXPECT_EQ(ground->version, 1);
  EXPECT_EQ(ground->folder, root / "sys/fs/cgroup/memory/job");
}

TEST(CgroupDelegation, ReportsAReadOnlyFileSystem) {
  // Root gets EROFS instead of EACCES; any read-only mount will do.
  const char* folder = nullptr;
  for (const char* one : {"/sys", "/proc/sys", "/sys/fs/cgroup", "/usr", "/boot"}) {
    if (access(one, W_OK) != 0 && errno == EROFS) folder = one;
  }
  if (folder == nullptr) GTEST_SKIP() << "no read-only mount";
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "4:memory:/job\n");
  root.Write("sys/fs/cgroup/memory/cgroup.procs", "1\n");
  std::filesystem::create_directory_symlink(folder, root / "sys/fs/cgroup/memory/job");
  const auto ground = FindCgroupDelegation(root.path());
  ASSERT_FALSE(ground);
  EXPECT_NE(ground.error().message.find("read-only"), std::string::npos) << ground.error().message;
}

TEST(CgroupDelegation, FailsWithoutControlGroups) {
  const TestingDirectory root;
  EXPECT_FALSE(FindCgroupDelegation(root.path()));
}

TEST(ProgramMemory, SumsAnonymousAndSharedMemory) {
  const TestingDirectory root;
  root.Write("two/memory.stat", "anon 500\nfile 9000\nshmem 20\n");
  EXPECT_EQ(ReadProgramMemory(root / "two", 2), 520u);
  root.Write("one/memory.stat", "cache 9\nrss 1\nshmem 2\ntotal_rss 700\ntotal_shmem 30\n");
  EXPECT_EQ(ReadProgramMemory(root / "one", 1), 730u) << "including child groups";
  EXPECT_FALSE(ReadProgramMemory(root / "one", 2)) << "unavailable is not 0";
  EXPECT_FALSE(ReadProgramMemory(root / "none", 2));
}

}  // namespace cgroup_test
}  // namespace reveza::platform
