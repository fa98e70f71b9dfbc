// End-to-end tests of options of `reveza jobs run`.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"

namespace reveza::cli {
namespace jobs_options_test {

// Fails when another one of its job runs at the same time.
constexpr const char* kAlone = "-- sh -c 'mkdir busy && sleep 0.05 && rmdir busy' {n} ::: n 1..6";

TEST_F(JobsTest, CpuBudgetLimitsClaims) {
  const std::string run = "run --name c --quiet --workers 2 --cpus 1 ";
  EXPECT_EQ(Jobs(run + "--cpu-budget 1 " + kAlone).status, kDone);
  const auto never = Jobs("run --name d --cpus 1 --cpu-budget 0.5 -- true {n} ::: n 1");
  EXPECT_EQ(never.status, kFailedSteps);
  EXPECT_NE(never.output.find("needs 1 cores, 0.5"), std::string::npos) << never.output;
}

// A claim is not all that it bounds: also the threads of each worker.
TEST_F(JobsTest, CpuBudgetLimitsThreadsOfAStep) {
  EXPECT_EQ(Jobs("run --name t --quiet --workers 1 --cpu-budget 1 -- "
                 "sh -c 'echo $OMP_NUM_THREADS' {n} ::: n 1")
                .status,
            kDone);
  EXPECT_EQ(Jobs("logs t 1").output, "1\n");
}

TEST_F(JobsTest, MemoryReserveIsNotUsed) {
  const auto never = Jobs("run --name m --memory 1MiB --memory-reserve 100000GiB -- true ::: n 1");
  EXPECT_EQ(never.status, kFailedSteps);
  EXPECT_NE(never.output.find("never runs here: memory"), std::string::npos) << never.output;
  EXPECT_EQ(Jobs("run --name m --quiet --memory 1MiB --memory-reserve 1MiB --retry-failed -- "
                 "true ::: n 1")
                .status,
            kDone);
}

TEST_F(JobsTest, HaltNowTerminatesRunningSteps) {
  const auto run = Jobs(
      "run --name h --workers 2 --halt now,fail=1 -- "
      "sh -c 'echo {n} >> ran; [ {n} = 1 ] && exec sleep 600; "
      "while [ \"$(cat ran | wc -l)\" != 2 ]; do sleep 0.01; done; exit 1' ::: n 1..9");
  EXPECT_EQ(run.status, kFailedSteps) << run.output;
  EXPECT_NE(run.output.find("--halt ended the job: 8 remain"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("step n=1 was cancelled"), std::string::npos) << run.output;
  EXPECT_EQ(Text("ran").size(), 4u);
}

TEST_F(JobsTest, DetachHandsOverStandardInput) {
  folder_.Write("in", "a b\nc\n");
  Jobs("run --name i --detach --stdin -- echo {line} < in; :");
  EXPECT_EQ(AwaitOutput("i 2"), "c\n");
  EXPECT_EQ(AwaitOutput("i 1"), "a b\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state/jobs/i/standard-input"));
}

TEST_F(JobsTest, DetachLeavesTheCommandAsItIs) {
  for (const std::string dashes : {"", "-- "}) {
    const std::string job = dashes.empty() ? "a" : "b";
    Jobs("run --name " + job + " --detach " + dashes + "echo --detach {n} ::: n 1");
    EXPECT_EQ(AwaitOutput(job + " 1"), "--detach 1\n");
  }
}

TEST_F(JobsTest, KeepOrderPrintsWhatFollowsASkippedStep) {
  folder_.Write("job.toml",
                "[[steps]]\nname = 'a'\nrun = 'false'\n[[steps]]\nrun = 'echo b'\nafter = 'a'\n"
                "[[steps]]\nrun = 'echo c'\n[[steps]]\nrun = 'echo d'\n");
  const auto run = Jobs("run --quiet --job job.toml --output keep-order");
  EXPECT_EQ(run.status, kFailedSteps);
  EXPECT_TRUE(run.output.contains("c\nd\n")) << run.output;
}

TEST_F(JobsTest, AJobOfAnotherNameIsNotMissed) {
  std::filesystem::create_directories(folder_ / "other");
  EXPECT_EQ(Jobs("run --name a --quiet -- true {n} ::: n 1").output, "");
  EXPECT_EQ(Jobs("run --name b --folder other --quiet -- true {n} ::: n 1").output, "");
}

TEST_F(JobsTest, EverySubcommandHasHelp) {
  const std::string help = Jobs("--help").output;
  std::istringstream lines(help.substr(help.find("Subcommands:\n")));
  int commands = 0;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const auto run = Jobs(name + " --help");
    EXPECT_EQ(run.status, kDone) << name;
    EXPECT_TRUE(run.output.contains("Usage: reveza jobs " + name)) << run.output;
    ++commands;
  }
  EXPECT_GE(commands, 20) << help;
}

TEST_F(JobsTest, LogsFindsTheOutputFolder) {
  EXPECT_EQ(Jobs("run --name o --quiet --output-folder there -- echo out {n} ::: n 1..2").status,
            kDone);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "there/000/2.out"));
  EXPECT_EQ(Jobs("logs o 2").output, "out 2\n");
  EXPECT_NE(Jobs("show o").output.find((folder_ / "there").string()), std::string::npos);
}

