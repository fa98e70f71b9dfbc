// `reveza jobs` as people type it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "exit_status.h"
#include "platform/testing_directory.h"
#include "platform/testing_shell.h"

namespace reveza::cli {
namespace {

using namespace std::chrono_literals;

class JobsTest : public testing::Test {
 protected:
  JobsTest() {
    setenv("REVEZA_STATE", (folder_ / "state").c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  }

  platform::Ran Jobs(const std::string& words) {
    return platform::Shell("cd " + folder_.path().string() + " && " REVEZA_PROGRAM " jobs " +
                           words);
  }
  std::string Text(const std::string& name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Await(const std::string& name) {
    for (int i = 0; i < 6000 && !std::filesystem::exists(folder_ / name); ++i) {
      std::this_thread::sleep_for(10ms);
    }
  }

  platform::TestingDirectory folder_;
};

TEST_F(JobsTest, RunsListsShowsAndPrintsWhatStepsSaid) {
  const auto run = Jobs("run --name sweep -- sh -c 'echo out {n}; [ {n} != 2 ]' ::: n 1..3");
  EXPECT_EQ(run.status, kFailedSteps);
  EXPECT_NE(run.output.find("step n=2 failed with status 1"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("1 of 3 steps failed"), std::string::npos) << run.output;
  EXPECT_NE(Jobs("list").output.find("2 of 3 done, 1 failed"), std::string::npos);
  const auto shown = nlohmann::json::parse(Jobs("show sweep --json").output);
  EXPECT_EQ(shown["steps"]["done"], 2);
  EXPECT_EQ(shown["failed"][0]["label"], "n=2");
  EXPECT_EQ(Jobs("logs sweep 3").output, "out 3\n");
  EXPECT_EQ(Jobs("logs sweep n=1").output, "out 1\n");
  EXPECT_EQ(Jobs("logs sweep 9").status, kUsage);
  EXPECT_NE(Jobs("show sweep").output.find("step 2 (n=2): failed, code 1"), std::string::npos);
  EXPECT_EQ(Jobs("prune sweep").status, kDone);
  EXPECT_EQ(Jobs("show sweep").status, kUsage);
}

TEST_F(JobsTest, WithoutANameWhatIsFinishedBeginsAnewAndWhatIsNotGoesOn) {
  const std::string command =
      "run --quiet -- sh -c 'echo {n} >> ran; [ -e go ] || [ {n} = 1 ]' ::: n 1..2";
  EXPECT_EQ(Jobs(command).status, kFailedSteps);
  platform::Shell("touch " + (folder_ / "go").string());
  const std::string again =
      "run --quiet --retry-failed -- sh -c 'echo {n} >> ran; [ -e go ] || [ {n} = 1 ]' ::: n 1..2";
  EXPECT_EQ(Jobs(again).status, kDone);
  EXPECT_EQ(Text("ran"), "1\n2\n2\n");
  EXPECT_EQ(Jobs(again).status, kDone);
  EXPECT_EQ(Text("ran").size(), 10u);
}

TEST_F(JobsTest, KeepsTheOrderOfOutputsAlsoBehindWhatIsDone) {
  EXPECT_EQ(Jobs("run --name o --quiet --keep-order --workers 3 -- "
                 "sh -c 'sleep 0.$((4-{n})); echo {n}' ::: n 1..3 2>&1")
                .output,
            "1\n2\n3\n");
  EXPECT_EQ(Jobs("run --name o --quiet --keep-order -- "
                 "sh -c 'sleep 0.$((4-{n})); echo {n}' ::: n 1..4 2>&1")
                .output,
            "4\n");
}

TEST_F(JobsTest, SaysEventsAsJsonAndWritesAJoblog) {
  const auto run = Jobs("run --name j --json --joblog log -- true {n} ::: n 1..2");
  EXPECT_EQ(run.status, kDone);
  std::istringstream lines(run.output);
  int ends = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(event.is_discarded()) << line;
    if (event["event"] == "end") {
      ++ends;
      EXPECT_EQ(event["outcome"], "done");
    }
  }
  EXPECT_EQ(ends, 2);
  const std::string log = Text("log");
  EXPECT_TRUE(log.starts_with("Seq\tHost\t")) << log;
  EXPECT_NE(log.find("true 2\n"), std::string::npos) << log;
}

TEST_F(JobsTest, ADetachedJobIsWatchedPausedAndCancelled) {
  const auto run = Jobs(
      "run --name d --workers 2 --detach -- "
      "sh -c 'touch begun; while [ ! -e go ]; do sleep 0.02; done' {n} ::: n 1..3");
  ASSERT_EQ(run.status, kDone) << run.output;
  Await("begun");
  EXPECT_EQ(Jobs("run --name d -- true {n} ::: n 1..3").status, kBusyJob);
  const auto why = Jobs("why d");
  EXPECT_EQ(why.status, kDone);
  EXPECT_NE(why.output.find("0 of 3 done"), std::string::npos) << why.output;
  EXPECT_EQ(Jobs("pause d").status, kDone);
  EXPECT_EQ(Jobs("resume d").status, kDone);
  EXPECT_EQ(Jobs("prune d").status, kBusyJob);
  EXPECT_EQ(Jobs("cancel d").status, kDone);
  EXPECT_EQ(Jobs("wait d").status, kFailedSteps);
  EXPECT_EQ(Jobs("pause d").status, kBusyJob);
}

TEST_F(JobsTest, ADamagedJournalIsRefusedAndRepaired) {
  ASSERT_EQ(Jobs("run --name r --quiet -- sh -c 'echo {n} >> ran' ::: n 1..3").status, kDone);
  std::ofstream(folder_ / "state/jobs/r/journal.db") << "this is no database any more, at all";
  const auto refused = Jobs("run --name r --quiet -- sh -c 'echo {n} >> ran' ::: n 1..3");
  EXPECT_EQ(refused.status, kDamagedJournal);
  EXPECT_NE(refused.output.find("reveza jobs repair r"), std::string::npos) << refused.output;
  EXPECT_EQ(Jobs("repair r").status, kDone);
  EXPECT_EQ(Jobs("run --name r --quiet -- sh -c 'echo {n} >> ran' ::: n 1..3").status, kDone);
  EXPECT_EQ(Text("ran").size(), 6u);
}

TEST_F(JobsTest, TellsWhatItTriedAndWhatAnAbortMeans) {
  EXPECT_EQ(
      Jobs("run --name t --quiet --max-workers 2 -- sh -c 'sleep 0.02' {n} ::: n 1..60").status,
      kDone);
  EXPECT_NE(Jobs("tune t").output.find("workers"), std::string::npos);
  const auto run = Jobs(
      "run --name a -- sh -c 'echo \"cannot allocate memory for thread-local data: "
      "ABORT\" >&2; exit 127' {n} ::: n 1");
  EXPECT_NE(run.output.find("step n=1 failed with status 127 ("), std::string::npos) << run.output;
}

// On a disk of 16 MiB that is all but full, until somebody makes room.
TEST_F(JobsTest, AFullDiskStopsWhatIsNewAndLosesNothing) {
  const std::string disk = (folder_ / "disk").string();
  std::filesystem::create_directory(disk);
  const std::string mount = "unshare --mount sh -c 'mount -t tmpfs -o size=16m tmpfs " + disk + "'";
  if (platform::Shell(mount).status != 0) GTEST_SKIP() << "needs a mount of its own: root only";
  const std::string begun = (folder_ / "begun").string();
  const std::string said = (folder_ / "said").string();
  std::ofstream(folder_ / "script")
      << "mount -t tmpfs -o size=16m tmpfs " << disk << "\n"
      << "export REVEZA_STATE=" << disk << "\n"
      << "head -c 16500000 /dev/zero > " << disk << "/filler\n"
      << REVEZA_PROGRAM " jobs run --name full --workers 2 -- sh -c 'echo {n} >> " << begun
      << "' ::: n 1..400 2> " << said
      << " &\n"
      // Until it has said so; then there is room.
      << "i=0; while [ $i -lt 600 ] && ! grep -q 'nothing new is started\\|was not begun' " << said
      << "; do sleep 0.05; i=$((i+1)); done\n"
      << "rm " << disk << "/filler; wait $!\n";
  const auto ran = platform::Shell("unshare --mount sh " + (folder_ / "script").string());
  EXPECT_EQ(ran.status, kDone) << Text("said");
  EXPECT_TRUE(Text("said").contains("nothing new is started") ||
              Text("said").contains("was not begun"))
      << Text("said");
  // Each once: what was not begun for want of room was not begun at all.
  std::istringstream lines(Text("begun"));
  std::set<std::string> steps;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) steps.insert(line);
  EXPECT_EQ(count, 400);
  EXPECT_EQ(steps.size(), 400u);
}

TEST_F(JobsTest, MistakesHaveTheirLineAndStatus) {
  EXPECT_EQ(Jobs("").status, kUsage);
  EXPECT_EQ(Jobs("--help").status, kDone);
  const auto wrong = Jobs("shwo x");
  EXPECT_EQ(wrong.status, kUsage);
  EXPECT_NE(wrong.output.find("did you mean 'show'?"), std::string::npos) << wrong.output;
  EXPECT_EQ(Jobs("run -- echo {sed} ::: seed 1..3").status, kUsage);
  EXPECT_EQ(Jobs("show --nonsense").status, kUsage);
  EXPECT_EQ(Jobs("why nobody").status, kUsage);
  setenv("REVEZA_STATE", "/proc/no/such", 1);
  EXPECT_EQ(Jobs("run -- true {n} ::: n 1").status, kOutput);
}

}  // namespace
}  // namespace reveza::cli
