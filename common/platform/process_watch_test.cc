#include "common/platform/process_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace process_watch_test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(RoundRobin, TakesEachOncePerPeriod) {
  const std::vector<pid_t> pids = {3, 5, 7, 9, 11};
  RoundRobin turns(seconds(10));
  EXPECT_TRUE(turns.Take(pids, nanoseconds(0)).empty());
  EXPECT_TRUE(turns.Take(pids, milliseconds(1999)).empty());
  EXPECT_EQ(turns.Take(pids, milliseconds(1)), std::vector<pid_t>{3});
  EXPECT_EQ(turns.Take(pids, seconds(4)), (std::vector<pid_t>{5, 7}));
  EXPECT_EQ(turns.Take(pids, seconds(6)), (std::vector<pid_t>{9, 11, 3})) << "wraps around";
  EXPECT_EQ(turns.Take(pids, seconds(100)).size(), pids.size()) << "each at most once";
  EXPECT_TRUE(turns.Take({}, seconds(100)).empty());
}

TEST(RoundRobin, ChurnDoesNotStarveOthers) {
  RoundRobin turns(seconds(10));
  std::multiset<pid_t> had;
  for (int second = 0; second < 20; ++second) {
    // One new process per second; only the last five are alive.
    std::vector<pid_t> pids = {1, 2, 3, 4, 5};
    for (int i = std::max(0, second - 5); i < second; ++i) pids.push_back(100 + i);
    for (const pid_t pid : turns.Take(pids, seconds(1))) had.insert(pid);
  }
  for (pid_t pid = 1; pid <= 5; ++pid) EXPECT_GE(had.count(pid), 1u) << pid;
}

class WatchTest : public testing::Test {
 protected:
  void Process(pid_t pid, pid_t parent, std::uint64_t ticks = 0, int start = 100) {
    root_.Write(fmt::format("proc/{}/stat", pid),
                fmt::format("{} (p{}) S {} 1 1 0 -1 0 0 0 0 0 {} 0 0 0 20 0 3 0 {} 4096 10 0\n",
                            pid, pid, parent, ticks, start));
  }
  void End(pid_t pid) { std::filesystem::remove_all(root_ / fmt::format("proc/{}", pid)); }
  // Refreshes, reads these, and returns how many files that took.
  std::uint64_t Look(ProcessWatch& watch, milliseconds passed, std::vector<pid_t> pids = {}) {
    now_ += passed;
    const auto before = watch.reader().files_read();
    watch.Refresh(now_);
    watch.Read(pids);
    return watch.reader().files_read() - before;
  }

  TestingDirectory root_;
  nanoseconds now_{0};
};

TEST_F(WatchTest, ReadsNewAndRequestedProcesses) {
  Process(1, 0);
  for (pid_t pid = 10; pid < 30; ++pid) Process(pid, 1);
  ProcessWatch watch(root_.path());
  EXPECT_EQ(Look(watch, milliseconds(0)), 21u);
  EXPECT_EQ(Look(watch, milliseconds(1)), 0u);
  EXPECT_EQ(Look(watch, milliseconds(1), {12, 13}), 2u);
  Process(30, 12);
  EXPECT_EQ(Look(watch, milliseconds(1)), 1u);
  EXPECT_EQ(watch.size(), 22u);
  EXPECT_EQ(watch.Descendants(12), (std::vector<pid_t>{12, 30}));
  EXPECT_EQ(Look(watch, milliseconds(1), {12, 30}), 2u);
  End(30);
  EXPECT_EQ(Look(watch, milliseconds(1)), 0u);
  EXPECT_EQ(watch.size(), 21u);
  EXPECT_EQ(watch.Find(30), nullptr);
  EXPECT_TRUE(watch.Descendants(30).empty());
}

TEST_F(WatchTest, KeepsFilesOfRequestedProcessesOpen) {
  for (pid_t pid = 10; pid < 20; ++pid) Process(pid, 0);
  ProcessWatch watch(root_.path());
  Look(watch, milliseconds(0));
  Look(watch, milliseconds(1), {10, 11});
  const auto opened = watch.reader().files_opened();
  Process(11, 0, 55);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Look(watch, milliseconds(1), {10, 11}), 2u);
  EXPECT_EQ(watch.reader().files_opened(), opened);
  EXPECT_EQ(watch.Find(11)->user_ticks, 55u);
  Look(watch, milliseconds(1));
  Look(watch, milliseconds(1), {10});
  EXPECT_EQ(watch.reader().files_opened(), opened + 1) << "closed while not requested";
}

// Its file stays open; a second read would cost more and tell nothing new.
TEST_F(WatchTest, RequestedProcessesAreNotReadTwice) {
  for (pid_t pid = 10; pid < 20; ++pid) Process(pid, 0);
  ProcessWatch watch(root_.path());
  Look(watch, milliseconds(0), {10, 11, 12, 13, 14});
  Look(watch, milliseconds(0), {10, 11, 12, 13, 14});
  const auto opened = watch.reader().files_opened();
  for (int second = 0; second < 10; ++second) Look(watch, seconds(1), {10, 11, 12, 13, 14});
  EXPECT_EQ(watch.reader().files_opened() - opened, 5u) << "each of the others once";
  // A process that is no longer requested is due again.
  Process(10, 11);
  for (int second = 0; second < 11; ++second) Look(watch, seconds(1));
  EXPECT_EQ(watch.Find(10)->parent, 11);
}

