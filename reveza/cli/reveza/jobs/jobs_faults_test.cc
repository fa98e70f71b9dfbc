// Misbehaving steps and unwritable places.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/bytes.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"

namespace reveza::cli {
namespace jobs_faults_test {

namespace fs = std::filesystem;

// Of any process that was waited for.
Bytes LargestChild() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<Bytes>(usage.ru_maxrss) * kKiB;
}

// A gigabyte that takes no room on the disk.
TEST_F(JobsTest, KeepOrderStreamsLargeOutputs) {
  const auto run = Jobs(
      "run --name g --quiet --output keep-order --workers 1 -- "
      "sh -c 'truncate -s 1G /dev/stdout; echo end' | wc -c; true");
  EXPECT_EQ(run.output, std::to_string(kGiB + 4) + "\n");
  EXPECT_LT(LargestChild(), 512 * kMiB);
}

TEST_F(JobsTest, ReportsAReadOnlyHome) {
  const std::string home = (folder_ / "home").string();
  fs::create_directory(home);
  const std::string mount =
      "mount --bind " + home + " " + home + " && mount -o remount,ro,bind " + home;
  if (platform::Shell("unshare --mount sh -c '" + mount + "'").status != 0) {
    GTEST_SKIP() << "needs a mount of its own: root only";
  }
  ASSERT_EQ(
      platform::Shell("HOME=" + home + " REVEZA_STATE=" + home +
                      " " REVEZA_PROGRAM " jobs run --name before --quiet -- true {n} ::: n 1..2")
          .status,
      kDone);
  const auto there = [&](const std::string& words) {
    std::ofstream(folder_ / "script")
        << mount << " || exit 99\nexport HOME=" << home << "\nunset REVEZA_STATE XDG_STATE_HOME\n"
        << "[ -z \"$1\" ] || export REVEZA_STATE=" << home << "\n"
        << REVEZA_PROGRAM " jobs " << words << "\n";
    const bool own = words.find("before") != std::string::npos;
    return platform::Shell("unshare --mount sh " + (folder_ / "script").string() +
                           (own ? " own" : ""));
  };
  const auto anew = there("run --name new -- true {n} ::: n 1");
  EXPECT_EQ(anew.status, kOutput) << anew.output;
  EXPECT_NE(anew.output.find("cannot create "), std::string::npos) << anew.output;
  EXPECT_NE(anew.output.find("REVEZA_STATE"), std::string::npos) << anew.output;
  const auto known = there("run --name before -- true {n} ::: n 1..3");
  EXPECT_EQ(known.status, kOutput) << known.output;
  EXPECT_NE(known.output.find("ead-only"), std::string::npos) << known.output;
}

// On a small disk of its own that is almost full until the first attempt has ended. With cycles the
// supervisor forwards the output, otherwise the program writes it.
TEST_F(JobsTest, StepWhoseOutputDidNotFitOnTheDiskIsNotDone) {
  const std::string small = (folder_ / "small").string();
  fs::create_directory(small);
  const std::string mount = "mount -t tmpfs -o size=1m none " + small;
  if (platform::Shell("unshare --mount sh -c '" + mount + "'").status != 0) {
    GTEST_SKIP() << "needs a mount of its own: root only";
  }
  // Does not care whether its output was written.
  std::ofstream(folder_ / "program")
      << "head -c 200000 /dev/zero 2> /dev/null\necho\necho reveza step 1\nexit 0\n";
  for (const std::string cycles : {"", "--cycles 1 "}) {
    std::ofstream(folder_ / "script")
        << mount << " || exit 99\ncd " << folder_.path().string() << "\n"
        << "head -c 960000 /dev/zero > small/filler\n"
        << REVEZA_PROGRAM " jobs run --name d" << cycles.size() << " " << cycles
        << "--output-folder small -- sh program > said 2>&1 &\n"
        << "until grep -qs 'disk was full' said; do sleep 0.02; done\n"
        << "rm small/filler; wait $!; echo status $?\n"
        << "wc -c < small/000/1.out; ls small/000\n";
    const auto run = platform::Shell("unshare --mount sh " + (folder_ / "script").string());
    EXPECT_EQ(run.output, "status 0\n200015\n1.1.out\n1.out\n") << Text("said");
    EXPECT_NE(Text("said").find("exited with status 0, but the disk was full"), std::string::npos)
        << Text("said");
  }
}

// The disk is full while the step writes and has room again before it exits: by itself in the first
// attempt, which waits for the supervisor to look twice.
TEST_F(JobsTest, StepThatRanWhileTheDiskWasFullIsNotDone) {
  const std::string small = (folder_ / "small").string();
  fs::create_directory(small);
  const std::string mount = "mount -t tmpfs -o size=1m none " + small;
  if (platform::Shell("unshare --mount sh -c '" + mount + "'").status != 0) {
    GTEST_SKIP() << "needs a mount of its own: root only";
  }
  std::ofstream(folder_ / "program")
      << "head -c 200000 /dev/zero 2> /dev/null\n[ ! -e small/filler ] || sleep 3\n"
      << "rm -f small/filler\nexit 0\n";
  std::ofstream(folder_ / "script")
      << mount << " || exit 99\ncd " << folder_.path().string() << "\n"
      << "head -c 960000 /dev/zero > small/filler\n"
      << REVEZA_PROGRAM " jobs run --name r --output-folder small -- sh program > said 2>&1\n"
      << "echo status $?\nwc -c < small/000/1.out; ls small/000\n";
  const auto run = platform::Shell("unshare --mount sh " + (folder_ / "script").string());
  EXPECT_EQ(run.output, "status 0\n200000\n1.1.out\n1.out\n") << Text("said");
}

TEST_F(JobsTest, ReportsUnwritablePathsBeforeAnythingStarts) {
  std::ofstream(folder_ / "file") << "no folder\n";
  for (const std::string option :
       {"--joblog no/such/log", "--joblog .", "--output-folder file", "--output-folder file/in"}) {
    const auto run = Jobs("run --name w " + option + " -- sh -c 'echo {n} >> ran' ::: n 1..2");
    EXPECT_EQ(run.status, kOutput) << option << run.output;
    const std::string name = option.substr(0, option.find(' '));
    EXPECT_NE(run.output.find(name + ": cannot write " + folder_.path().string()),
              std::string::npos)
        << run.output;
  }
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
}

TEST_F(JobsTest, ReportsAFailingJoblogOnceAndContinues) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const auto run = Jobs("run --name f --joblog /dev/full -- sh -c 'echo {n} >> ran' ::: n 1..3");
  EXPECT_EQ(run.status, kDone) << run.output;
  const std::string said = "the joblog /dev/full: No space left on device";
  const auto first = run.output.find(said);
  ASSERT_NE(first, std::string::npos) << run.output;
  EXPECT_EQ(run.output.find(said, first + 1), std::string::npos) << run.output;
  EXPECT_EQ(Text("ran").size(), 6u);
}

