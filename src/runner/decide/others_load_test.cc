#include "runner/decide/others_load.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/process_table.h"
#include "platform/testing_directory.h"

namespace reveza::runner {
namespace {

using platform::CpuTicks;
using std::chrono::milliseconds;
using std::chrono::seconds;

// So many seconds of a machine's cores.
CpuTicks Busy(double busy_seconds, unsigned cores) {
  return {
      static_cast<std::uint64_t>(busy_seconds * static_cast<double>(platform::TicksPerSecond())), 0,
      cores};
}

TEST(OthersLoad, IsWhatTheMachineDidLessWhatWeDid) {
  OthersLoad load;
  load.Seen(seconds(10), Busy(100, 4), seconds(50));
  EXPECT_EQ(load.busy(), std::nullopt);
  EXPECT_EQ(load.Beyond(4), std::nullopt);
  load.Seen(seconds(12), Busy(107, 4), seconds(53));
  EXPECT_DOUBLE_EQ(*load.busy(), 2);  // 7 of all less 3 of ours, in two seconds
  EXPECT_DOUBLE_EQ(*load.Beyond(4), 2);
}

TEST(OthersLoad, CoresThatWeMayNotUseAreLeftToOthers) {
  OthersLoad load;
  load.Seen(seconds(0), Busy(0, 64), seconds(0));
  load.Seen(seconds(1), Busy(10, 64), seconds(0));
  EXPECT_EQ(load.Beyond(8), 0);
  EXPECT_EQ(load.Beyond(54), 0);
  EXPECT_DOUBLE_EQ(*load.Beyond(60), 6);
}

TEST(OthersLoad, LessThanHalfACoreIsNoNews) {
  OthersLoad load;
  load.Seen(seconds(0), Busy(0, 2), seconds(0));
  load.Seen(seconds(10), Busy(4, 2), seconds(0));
  EXPECT_DOUBLE_EQ(*load.busy(), 0.4);
  EXPECT_EQ(load.Beyond(2), 0);
}

TEST(OthersLoad, IsNeverLessThanNothingAndTakesNoShortLooks) {
  OthersLoad load;
  load.Seen(seconds(0), Busy(0, 2), seconds(0));
  load.Seen(milliseconds(100), Busy(2, 2), seconds(0));
  EXPECT_EQ(load.busy(), std::nullopt);
  load.Seen(seconds(1), Busy(1, 2), seconds(3));  // what ended is counted whole
  EXPECT_EQ(load.busy(), 0);
}

TEST(OthersLoad, IsReadFromTheFilesOfTheMachine) {
  const platform::TestingDirectory root;
  OthersLoad load;
  const auto look = [&](int second, const char* first_line) {
    root.Write("proc/stat", std::string(first_line) + "\ncpu0 1 0 0 0 0\ncpu1 1 0 0 0 0\n");
    const auto ticks = platform::ReadCpuTicks(root.path());
    ASSERT_TRUE(ticks);
    load.Seen(seconds(second), *ticks, seconds(0));
  };
  look(0, "cpu 1000 0 500 9000 0 0 0 0");
  const auto two_seconds = 2 * platform::TicksPerSecond();
  look(2, ("cpu " + std::to_string(1000 + two_seconds) + " 0 500 9000 0 0 0 0").c_str());
  EXPECT_DOUBLE_EQ(load.busy().value_or(-1), 1);
}

TEST(OthersLoad, WhatIsOursIsNotTheirs) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) getppid();
  }
  platform::ProcessReader reader;
  const auto of_child = [&] {
    const auto stat = reader.Stat(child);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(
        stat ? static_cast<double>(stat->user_ticks + stat->system_ticks) /
                   static_cast<double>(platform::TicksPerSecond())
             : 0));
  };
  OthersLoad with;
  OthersLoad without;
  const auto look = [&] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto ours = of_child();
    const auto ticks = platform::ReadCpuTicks();
    ASSERT_TRUE(ticks);
    with.Seen(now, *ticks, {});
    without.Seen(now, *ticks, ours);
  };
  look();
  const auto before = of_child();
  while (of_child() - before < milliseconds(800)) usleep(50'000);
  look();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(with.busy() && without.busy());
  EXPECT_LT(*without.busy(), *with.busy());
}

}  // namespace
}  // namespace reveza::runner
