#include "common/platform/process_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace process_table_test {

std::string StatLine(pid_t pid, const std::string& name, pid_t parent) {
  return fmt::format(
      "{} ({}) S {} 1 1 0 -1 4194368 133 69 5 0 25 7 5 2 20 0 3 0 6658481 4595712 10 "
      "18446744073709551615 1 1 0 0\n",
      pid, name, parent);
}

// 1 <- 10 <- {11, 12}, 11 <- 13; 20 is unrelated.
void WriteFamily(const TestingDirectory& root) {
  for (const auto& [pid, parent] :
       {std::pair{1, 0}, {10, 1}, {11, 10}, {12, 10}, {13, 11}, {20, 1}}) {
    root.Write(fmt::format("proc/{}/stat", pid), StatLine(pid, "worker", parent));
  }
}

void WriteChildren(const TestingDirectory& root) {
  root.Write("proc/10/task/10/children", "11 ");
  root.Write("proc/10/task/15/children", "12 ");
  root.Write("proc/11/task/11/children", "13 ");
  root.Write("proc/12/task/12/children", "");
  root.Write("proc/13/task/13/children", "");
}

TEST(ProcessReader, ParsesStat) {
  TestingDirectory root;
  root.Write("proc/42/stat", StatLine(42, "a) S (b", 7));
  ProcessReader reader(root.path());
  const auto stat = reader.Stat(42);
  ASSERT_TRUE(stat);
  EXPECT_EQ(*stat, (ProcessStat{42, 7, "a) S (b", 'S', 25, 7, 3, 6658481,
                                10 * static_cast<Bytes>(sysconf(_SC_PAGESIZE)), 138, 7}));
  EXPECT_EQ(reader.files_read(), 1u);
}

TEST(ProcessReader, CountsReapedChildren) {
  TestingDirectory root;
  WriteFamily(root);
  ProcessReader reader(root.path());
  const pid_t some[] = {10, 11, 99};
  EXPECT_EQ(reader.SumTicks(some), 2u * (25 + 7 + 5 + 2));
}

TEST(ProcessReader, RejectsMalformedStat) {
  TestingDirectory root;
  for (const char* text : {"", "42", "42 (a", "42 (a) S", "42 (a) S 1 2 3\n", "42 )a( S 1 1\n"}) {
    root.Write("proc/42/stat", text);
    ProcessReader reader(root.path());
    EXPECT_EQ(reader.Stat(42), std::nullopt) << text;
  }
}

TEST(ProcessReader, ExitedProcessYieldsNothing) {
  TestingDirectory root;
  root.Write("proc/self/stat", "");
  ProcessReader reader(root.path());
  EXPECT_EQ(reader.Stat(42), std::nullopt);
  EXPECT_FALSE(reader.Memory(42));
  EXPECT_EQ(reader.ProportionalMemory(42), std::nullopt);
  EXPECT_EQ(reader.Command(42), "");
  EXPECT_TRUE(reader.Descendants(42).empty());
  EXPECT_EQ(reader.files_read(), 0u);
}

TEST(ProcessReader, IsEmptyWithoutProc) {
  TestingDirectory root;
  ProcessReader reader(root.path());
  EXPECT_TRUE(reader.List().empty());
  EXPECT_TRUE(reader.Descendants(1).empty());
}

TEST(ProcessReader, KernelThreadHasNoMemoryFields) {
  TestingDirectory root;
  root.Write("proc/2/status", "Name:\tkthreadd\nState:\tS (sleeping)\nThreads:\t1\n");
  root.Write(
      "proc/42/status",
      "Name:\tVmRSS: 99\nVmPeak:\t  500 kB\nVmSize:\t  400 kB\nVmHWM:\t 30 kB\n"
      "VmRSS:\t 20 kB\nRssAnon:\t 5 kB\nRssFile:\t 14 kB\nRssShmem:\t 1 kB\nVmSwap:\t 0 kB\n");
  ProcessReader reader(root.path());
  const auto kernel = reader.Memory(2);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->peak, std::nullopt);
  const auto memory = reader.Memory(42);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->peak, 30 * kKiB);
  EXPECT_EQ(memory->anonymous, 5 * kKiB);
  EXPECT_EQ(memory->shared, 1 * kKiB);
}

