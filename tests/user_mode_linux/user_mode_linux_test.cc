// Limits of steps and findings of the doctor under user-mode Linux, a kernel with control groups
// version 2 that the tests may configure.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"

namespace reveza {
namespace user_mode_linux_test {

constexpr const char* kKernel = "/usr/bin/linux.uml";

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Replaces line breaks by spaces: the doctor wraps lines depending on the length of paths.
std::string Unwrap(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\r';  // the console ends lines with \r\n
    if (!blank || !line.ends_with(' ')) line += blank ? ' ' : c;
  }
  return line;
}

std::size_t Count(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// A page fault of a guest can take a millisecond on a busy machine.
class UserModeLinux : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer's shadow memory exceeds the guest's address space";
#endif
    if (access(kKernel, X_OK) != 0) {
      GTEST_SKIP() << kKernel << " is missing; install the package user-mode-linux";
    }
    const std::string console = Boot("cat /sys/fs/cgroup/cgroup.controllers");
    if (!Contains(console, "the guest is up"))
      GTEST_SKIP() << "user-mode Linux does not boot:\n" << console;
    ASSERT_TRUE(Contains(console, "memory")) << console;
  }

  // Boots a guest that runs a shell script and returns its console output. The script may use
  // $reveza, $limited and $library.
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
        "TMPDIR=/tmp timeout -s KILL 100 " + std::string(kKernel) +
        " mem=320M rootfstype=hostfs rootflags=/ ro con=null con0=null,fd:1 quiet umid=guest" +
        " uml_dir=" + folder_.path().string() + "/ init=" + init;
    return platform::Shell(command).output;
  }

  platform::TestingDirectory folder_;
};

TEST_F(UserModeLinux, OomKillEndsWholeStepAndRetriesWithMoreMemory) {
  const std::string console = Boot(R"sh(
$reveza jobs run --name a --workers 1 --memory 32MiB --memory-reserve 8MiB --limits cgroup --json \
  -- sh -c "echo begun; $limited allocate 100000000; echo survived; exit 0"
cat state/jobs/a/outputs/000/1.out
$reveza jobs show a
left)sh");
  EXPECT_TRUE(Contains(console, "control groups (version 2) in /sys/fs/cgroup")) << console;
  EXPECT_TRUE(Contains(console, R"("outcome":"out of memory")")) << console;
  EXPECT_TRUE(Contains(console, "killed 2 processes of its control group")) << console;
  EXPECT_TRUE(Contains(console, R"("outcome":"done")")) << console;
  EXPECT_EQ(Count(console, "\nsurvived"), 1u)
      << "the first attempt must die as a whole: " << console;
  EXPECT_TRUE(Contains(console, "1 of 1 steps done")) << console;
  EXPECT_FALSE(Contains(console, "left:")) << console;
}

TEST_F(UserModeLinux, RunnerAloneInCgroupMovesToLeafAndBack) {
  const std::string console = Boot(R"sh(
echo +memory >$groups/cgroup.subtree_control
mkdir $groups/user
inside $groups/user/cgroup.procs $reveza jobs run --name a --workers 1 --limits cgroup \
  -- sh -c 'cat /proc/self/cgroup; sleep 0.2'
cat state/jobs/a/outputs/000/1.out
echo "handed down: $(cat $groups/user/cgroup.subtree_control)."
rmdir $groups/user && echo empty
left)sh");
  EXPECT_TRUE(Contains(console, "limits: control groups (version 2) in /sys/fs/cgroup/user"))
      << console;
  EXPECT_TRUE(Contains(console, "0::/user/reveza-a-")) << console;
  EXPECT_TRUE(Contains(console, "/step-")) << console;
  EXPECT_TRUE(Contains(console, "handed down: .")) << console;
  EXPECT_TRUE(Contains(console, "\nempty")) << console;
}

TEST_F(UserModeLinux, UnprivilegedRunnerUsesDelegatedParentCgroup) {
  const std::string console = Boot(R"sh(
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
  EXPECT_TRUE(Contains(console, "0::/user/reveza-a-")) << console;
  EXPECT_TRUE(Contains(console, "50331648")) << "expected 16 MiB + 32 MiB: " << console;
  EXPECT_FALSE(Contains(console, "left:")) << console;
  EXPECT_TRUE(Contains(console, "--limits auto")) << console;
  EXPECT_TRUE(Contains(console, "status 2")) << console;
}

TEST_F(UserModeLinux, CancelAndNextRunRemoveCgroups) {
  const std::string console = Boot(R"sh(
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
  EXPECT_TRUE(Contains(console, "asleep: 0")) << console;
  EXPECT_TRUE(Contains(console, "kept: ")) << console;
  EXPECT_TRUE(Contains(console, "status 0")) << console;
  EXPECT_FALSE(Contains(console, "left:")) << console;
}

TEST_F(UserModeLinux, DoctorReportsCgroup2LimitsAndOomKills) {
  const std::string console = Boot(R"sh(
echo '+memory +pids' >$groups/cgroup.subtree_control
mkdir $groups/small
echo 40M >$groups/small/memory.max
echo 40 >$groups/small/pids.max
inside $groups/small/cgroup.procs $reveza doctor -v --json
inside $groups/small/cgroup.procs $reveza doctor --for 40s -- $limited allocate 60000000)sh");
  EXPECT_TRUE(Contains(console, "cgroup-memory")) << console;
  EXPECT_TRUE(Contains(console, "40 MiB")) << console;
  EXPECT_TRUE(Contains(console, "pids.max = 40")) << console;
  EXPECT_TRUE(Contains(console, "fatal [out-of-memory-kill]")) << console;
}

TEST_F(UserModeLinux, DoctorReportsStrictOvercommit) {
  const std::string console = Boot(R"sh(
echo 2 >/proc/sys/vm/overcommit_memory
echo 60 >/proc/sys/vm/overcommit_ratio
python3 -c 'import mmap
try: mmap.mmap(-1, 1 << 30)
except OSError as error: print("refused:", error.strerror)'
$reveza doctor -- $limited promises $library; echo "status $?")sh");
  EXPECT_TRUE(Contains(console, "refused: Cannot allocate memory")) << console;
  EXPECT_TRUE(Contains(Unwrap(console), "cannot allocate memory for thread-local data")) << console;
  EXPECT_TRUE(Contains(Unwrap(console), "vm.overcommit_memory is 2")) << console;
  EXPECT_TRUE(Contains(console, "status 2")) << console;
}

}  // namespace user_mode_linux_test
}  // namespace reveza
