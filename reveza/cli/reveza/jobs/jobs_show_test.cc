// What `reveza jobs` says of jobs that have run, and of the outputs of steps while they run.
#include <nlohmann/json.hpp>
#include <string>

#include "common/platform/testing_terminal.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"

namespace reveza::cli {
namespace jobs_show_test {

using JobsShow = JobsTest;

testing::AssertionResult Has(const std::string& text, const std::string& part) {
  if (text.contains(part)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(JobsShow, ListAndShowHaveStateStartAndCommand) {
  Jobs("run --name bad --quiet -- sh -c 'exit {n}' ::: n 0..1");
  Jobs("run --name good --quiet -- true {n} ::: n 1..2");
  const std::string list = Jobs("list").output;
  EXPECT_TRUE(Has(list, "sh -c 'exit {n}'")) << list;
  EXPECT_TRUE(Has(list, "\nbad   failed ")) << list;
  EXPECT_TRUE(Has(list, "\ngood  done ")) << list;
  const std::string show = Jobs("show good").output;
  EXPECT_TRUE(Has(show, "command: true {n}\nfolder: " + folder_.path().string() + "\n"));
  EXPECT_TRUE(Has(show, "\nstarted: 20"));
  const auto json = nlohmann::json::parse(Jobs("list --json").output);
  EXPECT_EQ(json[0]["state"], "failed");
  EXPECT_GT(json[1]["began"].get<double>(), 1.7e9);
  EXPECT_GT(json[1]["elapsed"].get<double>(), 0);
}

TEST_F(JobsShow, WhyExplainsEachWayInWhichStepsFailed) {
  Jobs(
      "run --name f --quiet -- sh -c 'echo first {n} >&2; echo last {n} >&2; exit $(({n}%2+2))' "
      "::: n 1..5");
  const std::string why = Jobs("why f").output;
  EXPECT_TRUE(Has(why, "f: not running; failed (started 20"));
  EXPECT_TRUE(Has(why, "5 of 5 steps did not succeed"));
  EXPECT_TRUE(Has(why,
                  "  2 steps: failed with status 2, first n=2; its errors end with "
                  "\"last 2\"\n"));
  EXPECT_TRUE(Has(why,
                  "  3 steps: failed with status 3, first n=1; its errors end with "
                  "\"last 1\"\n"));
  EXPECT_EQ(CountOf(why, "failed with"), 2u);
}

TEST_F(JobsShow, WhyTellsErrorsApartThatHaveTheSameStatus) {
  Jobs(
      "run --name f --quiet -- sh -c 'case {n} in 2) echo no disk;; *) echo bad value {n};; esac "
      ">&2; exit 1' ::: n 1..3");
  const std::string why = Jobs("why f").output;
  EXPECT_TRUE(Has(why,
                  "  2 steps: failed with status 1, first n=1; its errors end with "
                  "\"bad value 1\"\n  1 step: failed with status 1, first n=2; its errors end "
                  "with \"no disk\"\n"));
  Jobs("run --name one --quiet -- true");
  EXPECT_TRUE(Has(Jobs("why one").output, "the step is done\n"));
}

TEST_F(JobsShow, EscapesControlCharacters) {
  const auto run =
      Jobs("run --name x --shell -- 'echo a\necho {n} >&2; exit 1' ::: n '\x1b[31m\x07' 2>&1");
  EXPECT_TRUE(Has(run.output, "step n=\\x1b[31m\\x07 failed with status 1"));
  std::string said = run.output;
  for (const char* words : {"list", "show x", "why x", "table x"}) {
    said += Jobs(words).output;
  }
  EXPECT_EQ(CountOf(said, "\x1b"), 0u) << said;
  EXPECT_EQ(CountOf(Jobs("list").output, "\n"), 2u) << "a job has one line";
  const auto shown = nlohmann::json::parse(Jobs("show x --json").output);
  EXPECT_EQ(shown["failed"][0]["label"], "n=\x1b[31m\x07");
}

TEST_F(JobsShow, ListTruncatesCommandsBetweenCharacters) {
  std::string word;
  for (int i = 0; i < 80; ++i) word += "é";
  Jobs("run --name u --quiet -- true " + word);
  Jobs("run --name v --quiet -- true x" + word);
  EXPECT_NO_THROW(nlohmann::json(Jobs("list").output).dump()) << "UTF-8";
}

TEST_F(JobsShow, ProgressOfCyclesIsSeenFromOutside) {
  const auto run = Jobs(
      "run --name c --detach --cycles 3 --shell -- 'echo reveza step 1; touch begun; until [ -e "
      "go ]; do sleep 0.02; done; echo reveza step 2; echo reveza step 3'");
  ASSERT_EQ(run.status, kDone) << run.output;
  Await("begun");
  const std::string progress = "0 of 1 done, 1 of 3 cycles";
  for (int i = 0; i < 600 && !Jobs("list").output.contains(progress); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(Has(Jobs("list").output, progress));
  EXPECT_TRUE(Has(Jobs("why c").output, progress));
  EXPECT_TRUE(Has(Jobs("show c").output, "0 of 1 steps done, 1 of 3 cycles,"));
  EXPECT_EQ(nlohmann::json::parse(Jobs("show c --json").output)["cycles"]["done"], 1);
  platform::Shell("cd " + folder_.path().string() +
                  " && { " REVEZA_PROGRAM
                  " jobs follow c > followed & until [ -s followed ]; do sleep 0.02; done; touch "
                  "go; wait; }");
  EXPECT_TRUE(Has(Text("followed"), "c: " + progress));
}

TEST_F(JobsShow, WhyExplainsInterruptedAndKilledRunners) {
  platform::Shell("cd " + folder_.path().string() +
                  "; " REVEZA_PROGRAM
                  " jobs run --name i --quiet --workers 1 -- "
                  "sh -c 'touch on{n}; until [ -e go ]; do sleep 0.02; done' ::: n 1..3 "
                  "> said 2>&1 < /dev/null & "
                  "until [ -e on1 ]; do sleep 0.02; done; sleep 0.3; kill -9 $!");
  std::string why = Jobs("why i").output;
  EXPECT_TRUE(Has(why, "i: not running; killed"));
  EXPECT_TRUE(Has(why, "it was killed, or the machine went down"));
  EXPECT_TRUE(Has(why, "steps are left; the same `reveza jobs run` resumes the job"));
  platform::Shell("touch " + (folder_ / "go").string());
  EXPECT_EQ(Jobs("run --name i --quiet --workers 1 -- "
                 "sh -c 'touch on{n}; until [ -e go ]; do sleep 0.02; done' ::: n 1..3")
                .status,
            kDone);
  EXPECT_TRUE(Has(Jobs("why i").output, "all 3 steps are done\n"));
}

TEST_F(JobsShow, ComparesWhatBothJobsHaveDone) {
  const auto run = [&](const std::string& name, const std::string& words) {
    return Jobs("run --name " + name + " --quiet --cycles 1 -- " + words).status;
  };
  EXPECT_EQ(run("a", "sh -c 'echo reveza step 1 loss={n}' ::: n 2..3"), kDone);
  EXPECT_EQ(run("b", "sh -c 'echo reveza step 1 loss=3; [ {n} != 4 ]' ::: n 3..4"), kFailedSteps);
  const std::string text = Jobs("compare a b").output;
  EXPECT_TRUE(Has(text, "\nloss "));
  EXPECT_TRUE(Has(text, "1 step done in both; 1 only in a, 0 only in b\n")) << text;
  const auto rows = nlohmann::json::parse(Jobs("compare a b --json").output);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1]["state_a"], "done");
  EXPECT_EQ(rows[2]["state_b"], "failed");
  EXPECT_EQ(Jobs("compare a").status, kUsage);
  EXPECT_EQ(Jobs("compare a c").status, kUsage);
}

TEST_F(JobsShow, TableHasParametersAsGiven) {
  Jobs("run --name o --quiet -- true {o} ::: o 'lr=0.1 mom=0.9' 'lr=0.2 mom=0.5'");
  EXPECT_TRUE(Has(Jobs("table o --csv").output, "step,o,state,"));
  EXPECT_TRUE(Has(Jobs("table o --csv").output, "\n2,lr=0.2 mom=0.5,done,"));
  folder_.Write("in", "a=1 b=2\n");
  Jobs("run --name l --quiet --stdin -- true {line} < in; :");
  const auto lines = nlohmann::json::parse(Jobs("table l --json").output);
  EXPECT_EQ(lines[0]["line"], "a=1 b=2");
  Jobs("add o -- false {o} {p} ::: o 'x p=1' ::: p 'p=2'");
  const auto added = nlohmann::json::parse(Jobs("table o --json").output);
  ASSERT_EQ(added.size(), 3u);
  EXPECT_EQ(added[2]["o"], "x p=1");
  EXPECT_EQ(added[2]["p"], "p=2");
  EXPECT_EQ(added[2]["command"], 2);
}

TEST_F(JobsShow, AJobIsAsItIs) {
  folder_.Write("job.toml",
                "[[steps]]\nname = 'a'\nrun = 'true'\nparameters = { seed = '1..2' }\n"
                "[[steps]]\nrun = 'sleep 0.1'\nafter = 'a'\nparameters = { seed = '1..2' }\n");
  EXPECT_EQ(Jobs("run --name s --quiet --job job.toml").status, kDone);
  Jobs("run --name e --quiet -- sleep 0.0{n} ::: n 1 2 1 ::: m 1 1");
  for (const std::string job : {"s", "e"}) {
    const auto rows = nlohmann::json::parse(Jobs("compare " + job + " " + job + " --json").output);
    EXPECT_EQ(rows.size(), job == "s" ? 4u : 6u);
    for (const auto& row : rows) {
      EXPECT_EQ(row["began_a"], row["began_b"]);
      EXPECT_EQ(row["seconds_a"], row["seconds_b"]);
    }
  }
  EXPECT_TRUE(Has(Jobs("table s --csv").output, "\n4,2,2,done,"));
}

TEST_F(JobsShow, DryRunSaysWhatIsDoneAlready) {
  const std::string run = "run --name d --quiet -- sh -c 'exit {n}' ::: n ";
  EXPECT_EQ(CountOf(Jobs(run + "0..2 --dry-run").output, "already"), 0u);
  Jobs(run + "0..2");
  EXPECT_TRUE(Has(Jobs("run --dry-run --name d -- sh -c 'exit {n}' ::: n 0..9").output,
                  "  already    1 of 10 steps done, 2 failed (--retry-failed runs them "
                  "again)\n"));
}

TEST_F(JobsShow, DryRunFailsAndExplainsAsTheRunDoes) {
  const std::string cycles = " -- sh -c 'seq -f \"reveza step %g\" {from} {to}'";
  Jobs("run --name c --quiet --cycles 2" + cycles);
  EXPECT_TRUE(Has(Jobs("run --name c --cycles 2 --dry-run" + cycles).output,
                  "  already    1 of 1 step done\n"));
  EXPECT_TRUE(Has(Jobs("run --name c --cycles 3 --dry-run" + cycles).output,
                  "  already    0 of 1 step done, 1 continued after the cycles so far\n"));
  std::filesystem::create_directories(folder_ / "other");
  Jobs("run --quiet -- true {n} ::: n 1..2");
  EXPECT_TRUE(Has(Jobs("run --dry-run --folder other -- true {n} ::: n 1..2").output,
                  "runs the same command in another folder"));
  const auto missing = Jobs("run --dry-run -- no-such-program");
  EXPECT_EQ(missing.status, kUsage);
  EXPECT_TRUE(Has(missing.output, "program 'no-such-program' not found in PATH"));
}

TEST_F(JobsShow, StopsWhenAGoalIsMet) {
  const std::string command = "--workers 1 -- sh -c 'echo reveza step 1 loss=0.{n}' ::: n 9..1";
  const auto run = Jobs("run --name g --cycles 1 --halt 'soon,loss<0.75' " + command);
  EXPECT_EQ(run.status, kDone) << run.output;
  EXPECT_TRUE(Has(run.output, "the goal of --halt was met; 6 of 9 steps are not done"));
  EXPECT_TRUE(Has(Jobs("why g").output, "step n=7 reported loss=0.7"));
  const auto refused = Jobs("run --name g --halt 'soon,loss<0.75' " + command);
  EXPECT_EQ(refused.status, kUsage);
  EXPECT_TRUE(Has(refused.output, "only steps with --cycles report metrics"));
}

TEST_F(JobsShow, TagsTheLinesOfAFewStepsOnATerminal) {
  platform::TestingTerminal terminal(
      "sh -c \"cd " + folder_.path().string() +
      " && exec " REVEZA_PROGRAM
      " jobs run --name t --workers 2 -- sh -c 'echo out {n}; echo err >&2; printf end' ::: n "
      "9..10\"");
  ASSERT_TRUE(terminal.WaitUntil([&] { return terminal.written().contains("2 of 2"); }));
  for (const char* line : {"n=9  | out 9\r\n", "n=9  | err\r\n", "n=9  | end\r\n",
                           "n=10 | out 10\r\n", "n=10 | end\r\n"}) {
    EXPECT_EQ(CountOf(terminal.written(), line), 1u) << line << terminal.written();
  }
}

TEST_F(JobsShow, TagsWhereAskedToAndNotElsewhere) {
  const std::string run = "run --quiet --workers 1 --name ";
  const std::string command = " -- sh -c 'echo {n}' ::: n 1..2 2>&1";
  EXPECT_EQ(Jobs(run + "a" + command).output, "") << "no terminal";
  EXPECT_EQ(Jobs(run + "b --output tag" + command).output, "n=1 | 1\nn=2 | 2\n");
  EXPECT_EQ(Jobs(run + "c --output quiet" + command).output, "");
  EXPECT_EQ(Jobs(run + "d --output loud" + command).status, kUsage);
}

TEST_F(JobsShow, TagsLinesOfEachAttempt) {
  EXPECT_EQ(Jobs("run --name r --quiet --workers 1 --retries 1 --output tag -- "
                 "sh -c 'echo again; [ -e was ] || { touch was; exit 1; }' 2>&1")
                .output,
            "1 | again\nstep 1 failed with status 1; it will be retried\n1 | again\n");
}

}  // namespace jobs_show_test
}  // namespace reveza::cli
