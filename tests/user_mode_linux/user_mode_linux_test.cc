// Limits of steps and the doctor's verdicts under a kernel of our own: user-mode Linux, with
// control groups of version 2.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "platform/testing_directory.h"
#include "platform/testing_shell.h"

namespace reveza {
namespace {

constexpr const char* kKernel = "/usr/bin/linux.uml";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The doctor's lines are broken wherever a path's length has it.
std::string InOneLine(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\r';  // a console's lines end with both
    if (!blank || !line.ends_with(' ')) line += blank ? ' ' : c;
  }
  return line;
}

std::size_t Count(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

class UserModeLinux : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer's shadow memory is larger than the guest's address space";
#endif
    if (access(kKernel, X_OK) != 0) {
      GTEST_SKIP() << "no " << kKernel << ": apt-get install user-mode-linux";
    }
    const std::string said = Boot("cat /sys/fs/cgroup/cgroup.controllers");
    if (!Has(said, "the guest is up")) GTEST_SKIP() << "it does not boot here:\n" << said;
    ASSERT_TRUE(Has(said, "memory")) << said;
  }

  // What the guest printed. `script` is shell; $reveza, $limited and $library are there.
  std::string Boot(const std::string& script) {
    std::ifstream guest(REVEZA_GUEST);
    const std::string head{std::istreambuf_iterator<char>(guest), {}};
    folder_.Write("init", "#!/bin/sh\n" + head +
                              "reveza=" REVEZA_PROGRAM " limited=" REVEZA_LIMITED_PROGRAM
                              " library=" REVEZA_LATE_LIBRARY "\necho the guest is up\n" +
                              script + "\noff\n");
    const std::string init = folder_ / "init";
    chmod(init.c_str(), 0755);
    chmod(folder_.path().c_str(), 0755);
    const std::string command =
        "TMPDIR=/tmp timeout -s KILL 50 " + std::string(kKernel) +
        " mem=320M rootfstype=hostfs rootflags=/ ro con=null con0=null,fd:1 quiet umid=guest" +
        " uml_dir=" + folder_.path().string() + "/ init=" + init;
    return platform::Shell(command).output;
  }

  platform::TestingDirectory folder_;
};

TEST_F(UserModeLinux, AStepOverItsLimitIsKilledWholeAndRunAgainWithMore) {
  const std::string said = Boot(R"sh(
$reveza jobs run --name a --workers 1 --memory 32MiB --memory-reserve 8MiB --limits cgroup --json \
  -- sh -c "echo begun; $limited allocate 100000000; echo survived; exit 0"
cat state/jobs/a/outputs/000/1.out
$reveza jobs show a
left)sh");
  EXPECT_TRUE(Has(said, "control groups (version 2) in /sys/fs/cgroup")) << said;
  EXPECT_TRUE(Has(said, R"("outcome":"out of memory")")) << said;
  EXPECT_TRUE(Has(said, "killed 2 processes of its control group")) << said;
  EXPECT_TRUE(Has(said, R"("outcome":"done")")) << said;
  EXPECT_EQ(Count(said, "\nsurvived"), 1u)
      << "the shell went with its child, the first time: " << said;
  EXPECT_TRUE(Has(said, "1 of 1 steps done")) << said;
  EXPECT_FALSE(Has(said, "left:")) << said;
}

TEST_F(UserModeLinux, ARunnerThatIsAloneInItsGroupMovesIntoALeafAndBack) {
  const std::string said = Boot(R"sh(
echo +memory >$groups/cgroup.subtree_control
mkdir $groups/user
inside $groups/user/cgroup.procs $reveza jobs run --name a --workers 1 --limits cgroup \
  -- sh -c 'cat /proc/self/cgroup; sleep 0.2'
cat state/jobs/a/outputs/000/1.out
echo "handed down: $(cat $groups/user/cgroup.subtree_control)."
rmdir $groups/user && echo empty
left)sh");
  EXPECT_TRUE(Has(said, "limits: control groups (version 2) in /sys/fs/cgroup/user")) << said;
  EXPECT_TRUE(Has(said, "0::/user/reveza-a-")) << said;
  EXPECT_TRUE(Has(said, "/step-")) << said;
  EXPECT_TRUE(Has(said, "handed down: .")) << said;
  EXPECT_TRUE(Has(said, "\nempty")) << said;
}