// A control group of this test, of either version, where one may be made.
class OwnGroup {
 public:
  OwnGroup() {
    for (const auto& [root, limit] : {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                      std::pair{"/sys/fs/cgroup", "memory.max"}}) {
      const fs::path path = fs::path(root) / ("reveza-test-" + std::to_string(getpid()));
      std::error_code error;
      if (!fs::create_directory(path, error)) continue;
      path_ = path;
      std::ofstream file(path / limit);
      if (fs::exists(path / limit) && file << 48 * kMiB << std::flush) return;
      Remove();
    }
  }
  ~OwnGroup() { Remove(); }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;

  bool made() const { return !path_.empty(); }
  std::string processes() const { return path_ / "cgroup.procs"; }

 private:
  void Remove() {
    if (!path_.empty()) rmdir(path_.c_str());
    path_.clear();
  }
  fs::path path_;
};

TEST_F(JobsTest, OomKilledStepDoesNotAffectOthers) {
  const OwnGroup group;
  if (!group.made()) GTEST_SKIP() << "no control group with a limit of memory may be made here";
  // tail keeps a line that never ends. Without limits of ours: the group of the test is the one
  // that kills.
  const auto run = Jobs(
      "run --name a --workers 2 --limits none -- sh -c 'echo {n} >> ran; [ {n} != 2 ] || { echo $$ "
      "> " +
      group.processes() + " && exec tail /dev/zero; }' ::: n 1..6");
  EXPECT_EQ(run.status, kFailedSteps) << run.output;
  EXPECT_NE(run.output.find("step n=2 ran out of memory"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("1 of 6 steps failed"), std::string::npos) << run.output;
  EXPECT_NE(Jobs("list").output.find("5 of 6 done, 1 failed"), std::string::npos);
}

// A step outlives its runner. The next runner starts what comes behind it, and not the step a
// second time. Whichever is begun second lets both end.
TEST_F(JobsTest, DoesNotRestartStepsThatSurvivedTheRunner) {
  const std::string step =
      " -- sh -c 'echo {n} >> begun; [ $(wc -l < begun) = 1 ] || touch go; until [ -e go ]; do "
      "sleep 0.02; done' ::: n 1..2";
  const auto killed = platform::Shell(
      "cd " + folder_.path().string() +
      " && { " REVEZA_PROGRAM " jobs run --name live --quiet --workers 1" + step +
      " > /dev/null 2>&1 & until [ -s begun ]; do sleep 0.02; done; kill -9 $!; wait $!; :; }");
  EXPECT_EQ(killed.status, 0) << killed.output;
  const auto run = Jobs("run --name live --quiet --workers 2" + step);
  EXPECT_EQ(run.status, kDone) << run.output;
  EXPECT_EQ(Text("begun"), "1\n2\n");
  EXPECT_NE(Jobs("list").output.find("2 of 2 done"), std::string::npos);
}

TEST_F(JobsTest, CancelEndsStepsOfAKilledRunner) {
  const std::string run =
      REVEZA_PROGRAM " jobs run --name orphan --quiet -- sh -c 'echo $$ > pid; exec sleep 600'";
  const auto canceled = platform::Shell(
      "cd " + folder_.path().string() + " && { " + run +
      " > /dev/null 2>&1 & until [ -s pid ]; do sleep 0.02; done; kill -9 $!; wait $!; " + run +
      " > second 2>&1 & until " REVEZA_PROGRAM
      " jobs pause orphan > paused 2>&1; do sleep 0.02; done; " REVEZA_PROGRAM
      " jobs cancel orphan; wait $!; }");
  EXPECT_EQ(canceled.status, kInterrupted) << canceled.output;
  EXPECT_TRUE(Text("paused").contains("a step of the previous runner runs to its end"));
  EXPECT_TRUE(Text("second").contains("1 of 1 steps remain")) << Text("second");
  EXPECT_NE(kill(std::stoi(Text("pid")), 0), 0) << "it lives on";
}

}  // namespace jobs_faults_test
}  // namespace reveza::cli
