// End-to-end tests of `reveza jobs`.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"

namespace reveza::cli {
namespace jobs_test {

TEST_F(JobsTest, RunListShowLogsAndPrune) {
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

TEST_F(JobsTest, FinishedJobStaysFinishedWithoutAName) {
  const std::string command = "-- sh -c 'echo {n} >> ran; [ -e go ] || [ {n} = 1 ]' ::: n 1..2";
  EXPECT_EQ(Jobs("run --quiet " + command).status, kFailedSteps);
  platform::Shell("touch " + (folder_ / "go").string());
  EXPECT_EQ(Jobs("run --quiet --retry-failed " + command).status, kDone);
  EXPECT_EQ(Text("ran"), "1\n2\n2\n");
  const auto again = Jobs("run " + command);
  EXPECT_EQ(again.status, kDone);
  EXPECT_NE(again.output.find("all 2 steps are done already; --force runs them again"),
            std::string::npos)
      << again.output;
  EXPECT_EQ(Text("ran"), "1\n2\n2\n");
  EXPECT_EQ(Jobs("run --quiet --force " + command).status, kDone);
  EXPECT_EQ(Text("ran").size(), 10u);
}

TEST_F(JobsTest, AnotherNameInTheSameFolderIsNoSurprise) {
  EXPECT_EQ(Jobs("run --name a --quiet -- true {n} ::: n 1..2").output, "");
  EXPECT_EQ(Jobs("run --name b --quiet -- true {n} ::: n 1..2").output, "");
}

TEST_F(JobsTest, TellsWhyFinishedStepsDoNotCount) {
  const std::string words = "--quiet -- sh -c 'echo {n} >> ran' ::: n 1..3";
  for (const std::string name : {"--name w ", ""}) {
    if (name.empty()) Jobs("prune w");
    EXPECT_EQ(Jobs("run " + name + words).output, "");
    EXPECT_EQ(Jobs("run " + name + words).output, "");
    std::filesystem::create_directories(folder_ / "other");
    const auto moved = Jobs("run " + name + "--folder other " + words);
    EXPECT_EQ(moved.status, kDone);
    EXPECT_NE(moved.output.find(folder_.path().string()), std::string::npos) << moved.output;
    EXPECT_NE(moved.output.find(name.empty() ? "runs the same command in another folder"
                                             : "3 steps finished here before, but 3 are new"),
              std::string::npos)
        << moved.output;
    EXPECT_EQ(Jobs("run " + name + "--folder other " + words).output, "");
  }
  // Other parameters are no surprise.
  Jobs("run --name w --folder other " + words);
  EXPECT_EQ(
      Jobs("run --name w --folder other --quiet -- sh -c 'echo {n} >> ran' ::: n 4..6").output, "");
  const auto changed =
      Jobs("run --name w --folder other --quiet -- sh -c 'echo {n} >>ran' ::: n 4..6");
  EXPECT_NE(
      changed.output.find("the command was sh -c 'echo {n} >> ran', now sh -c 'echo {n} >>ran'"),
      std::string::npos)
      << changed.output;
}

TEST_F(JobsTest, TellsWhatHasChangedBesidesTheCommand) {
  std::ofstream(folder_ / "in") << "one";
  setenv("WORD", "first5e", 1);
  const auto run = [&](const std::string& words) { return Jobs("run --name w " + words).output; };
  const std::string options = "--quiet --input in --env A=1 --identity-env WORD ";
  const std::string command = "-- touch did{n} ";
  run(options + command + "::: n 1..3");
  EXPECT_EQ(run(options + command + "::: n 1..4"), "");
  const auto expect = [&](const std::string& words, const std::string& change) {
    const std::string said = run(words);
    EXPECT_NE(said.find("identity includes what has changed: " + change + "\n"), std::string::npos)
        << said;
  };
  setenv("WORD", "second5e", 1);
  expect(options + command + "::: n 1..4", "the value of --identity-env WORD");
  const std::string other = "--quiet --input in --env A=2 --identity-env WORD ";
  expect(other + command + "::: n 1..4", "the value of --env A");
  expect(other + command + "::: n 01..04", "the text of n in the first step was 1, now 01");
  expect(other + command + "::: n 01..04 ::: m a", "the list of parameters was n, now n m");
  std::ofstream(folder_ / "in") << "two";
  std::filesystem::remove(folder_ / "did04");
  expect("--detach " + other + command + "::: n 01..04 ::: m a",
         "the content of " + (folder_ / "in").string());
  Await("did04");
  EXPECT_EQ(Jobs("wait w").status, kDone);
  unsetenv("WORD");
  EXPECT_NE(platform::Shell("grep -rE '(first|second)5e' " + (folder_ / "state").string()).status,
            0);
}

TEST_F(JobsTest, KeepsNoValuesOfVariables) {
  setenv("WORD", "hush5e", 1);
  Jobs("run --name e --env WORD=hush5e -- true {n} ::: n 1..2");
  unsetenv("WORD");
  EXPECT_NE(platform::Shell("grep -r hush5e " + (folder_ / "state").string()).status, 0);
}

TEST_F(JobsTest, RefusesAMissingProgramOrFolderBeforeTheFirstStep) {
  const auto refuses = [&](const std::string& words, const std::string& why) {
    for (const std::string how : {"", "--detach "}) {
      const auto run = Jobs("run " + how + words);
      EXPECT_EQ(run.status, kUsage) << words << run.output;
      EXPECT_NE(run.output.find(why), std::string::npos) << run.output;
    }
  };
  refuses("-- no-such-program {n} ::: n 1..3", "program 'no-such-program' not found in PATH");
  refuses("-- ./nothing {n} ::: n 1..3", "/nothing not found");
  refuses("--folder nowhere -- true {n} ::: n 1..3", "/nowhere does not exist");
  const auto write = [&](const std::string& name, const std::string& line, bool executable) {
    std::ofstream(folder_ / name) << line << "\n";
    if (executable) {
      std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
    }
  };
  refuses("-- /tmp {n} ::: n 1..2", "/tmp is a folder, not a program");
  write("plain", "echo", false);
  refuses("-- ./plain {n} ::: n 1..2", "is not executable; chmod +x it");
  write("lost", "#!/no/such -x", true);
  refuses("-- ./lost {n} ::: n 1..2", "/lost, /no/such, is missing or not executable");
  write("by-env", "#!/usr/bin/env no-such-program", true);
  refuses("-- ./by-env {n} ::: n 1..2", "/by-env, no-such-program, is missing");
  write("windows", "#!/bin/sh\r", true);
  refuses("-- ./windows {n} ::: n 1..2", "/bin/sh\\x0d, is missing or not executable; its lines");
  std::filesystem::create_directory(folder_ / "in-1");
  refuses("--folder in-{n} --shell -- 'echo {n} >> ../ran' ::: n 1..2",
          "step 2 cannot start: the folder " + (folder_ / "in-2").string());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
  EXPECT_NE(Jobs("list").output.find("no jobs"), std::string::npos);
  // What is done needs no program any more.
  std::ofstream(folder_ / "program") << "#!/bin/sh\n";
  std::filesystem::permissions(folder_ / "program", std::filesystem::perms::owner_all);
  EXPECT_EQ(Jobs("run --name p --quiet -- ./program {n} ::: n 1..2").status, kDone);
  std::filesystem::remove(folder_ / "program");
  EXPECT_EQ(Jobs("run --name p --quiet -- ./program {n} ::: n 1..2").status, kDone);
  EXPECT_EQ(Jobs("run --name p --quiet -- ./program {n} ::: n 1..3").status, kUsage);
}

TEST_F(JobsTest, LogsShowEachAttemptAndFollow) {
  const std::string step =
      "run --name a --quiet --retries 1 -- sh -c 'echo {n} $(wc -l < ran); echo >> ran; "
      "[ $(wc -l < ran) != 1 ] || exit 1; touch begun; until [ -e go ]; do sleep 0.01; done; "
      "echo end' ::: n 7";
  std::ofstream(folder_ / "ran").flush();
  const auto followed =
      platform::Shell("cd " + folder_.path().string() + " && { " REVEZA_PROGRAM " jobs " + step +
                      " & until [ -e begun ]; do sleep 0.01; done; " REVEZA_PROGRAM
                      " jobs logs a 1 -f > followed & "
                      "until [ -s followed ]; do sleep 0.01; done; touch go; wait; }");
  EXPECT_EQ(followed.status, 0) << followed.output;
  EXPECT_EQ(Text("followed"), "7 1\nend\n");
  EXPECT_EQ(Jobs("logs a 1").output, "7 1\nend\n");
  EXPECT_EQ(Jobs("logs a n=7 --attempt 1").output, "7 0\n");
  EXPECT_EQ(Jobs("logs a 1 --attempt 2 -f").output, "7 1\nend\n");
  EXPECT_EQ(Jobs("logs a 1 --attempt 3").status, kUsage);
  EXPECT_EQ(Jobs("logs a 1 --attempt").status, kUsage);
}

TEST_F(JobsTest, LogsFollowAChainFromBeforeItsStart) {
  // Step 2 goes on once its first lines were followed.
  const std::string step =
      "run --name c --quiet --workers 1 --cycles 4 --chain 2 -- sh -c 'touch on{n}; until [ -e go "
      "]; do sleep 0.01; done; seq -f \"reveza step %g\" {from} {to}; until [ {n} = 1 ] || [ -s "
      "followed ]; do sleep 0.01; done' ::: n 1..2";
  const auto followed =
      platform::Shell("cd " + folder_.path().string() + " && { " REVEZA_PROGRAM " jobs " + step +
                      " & until [ -e on1 ]; do sleep 0.01; done; " REVEZA_PROGRAM
                      " jobs logs c 2 -f > followed & sleep 0.2; touch go; wait; }");
  EXPECT_EQ(followed.status, 0) << followed.output;
  EXPECT_EQ(Text("followed"), "reveza step 1\nreveza step 2\nreveza step 3\nreveza step 4\n");
  Jobs("add c -- true ::: n 7");
  const auto none = Jobs("logs c 3 -f");
  EXPECT_EQ(none.status, kUsage);
  EXPECT_NE(none.output.find("has not run yet"), std::string::npos) << none.output;
}

TEST_F(JobsTest, RetryAndAddWithoutARunner) {
  const std::string run =
      "run --name r --quiet --workers 1 -- sh -c 'echo {n} >> ran; [ {n} = 1 ] || [ -e go ]' ::: n "
      "1..3";
  EXPECT_EQ(Jobs(run).status, kFailedSteps);
  EXPECT_NE(Jobs("retry r 1").output.find("job r has no failed steps"), std::string::npos);
  EXPECT_EQ(Jobs("retry r 4").status, kUsage);
  EXPECT_NE(Jobs("retry r n=2").output.find("job r: 1 step requeued"), std::string::npos);
  EXPECT_NE(Jobs("list").output.find("1 of 3 done, 1 failed"), std::string::npos);
  EXPECT_NE(Jobs("retry r").output.find("job r: 1 step requeued"), std::string::npos);
  const std::string more = "add r -- sh -c 'echo {n} >> ran; [ {n} = 1 ] || [ -e go ]' ::: n 3..5";
  EXPECT_NE(Jobs(more).output.find("2 steps added, 1 already present"), std::string::npos);
  EXPECT_NE(Jobs(more).output.find("0 steps added, 3 already present"), std::string::npos);
  platform::Shell("touch " + (folder_ / "go").string());
  EXPECT_EQ(Jobs(run).status, kDone);
  EXPECT_NE(Jobs("list").output.find("5 of 5 done"), std::string::npos);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n2\n3\n4\n5\n");
  EXPECT_EQ(Jobs("add r --workers 2 -- true").status, kUsage);
  EXPECT_EQ(Jobs("add nobody -- true").status, kUsage);
  EXPECT_EQ(Jobs("add").status, kUsage);
}

TEST_F(JobsTest, AddNeverStoresValuesOfVariables) {
  const std::string run = "run --name s --quiet -- sh -c 'echo {n} $WORD >> ran' ::: n 1";
  ASSERT_EQ(Jobs(run).status, kDone);
  const std::string more = "-- sh -c 'echo {n} $WORD >> ran' ::: n 2";
  const auto refused = Jobs("add s --env WORD=hush5e " + more);
  EXPECT_EQ(refused.status, kUsage);
  EXPECT_NE(refused.output.find("--identity-env WORD"), std::string::npos);
  EXPECT_EQ(refused.output.find("hush5e"), std::string::npos) << refused.output;
  std::ofstream(folder_ / "job.toml") << "run = 'true'\nenvironment = { WORD = 'hush5e' }\n";
  EXPECT_EQ(Jobs("add s --job job.toml").status, kUsage);
  setenv("WORD", "hush5e", 1);
  EXPECT_EQ(Jobs("add s --identity-env WORD " + more).output,
            "1 step added; the same `reveza jobs run` runs them\n");
  EXPECT_EQ(Jobs(run).status, kDone);
  unsetenv("WORD");
  EXPECT_EQ(Text("ran"), "1\n2 hush5e\n");
  EXPECT_NE(platform::Shell("grep -r hush5e " + (folder_ / "state").string()).status, 0);
}

TEST_F(JobsTest, KeepOrderSkipsFinishedSteps) {
  EXPECT_EQ(Jobs("run --name o --quiet --output keep-order --workers 3 -- "
                 "sh -c 'sleep 0.$((4-{n})); echo {n}' ::: n 1..3 2>&1")
                .output,
            "1\n2\n3\n");
  EXPECT_EQ(Jobs("run --name o --quiet --output keep-order -- "
                 "sh -c 'sleep 0.$((4-{n})); echo {n}' ::: n 1..4 2>&1")
                .output,
            "4\n");
}

TEST_F(JobsTest, PrintsJsonEventsAndWritesAJoblog) {
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

TEST_F(JobsTest, SummarisesMetricsInTheLastEventAndInShow) {
  std::ofstream(folder_ / "cycles.sh") << "for i in 1 2 4; do echo reveza step $i phi=0.$i; done\n";
  const auto run = Jobs("run --name m --json --cycles 4 -- sh cycles.sh {from}");
  EXPECT_EQ(run.status, kDone) << run.output;
  nlohmann::json last;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  ASSERT_EQ(last["event"], "progress") << run.output;
  EXPECT_EQ(last["done"], 1);
  EXPECT_EQ(last["waiting"], 0);
  EXPECT_GT(last["rate"].get<double>(), 0);
  for (const char* key : {"eta", "reason"}) EXPECT_TRUE(last.contains(key)) << last;
  EXPECT_EQ(last["metrics"]["phi"]["count"], 3) << last;
  const auto shown = nlohmann::json::parse(Jobs("show m --json").output);
  EXPECT_EQ(shown["metrics"], last["metrics"]);
  EXPECT_DOUBLE_EQ(shown["metrics"]["phi"]["min"], 0.1);
  EXPECT_DOUBLE_EQ(shown["metrics"]["phi"]["final"], 0.4);
  EXPECT_NE(Jobs("show m").output.find("\nphi 0.4 (min 0.1, mean 0.2333, max 0.4)\n"),
            std::string::npos)
      << Jobs("show m").output;
}

TEST_F(JobsTest, ControlsADetachedJob) {
  const auto run = Jobs(
      "run --name d --workers 2 --detach -- "
      "sh -c 'touch begun; while [ ! -e go ]; do sleep 0.02; done' {n} ::: n 1..3");
  ASSERT_EQ(run.status, kDone) << run.output;
  Await("begun");
  EXPECT_EQ(Jobs("run --name d -- true {n} ::: n 1..3").status, kBusyJob);
  EXPECT_EQ(Jobs("run --name d --detach -- true {n} ::: n 1..3").status, kBusyJob);
  const auto why = Jobs("why d");
  EXPECT_EQ(why.status, kDone);
  EXPECT_NE(why.output.find("0 of 3 done"), std::string::npos) << why.output;
  EXPECT_EQ(Jobs("pause d").status, kDone);
  EXPECT_EQ(Jobs("resume d").status, kDone);
  EXPECT_EQ(Jobs("prune d").status, kBusyJob);
  const auto added = Jobs("add d -- true {n} ::: n 1..2");
  EXPECT_EQ(added.output, "2 steps added\n");
  EXPECT_NE(Jobs("why d").output.find("0 of 5 done"), std::string::npos);
  EXPECT_EQ(Jobs("retry d").output, "job d has no failed steps\n");
  EXPECT_EQ(Jobs("cancel d").status, kDone);
  EXPECT_EQ(Jobs("wait d").status, kFailedSteps);
  EXPECT_EQ(Jobs("pause d").status, kBusyJob);
}

TEST_F(JobsTest, WaitFindsAJobThatWasDetachedJustNow) {
  for (const std::string name : {"a", "b", "c"}) {
    ASSERT_EQ(Jobs("run --name " + name + " --detach -- sleep 0.0{n} ::: n 1..3").status, kDone);
    const auto waited = Jobs("wait " + name);
    EXPECT_EQ(waited.status, kDone) << waited.output;
  }
}

TEST_F(JobsTest, DetachReportsNoFailedSteps) {
  for (int i = 0; i < 5; ++i) {
    const std::string name = "f" + std::to_string(i);
    EXPECT_EQ(Jobs("run --name " + name + " --detach -- false {n} ::: n 1..1").status, kDone);
    EXPECT_EQ(Jobs("wait " + name).status, kFailedSteps);
    EXPECT_EQ(Jobs("run --name " + name + " --detach --retries 0 -- false {n} ::: n 1..1").status,
              kDone);
  }
}

TEST_F(JobsTest, DetachReportsARunnerThatCannotBegin) {
  ASSERT_EQ(Jobs("run --name f -- true {n} ::: n 1..2").status, kDone);
  std::ofstream(folder_ / "state/jobs/f/journal.db") << "this is no database any more, at all";
  const auto run = Jobs("run --name f --detach -- true {n} ::: n 1..2");
  EXPECT_EQ(run.status, kDamagedJournal) << run.output;
  EXPECT_NE(run.output.find("ended with status 22; its log is "), std::string::npos) << run.output;
}

TEST_F(JobsTest, PauseReportsThatGpuStepsFinish) {
  const auto run = Jobs(
      "run --name g --workers 1 --detach --shell -- "
      "': reveza run; touch begun; while [ ! -e go ]; do sleep 0.02; done' ::: n 1..2");
  ASSERT_EQ(run.status, kDone) << run.output;
  Await("begun");
  const std::string said = "the job is paused; a step on a GPU runs to its end\n";
  EXPECT_EQ(Jobs("pause g").output, said);
  EXPECT_NE(Jobs("why g").output.find(said), std::string::npos);
  EXPECT_NE(Jobs("show g").output.find(said), std::string::npos);
  EXPECT_EQ(Jobs("cancel g").status, kDone);
  EXPECT_EQ(Jobs("wait g").status, kFailedSteps);
}

TEST_F(JobsTest, RepairsADamagedJournal) {
  ASSERT_EQ(Jobs("run --name r --quiet -- sh -c 'echo {n} >> ran' ::: n 1..3").status, kDone);
  std::ofstream(folder_ / "state/jobs/r/journal.db") << "this is no database any more, at all";
  const auto refused = Jobs("run --name r --quiet -- sh -c 'echo {n} >> ran' ::: n 1..3");
  EXPECT_EQ(refused.status, kDamagedJournal);
  EXPECT_NE(refused.output.find("reveza jobs repair r"), std::string::npos) << refused.output;
  EXPECT_EQ(Jobs("repair r").status, kDone);
  EXPECT_EQ(Jobs("run --name r --quiet -- sh -c 'echo {n} >> ran' ::: n 1..3").status, kDone);
  EXPECT_EQ(Text("ran").size(), 6u);
}

TEST_F(JobsTest, TuneShowsMeasurementsAndFailuresAreExplained) {
  EXPECT_EQ(
      Jobs("run --name t --quiet --max-workers 2 -- sh -c 'sleep 0.02' {n} ::: n 1..60").status,
      kDone);
  EXPECT_NE(Jobs("tune t").output.find("workers"), std::string::npos);
  const auto run = Jobs(
      "run --name a -- sh -c 'echo \"cannot allocate memory for thread-local data: "
      "ABORT\" >&2; exit 127' {n} ::: n 1");
  EXPECT_NE(run.output.find("step n=1 failed with status 127 ("), std::string::npos) << run.output;
}

// On a 16 MiB disk that is almost full until space is freed.
TEST_F(JobsTest, FullDiskStartsNoStepsAndLosesNothing) {
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
      // Frees space once the runner has reported the full disk.
      << "i=0; while [ $i -lt 600 ] && ! grep -q 'no new steps start\\|was not started' " << said
      << "; do sleep 0.05; i=$((i+1)); done\n"
      << "rm " << disk << "/filler; wait $!\n";
  const auto ran = platform::Shell("unshare --mount sh " + (folder_ / "script").string());
  EXPECT_EQ(ran.status, kDone) << Text("said");
  EXPECT_TRUE(Text("said").contains("no new steps start") ||
              Text("said").contains("was not started"))
      << Text("said");
  // Each once, as a step that could not start was not started at all; but those that ended while
  // the disk was full again, because they may have lost their output.
  std::istringstream lines(Text("begun"));
  std::set<std::string> steps;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) steps.insert(line);
  int lost = 0;
  std::istringstream notes(Text("said"));
  for (std::string line; std::getline(notes, line);) lost += line.contains("the disk was full");
  EXPECT_EQ(count, 400 + lost);
  EXPECT_LE(lost, 2);
  EXPECT_EQ(steps.size(), 400u);
}

TEST_F(JobsTest, ReportsUsageErrors) {
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

}  // namespace jobs_test
}  // namespace reveza::cli