// Other processes are reread too: the parent may change, or the pid may be reused.
TEST_F(WatchTest, RereadsAllWithinAPeriod) {
  Process(1, 0);
  for (pid_t pid = 10; pid < 19; ++pid) Process(pid, 1);
  ProcessWatch watch(root_.path());
  Look(watch, milliseconds(0));
  for (pid_t pid = 11; pid < 19; ++pid) Process(pid, 10, 0, 999);
  std::uint64_t read = 0;
  for (int second = 0; second < 10; ++second) {
    const auto now = Look(watch, seconds(1));
    EXPECT_LE(now, 2u);
    read += now;
  }
  EXPECT_EQ(read, 10u);
  EXPECT_EQ(watch.Descendants(10).size(), 9u);
}

TEST_F(WatchTest, NoticesReparentedChildren) {
  Process(1, 0);
  Process(10, 1);
  Process(11, 10);
  Process(12, 11);
  ProcessWatch watch(root_.path());
  Look(watch, milliseconds(0));
  EXPECT_EQ(watch.Descendants(10), (std::vector<pid_t>{10, 11, 12}));
  End(11);
  Process(12, 10);
  EXPECT_EQ(Look(watch, milliseconds(1)), 1u);
  EXPECT_EQ(watch.Descendants(10), (std::vector<pid_t>{10, 12}));
}

TEST_F(WatchTest, ReadReportsChangedParents) {
  Process(1, 0);
  Process(10, 1);
  Process(11, 10);
  ProcessWatch watch(root_.path());
  now_ += seconds(1);
  watch.Refresh(now_);
  const std::vector<pid_t> family = {10, 11};
  EXPECT_TRUE(watch.Read(family));
  watch.Refresh(now_);
  EXPECT_TRUE(watch.Read(family));
  Process(11, 1, 0, 999);
  watch.Refresh(now_);
  EXPECT_FALSE(watch.Read(family)) << "pid reused";
  EXPECT_EQ(watch.Descendants(10), std::vector<pid_t>{10});
  watch.Refresh(now_);
  root_.Write("proc/11/stat", "");
  EXPECT_FALSE(watch.Read(family)) << "exited";
  EXPECT_EQ(watch.Find(11), nullptr);
}

TEST_F(WatchTest, CpuCoversTheTimeBetweenReadings) {
  const auto second = TicksPerSecond();
  Process(1, 0);
  Process(10, 1, 5 * second);
  ProcessWatch watch(root_.path());
  Look(watch, milliseconds(0), {10});
  EXPECT_EQ(watch.Cpu(10), std::nullopt) << "read once";
  // Requested again after two seconds.
  Look(watch, seconds(1));
  Process(10, 1, 8 * second);
  Look(watch, seconds(1), {10});
  EXPECT_DOUBLE_EQ(watch.Cpu(10).value_or(-1), 1.5);
  Process(11, 1, second / 2);
  Look(watch, seconds(1), {11});
  EXPECT_DOUBLE_EQ(watch.Cpu(11).value_or(-1), 0.5) << "new process: all of its CPU time";
  Process(11, 1, second / 4, 999);
  Look(watch, seconds(1), {11});
  EXPECT_DOUBLE_EQ(watch.Cpu(11).value_or(-1), 0.25) << "pid reused";
  EXPECT_EQ(watch.Cpu(99), std::nullopt);
}

// The CPU time of ten hours must not be attributed to the second in which it was unreadable.
TEST_F(WatchTest, ReappearingProcessHasNoCpuYet) {
  const auto second = TicksPerSecond();
  Process(1, 0, 0, 1);
  Process(10, 1, 36'000 * second, 50);
  Process(11, 1, 0, 100);
  ProcessWatch watch(root_.path());
  Look(watch, milliseconds(0), {10});
  Look(watch, seconds(1), {10});
  EXPECT_DOUBLE_EQ(watch.Cpu(10).value_or(-1), 0);
  root_.Write("proc/10/stat", "");
  Look(watch, seconds(1), {10});
  EXPECT_EQ(watch.Find(10), nullptr);
  Process(10, 1, 36'001 * second, 50);
  Look(watch, seconds(1), {10});
  EXPECT_EQ(watch.Cpu(10), std::nullopt) << "unknown";
  Process(10, 1, 36'002 * second, 50);
  Look(watch, seconds(1), {10});
  EXPECT_DOUBLE_EQ(watch.Cpu(10).value_or(-1), 1);
}

TEST_F(WatchTest, ToleratesACycleOfParents) {
  Process(5, 6);
  Process(6, 5);
  ProcessWatch watch(root_.path());
  Look(watch, milliseconds(0));
  EXPECT_EQ(watch.Descendants(5), (std::vector<pid_t>{5, 6}));
}

TEST_F(WatchTest, IsEmptyWithoutProc) {
  const TestingDirectory empty;
  ProcessWatch watch(empty.path());
  watch.Refresh(seconds(1));
  watch.Refresh(seconds(2));
  EXPECT_EQ(watch.size(), 0u);
  EXPECT_TRUE(watch.Descendants(1).empty());
}

// A cached file belongs to one process, never to a later one with the same pid.
TEST(ProcessWatch, SeesAChildStartAndExit) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(gate[0]);
  ProcessWatch watch;
  for (int look = 1; look <= 3; ++look) {
    watch.Refresh(seconds(look));
    const auto family = watch.Descendants(getpid());
    EXPECT_NE(std::ranges::find(family, child), family.end());
    watch.Read(std::vector<pid_t>{child});
    ASSERT_NE(watch.Find(child), nullptr);
    EXPECT_EQ(watch.Find(child)->parent, getpid());
  }
  close(gate[1]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  watch.Refresh(seconds(4));
  EXPECT_EQ(watch.Find(child), nullptr);
}

}  // namespace process_watch_test
}  // namespace reveza::platform
