#include "platform/cgroup_ground.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "platform/testing_directory.h"

namespace reveza::platform {
namespace {

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

TEST_F(Delegated, WhoIsAloneInItsGroupMovesIntoALeaf) {
  Make(self_);
  const auto ground = FindCgroupGround(root_.path());
  ASSERT_TRUE(ground) << ground.error().message;
  EXPECT_EQ(ground->version, 2);
  EXPECT_EQ(ground->folder, Group("sys/fs/cgroup/user/shell"));
  EXPECT_TRUE(ground->must_leave);
  EXPECT_TRUE(ground->must_enable);
}

TEST_F(Delegated, OthersAreNotMoved) {
  Make("1\n" + self_);
  const auto ground = FindCgroupGround(root_.path());
  ASSERT_FALSE(ground);
  EXPECT_NE(ground.error().message.find("other programs"), std::string::npos);
  EXPECT_EQ(ground.error().code, Error::Code::kUnavailable);
}

TEST_F(Delegated, TheGroupAboveIsTakenWhereItHandsMemoryDown) {
  Make("1\n" + self_);
  root_.Write("sys/fs/cgroup/user/cgroup.subtree_control", "memory pids\n");
  const auto ground = FindCgroupGround(root_.path());
  ASSERT_TRUE(ground) << ground.error().message;
  EXPECT_EQ(ground->folder, Group("sys/fs/cgroup/user"));
  EXPECT_FALSE(ground->must_leave);
  EXPECT_FALSE(ground->must_enable);
}

TEST_F(Delegated, TheGroupAboveIsNotTakenToEscapeFromALimit) {
  Make("1\n" + self_);
  root_.Write("sys/fs/cgroup/user/cgroup.subtree_control", "memory pids\n");
  const auto set = [&](const char* file, const char* text) {
    root_.Write(std::string(kShell) + file, text);
  };
  constexpr const char* kFiles[] = {"memory.max", "memory.high", "memory.swap.max", "pids.max"};
  for (const char* file : kFiles) set(file, "max\n");
  set("cpu.max", "max 100000\n");
  EXPECT_TRUE(FindCgroupGround(root_.path()));
  for (const char* file : kFiles) {
    set(file, "1073741824\n");
    const auto ground = FindCgroupGround(root_.path());
    ASSERT_FALSE(ground) << file;
    EXPECT_NE(ground.error().message.find("would not hold"), std::string::npos);
    set(file, "max\n");
  }
  set("cpu.max", "50000 100000\n");
  EXPECT_FALSE(FindCgroupGround(root_.path()));
}

TEST_F(Delegated, TheTopOfTheMachineMayHaveProcessesAndLimitedGroups) {
  root_.Write("proc/self/cgroup", "0::/\n");
  root_.Write("sys/fs/cgroup/cgroup.controllers", "memory\n");
  root_.Write("sys/fs/cgroup/cgroup.subtree_control", "");
  root_.Write("sys/fs/cgroup/cgroup.procs", "1\n2\n");
  const auto ground = FindCgroupGround(root_.path());
  ASSERT_TRUE(ground) << ground.error().message;
  EXPECT_FALSE(ground->must_leave);
  EXPECT_TRUE(ground->must_enable);
}

TEST_F(Delegated, NeedsTheMemoryController) {
  Make(self_);
  root_.Write(std::string(kShell) + "cgroup.controllers", "cpu pids\n");
  const auto ground = FindCgroupGround(root_.path());
  ASSERT_FALSE(ground);
  EXPECT_NE(ground.error().message.find("no memory controller"), std::string::npos);
}

TEST_F(Delegated, WhatIsNotGivenToThisUserIsLeftAlone) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write to everything";
  Make(self_);
  chmod(Group("sys/fs/cgroup/user/shell").c_str(), 0500);
  const auto ground = FindCgroupGround(root_.path());
  chmod(Group("sys/fs/cgroup/user/shell").c_str(), 0700);
  ASSERT_FALSE(ground);
  EXPECT_NE(ground.error().message.find("not given"), std::string::npos);
}

TEST(CgroupGround, Version1MustHoldForWhatIsBelow) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "4:memory:/job\n0::/\n");
  root.Write("sys/fs/cgroup/memory/job/cgroup.procs", "1\n");
  root.Write("sys/fs/cgroup/memory/job/memory.use_hierarchy", "0\n");
  EXPECT_FALSE(FindCgroupGround(root.path()));
  root.Write("sys/fs/cgroup/memory/job/memory.use_hierarchy", "1\n");
  const auto ground = FindCgroupGround(root.path());
  ASSERT_TRUE(ground) << ground.error().message;
  EXPECT_EQ(ground->version, 1);
  EXPECT_EQ(ground->folder, root / "sys/fs/cgroup/memory/job");
}

TEST(CgroupGround, SaysThatAFileSystemCanOnlyBeRead) {
  // Root is told EROFS, and no EACCES; here of any folder that is mounted so.
  const char* folder = nullptr;
  for (const char* one : {"/sys", "/proc/sys", "/sys/fs/cgroup", "/usr", "/boot"}) {
    if (access(one, W_OK) != 0 && errno == EROFS) folder = one;
  }
  if (folder == nullptr) GTEST_SKIP() << "nothing is mounted to be read only";
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "4:memory:/job\n");
  root.Write("sys/fs/cgroup/memory/cgroup.procs", "1\n");
  std::filesystem::create_directory_symlink(folder, root / "sys/fs/cgroup/memory/job");
  const auto ground = FindCgroupGround(root.path());
  ASSERT_FALSE(ground);
  EXPECT_NE(ground.error().message.find("can only be read"), std::string::npos)
      << ground.error().message;
}

TEST(CgroupGround, NothingWithoutControlGroups) {
  const TestingDirectory root;
  EXPECT_FALSE(FindCgroupGround(root.path()));
}

TEST(ProgramMemory, IsWhatIsAnonymousOrShared) {
  const TestingDirectory root;
  root.Write("two/memory.stat", "anon 500\nfile 9000\nshmem 20\n");
  EXPECT_EQ(ProgramMemoryOf(root / "two", 2), 520u);
  root.Write("one/memory.stat", "cache 9\nrss 1\nshmem 2\ntotal_rss 700\ntotal_shmem 30\n");
  EXPECT_EQ(ProgramMemoryOf(root / "one", 1), 730u) << "with the groups below it";
  EXPECT_FALSE(ProgramMemoryOf(root / "one", 2)) << "not available is not 0";
  EXPECT_FALSE(ProgramMemoryOf(root / "none", 2));
}

}  // namespace
}  // namespace reveza::platform