TEST_F(UserModeLinux, AnotherUserUsesTheGroupAboveThatWasGivenToIt) {
  const std::string said = Boot(R"sh(
echo +memory >$groups/cgroup.subtree_control
mkdir -p $groups/user/shell
echo +memory >$groups/user/cgroup.subtree_control
chown -R 65534:65534 $groups/user
sleep 30 & echo $! >$groups/user/shell/cgroup.procs
as_user="setpriv --reuid 65534 --regid 65534 --clear-groups"
mkdir nobody; chown 65534:65534 nobody
XDG_RUNTIME_DIR=/run/nobody REVEZA_STATE=/run/nobody inside $groups/user/shell/cgroup.procs $as_user \
  $reveza jobs run --name a --workers 1 --memory 16MiB --memory-reserve 8MiB --limits cgroup \
  -- sh -c 'cat /proc/self/cgroup; cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/memory.max'
cat nobody/jobs/a/outputs/000/1.out
left
kill $!
$as_user $reveza jobs run --limits cgroup -- true; echo "status $?")sh");
  EXPECT_TRUE(Has(said, "0::/user/reveza-a-")) << said;
  EXPECT_TRUE(Has(said, "50331648")) << "16 MiB and 32 MiB more: " << said;
  EXPECT_FALSE(Has(said, "left:")) << said;
  EXPECT_TRUE(Has(said, "is not given to this user; --limits auto")) << said;
  EXPECT_TRUE(Has(said, "status 2")) << said;
}

TEST_F(UserModeLinux, ACancelledStepLeavesNothingAndAKilledRunnersGroupGoesWithTheNext) {
  const std::string said = Boot(R"sh(
$reveza jobs run --name a --workers 1 --limits cgroup --quiet \
  -- sh -c "trap '' TERM; setsid sleep 1000 & setsid sleep 1000 & touch begun; wait" &
while [ ! -e begun ]; do sleep 0.1; done
$reveza jobs cancel a; $reveza jobs cancel a; wait
echo "asleep: $(pgrep -c sleep)"
left
rm begun
$reveza jobs run --name b --workers 1 --limits cgroup --quiet \
  -- sh -c "[ -e begun ] || { touch begun; sleep 1000; }" &
while [ ! -e begun ]; do sleep 0.1; done
kill -9 $! $(pgrep reveza-supervis); wait
left | sed 's/left/kept/'
pkill sleep
$reveza jobs run --name b --workers 1 --limits cgroup --quiet \
  -- sh -c "[ -e begun ] || { touch begun; sleep 1000; }"
echo "status $?"
left)sh");
  EXPECT_TRUE(Has(said, "asleep: 0")) << said;
  EXPECT_TRUE(Has(said, "kept: ")) << said;
  EXPECT_TRUE(Has(said, "status 0")) << said;
  EXPECT_FALSE(Has(said, "left:")) << said;
}

TEST_F(UserModeLinux, TheDoctorSeesLimitsOfVersion2AndKillsForMemory) {
  const std::string said = Boot(R"sh(
echo '+memory +pids' >$groups/cgroup.subtree_control
mkdir $groups/small
echo 100M >$groups/small/memory.max
echo 40 >$groups/small/pids.max
inside $groups/small/cgroup.procs $reveza doctor -v --json
inside $groups/small/cgroup.procs $reveza doctor -- $limited allocate 300000000)sh");
  EXPECT_TRUE(Has(said, "cgroup-memory")) << said;
  EXPECT_TRUE(Has(said, "100 MiB")) << said;
  EXPECT_TRUE(Has(said, "pids.max = 40")) << said;
  EXPECT_TRUE(Has(said, "killed 1 process of its control group for memory")) << said;
}

TEST_F(UserModeLinux, TheDoctorNamesAKernelThatPromisesNoMoreThanItHas) {
  const std::string said = Boot(R"sh(
echo 2 >/proc/sys/vm/overcommit_memory
echo 60 >/proc/sys/vm/overcommit_ratio
python3 -c 'import mmap
try: mmap.mmap(-1, 1 << 30)
except OSError as error: print("refused:", error.strerror)'
$reveza doctor -- $limited promises $library; echo "status $?")sh");
  EXPECT_TRUE(Has(said, "refused: Cannot allocate memory")) << said;
  EXPECT_TRUE(Has(InOneLine(said), "cannot allocate memory for thread-local data")) << said;
  EXPECT_TRUE(Has(InOneLine(said), "vm.overcommit_memory is 2")) << said;
  EXPECT_TRUE(Has(said, "status 2")) << said;
}

}  // namespace
}  // namespace reveza
