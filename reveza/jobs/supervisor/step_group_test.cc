// Uses a plain folder in place of a cgroup file system.
#include "reveza/jobs/supervisor/step_group.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace step_group_test {

// Creates the files that the kernel would create.
GroupRequest Group(const platform::TestingDirectory& root, std::uint8_t version) {
  for (const char* file :
       {"memory.max", "memory.swap.max", "memory.memsw.limit_in_bytes", "memory.oom.group",
        "cgroup.kill", "memory.limit_in_bytes", "cgroup.procs"}) {
    root.Write(std::string("group/") + file, "");
  }
  return {root / "group", version, 4000};
}

std::string Text(const platform::TestingDirectory& root, const char* file) {
  std::ifstream stream(root / (std::string("group/") + file));
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(StepGroup, Version2SetsLimitsAndReadsCounters) {
  const platform::TestingDirectory root;
  const auto group = StepGroup::Create(Group(root, 2));
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(Text(root, "memory.max"), "4000");
  EXPECT_EQ(Text(root, "memory.swap.max"), "0") << "the limit includes swap";
  EXPECT_EQ(Text(root, "memory.oom.group"), "1");
  EXPECT_GE(group->folder_descriptor(), 0);
  EXPECT_EQ(group->members_descriptor(), -1);
  EXPECT_TRUE(group->Kill());
  EXPECT_EQ(Text(root, "cgroup.kill"), "1");
  EXPECT_FALSE(group->Stats().peak) << "not available is not 0";
  root.Write("group/memory.peak", "3900\n");
  root.Write("group/memory.events", "oom 1\noom_kill 3\noom_group_kill 1\n");
  EXPECT_EQ(group->Stats(), (GroupStats{2, 3900, true})) << "the victim is counted twice";
  root.Write("group/memory.events", "oom 0\noom_kill 1\noom_group_kill 1\n");
  EXPECT_EQ(group->Stats(), (GroupStats{1, 3900, false}))
      << "one was killed, but not at this group's limit";
}

TEST(StepGroup, RejectsPopulatedGroups) {
  const platform::TestingDirectory root;
  const GroupRequest request = Group(root, 2);
  root.Write("group/cgroup.procs", "4711\n");
  auto group = StepGroup::Create(request);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, Error::Code::kUnavailable);
  EXPECT_EQ(Text(root, "memory.max"), "") << "limits are unchanged";
  root.Write("group/cgroup.procs", "");
  root.Write("group/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_FALSE(StepGroup::Create(request)) << "populated descendants";
  root.Write("group/cgroup.events", "populated 0\nfrozen 0\n");
  EXPECT_TRUE(StepGroup::Create(request));
}

TEST(StepGroup, ReplacesALeftoverGroup) {
  const platform::TestingDirectory root;
  constexpr auto kLeft = std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec;
  std::filesystem::create_directories(root / "group");
  std::filesystem::permissions(root / "group", kLeft);
  ASSERT_TRUE(StepGroup::Create({root / "group", 2, 0}));
  EXPECT_NE(std::filesystem::status(root / "group").permissions(), kLeft)
      << "the folder was recreated";
}

TEST(StepGroup, Version1IsEnteredThroughCgroupProcs) {
  const platform::TestingDirectory root;
  const auto group = StepGroup::Create(Group(root, 1));
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(Text(root, "memory.limit_in_bytes"), "4000");
  EXPECT_EQ(Text(root, "memory.memsw.limit_in_bytes"), "4000") << "memory plus swap";
  EXPECT_GE(group->members_descriptor(), 0);
  EXPECT_EQ(group->folder_descriptor(), -1);
  EXPECT_FALSE(group->Kill());
  root.Write("group/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  root.Write("group/memory.max_usage_in_bytes", "4000\n");
  EXPECT_EQ(group->Stats(), (GroupStats{1, 4000, false}));
  root.Write("group/memory.failcnt", "3\n");
  EXPECT_EQ(group->Stats(), (GroupStats{1, 4000, true}));
}

TEST(StepGroup, FailsWithoutLimitFiles) {
  const platform::TestingDirectory root;
  EXPECT_FALSE(StepGroup::Create({root / "group", 2, 4000}));
  EXPECT_FALSE(std::filesystem::exists(root / "group")) << "removed again";
  EXPECT_FALSE(StepGroup::Create({root / "no/group", 2, 4000}));
  const auto unlimited = StepGroup::Create({root / "group", 2, 0});
  ASSERT_TRUE(unlimited) << "counters need no limit";
  EXPECT_TRUE(unlimited->Remove());
}

}  // namespace step_group_test
}  // namespace reveza::jobs