TEST(ProcessReader, ProgramMemoryExcludesMappedFiles) {
  TestingDirectory root;
  root.Write("proc/10/smaps_rollup",
             "00-ff ---p 0 0 0 [rollup]\nRss: 99 kB\nPss: 90 kB\nPss_Anon: 20 kB\n"
             "Pss_File: 67 kB\nPss_Shmem: 3 kB\n");
  // Before Linux 5.9, or if smaps_rollup is unreadable.
  root.Write("proc/11/smaps_rollup", "00-ff ---p 0 0 0 [rollup]\nRss: 99 kB\nPss: 90 kB\n");
  for (const char* status : {"proc/11/status", "proc/12/status"}) {
    root.Write(status, "VmRSS: 99 kB\nRssAnon: 30 kB\nRssFile: 62 kB\nRssShmem: 7 kB\n");
  }
  root.Write("proc/13/status", "VmRSS: 99 kB\n");
  ProcessReader reader(root.path());
  EXPECT_EQ(reader.ProgramMemory(10), 23 * kKiB);
  EXPECT_EQ(reader.ProgramMemory(11), 37 * kKiB);
  EXPECT_EQ(reader.ProgramMemory(13), std::nullopt) << "unavailable is not 0";
  EXPECT_EQ(reader.SumProgram(std::vector<pid_t>{10, 11, 12, 13, 14}), 97 * kKiB);
  EXPECT_EQ(reader.SumProgram(std::vector<pid_t>{13, 14}), std::nullopt);
}

TEST(ProcessReader, DescendantsAgreeBetweenChildrenAndStat) {
  TestingDirectory root;
  WriteFamily(root);
  for (const pid_t pid : {10, 11, 12, 13}) {
    root.Write(fmt::format("proc/{}/task/{}/comm", pid, pid), "worker\n");
  }
  ProcessReader without(root.path());
  auto found = without.Descendants(10);
  std::ranges::sort(found);
  EXPECT_EQ(found, (std::vector<pid_t>{10, 11, 12, 13}));
  EXPECT_EQ(without.files_read(), 6u) << "one per process";
  WriteChildren(root);
  ProcessReader with(root.path());
  found = with.Descendants(10);
  std::ranges::sort(found);
  EXPECT_EQ(found, (std::vector<pid_t>{10, 11, 12, 13}));
  EXPECT_EQ(with.files_read(), 0u) << "the children files suffice";
}

TEST(ProcessReader, FindsThisProcessAndItsChildren) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(gate[0]);
  ProcessReader reader;
  const auto own = reader.Stat(getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->parent, getppid());
  EXPECT_GT(own->resident, 0u);
  EXPECT_GE(own->threads, 1u);
  EXPECT_GT(reader.Memory(getpid())->peak.value_or(0), 0u);
  EXPECT_FALSE(reader.Command(getpid()).empty());
  const auto family = reader.Descendants(getpid());
  ASSERT_GE(family.size(), 2u);
  EXPECT_EQ(family.front(), getpid());
  EXPECT_NE(std::ranges::find(family, child), family.end());
  EXPECT_EQ(reader.Descendants(child), std::vector<pid_t>{child});
  close(gate[1]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST(ProcessReader, KeepsFilesOfIoOpen) {
  TestingDirectory root;
  root.Write("proc/5/io", "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n");
  ProcessReader reader(root.path());
  reader.SetMaxOpenFiles(10);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reader.IoCached(5), (ProcessIo{4096, 8192}));
  EXPECT_EQ(reader.files_opened(), 1u);
  EXPECT_EQ(reader.IoCached(6), std::nullopt);
  root.Write("proc/7/io", "rchar: 1\n");
  EXPECT_EQ(reader.IoCached(7), std::nullopt);
}

}  // namespace process_table_test
}  // namespace reveza::platform