TEST_F(JobsTest, TimeLimitTerminatesAStep) {
  const auto run = Jobs("run --name l --time-limit 200ms -- sleep 600");
  EXPECT_EQ(run.status, kFailedSteps);
  EXPECT_NE(run.output.find("exceeded its time limit"), std::string::npos) << run.output;
}

TEST_F(JobsTest, StepsKnowWhoTheyAre) {
  EXPECT_EQ(Jobs("run --name w --quiet --workers 1 --retries 1 -- sh -c "
                 "'echo $REVEZA_JOB_NAME $REVEZA_STEP $REVEZA_SLOT $REVEZA_ATTEMPT; "
                 "test $REVEZA_ATTEMPT = 2' {n} ::: n a b")
                .status,
            kDone);
  EXPECT_EQ(Jobs("logs w 2").output, "w 2 1 2\n");
}

TEST_F(JobsTest, WorkersMayBeAShareOfTheCores) {
  const std::string run = "run --name s --dry-run --workers ";
  EXPECT_NE(Jobs(run + "0.01% -- true ::: n 1..9").output.find("workers    1\n"),
            std::string::npos);
  const auto wrong = Jobs(run + "0% -- true ::: n 1");
  EXPECT_EQ(wrong.status, kUsage);
  EXPECT_NE(wrong.output.find("'0%' is not a share of the cores such as 50%"), std::string::npos)
      << wrong.output;
}

TEST_F(JobsTest, TableHasParametersOutcomesAndMetrics) {
  const auto run = Jobs(
      "run --name t --quiet --cycles 2 -- sh -c "
      "'echo reveza step 1 phi=0.5; test \"$1\" != bad || exit 3; "
      "echo reveza step 2 phi=0.25 state=7' x {model} ::: model 'a, b' bad ::: seed 7");
  EXPECT_EQ(run.status, kFailedSteps) << run.output;
  const std::string csv = Jobs("table t --csv").output;
  EXPECT_TRUE(
      csv.starts_with("step,model,seed,state,attempts,outcome,code,began,seconds,"
                      "cpu_seconds,peak,phi,metric.state\n1,\"a, b\",7,done,1,done,0,"))
      << csv;
  EXPECT_NE(csv.find("\n2,bad,7,failed,2,failed,3,"), std::string::npos) << csv;
  EXPECT_TRUE(csv.ends_with(",0.5,\n")) << csv;
  const auto rows = nlohmann::json::parse(Jobs("table t --json").output);
  EXPECT_EQ(rows[0]["phi"], 0.25);
  EXPECT_EQ(rows[0]["metric.state"], 7);
  EXPECT_EQ(rows[1]["metric.state"], nullptr);
  EXPECT_GT(rows[1]["began"], 1.7e9);
  const std::string cycles = Jobs("table t --cycles").output;
  EXPECT_EQ(std::ranges::count(cycles, '\n'), 4) << cycles;
  EXPECT_TRUE(cycles.starts_with("step  model  seed  cycle  at ")) << cycles;
}

TEST_F(JobsTest, TableIsWrittenAsParquet) {
  EXPECT_EQ(Jobs("run --name p --quiet -- true {n} ::: n 1..3").status, kDone);
  EXPECT_EQ(Jobs("table p --parquet > p.parquet").status, kDone);
  const std::string file = Text("p.parquet");
  EXPECT_TRUE(file.starts_with("PAR1") && file.ends_with("PAR1")) << file.size();
  EXPECT_EQ(Jobs("table p --parquet --csv").status, kUsage);
  const auto on_terminal =
      platform::Shell("cd " + folder_.path().string() +
                      " && script -qec '" REVEZA_PROGRAM " jobs table p --parquet' /dev/null");
  EXPECT_NE(on_terminal.output.find("redirect it, e.g. > p.parquet"), std::string::npos)
      << on_terminal.output;
  EXPECT_NE(Jobs("table p --parquet > /dev/full").status, kDone);
}

TEST_F(JobsTest, TableOfStepsThatDidNotRun) {
  EXPECT_EQ(Jobs("run --name n --quiet --halt soon,fail=1 --workers 1 -- false {a} ::: a 'x y=1' z")
                .status,
            kFailedSteps);
  const std::string csv = Jobs("table n --csv").output;
  EXPECT_TRUE(csv.ends_with("\n2,z,waiting,0,,,,,,\n")) << csv;
  EXPECT_EQ(Jobs("table n --csv --json").status, kUsage);
  EXPECT_EQ(Jobs("table").status, kUsage);
  EXPECT_NE(Jobs("table m").output.find("no job 'm'"), std::string::npos);
}

TEST_F(JobsTest, DurableJobsResume) {
  EXPECT_EQ(Jobs("run --name d --quiet --durable -- sh -c 'echo {n} >> ran' ::: n 1..5").status,
            kDone);
  EXPECT_EQ(Jobs("run --name d --quiet --durable -- sh -c 'echo {n} >> ran' ::: n 1..6").status,
            kDone);
  EXPECT_EQ(Text("ran").size(), 12u);
}

}  // namespace jobs_options_test
}  // namespace reveza::cli
