#include "runner/definition/job_file.h"

#include <gtest/gtest.h>

#include <chrono>

#include "platform/testing_directory.h"

namespace reveza::runner {
namespace {

Result<Job> Toml(std::string_view text) { return ParseJob(text, JobFormat::kToml, "f", "/here"); }

std::string Refusal(std::string_view text) {
  const auto job = Toml(text);
  return job ? "" : job.error().message;
}

// Of a job that is fine but for `text`.
std::string RefusalOf(std::string_view text) { return Refusal("run = 'a'\n" + std::string(text)); }

std::vector<std::string> Labels(const Job& job) {
  std::vector<std::string> labels;
  for (const Step& step : job.steps) {
    std::string& label = labels.emplace_back(job.commands[step.command].arguments[0]);
    for (const Parameter& parameter : step.parameters) {
      label += " " + parameter.name + "=" + parameter.value;
    }
  }
  return labels;
}

constexpr char kWhole[] = R"(
name = "sweep"
run = "./simulate --seed {seed} 'it''s'"
folder = "runs"
shell = false
time_limit = "90s"
priority = 3
cpus = 0.5
memory = "2GiB"
gpu_memory = "1GiB"
inputs = ["data.bin", "{seed}.txt"]
identity_environment = "MODEL"
cycles = 500
chain = 50
environment = { A = "x {seed}", B = 2 }

[parameters]
seed = "1..3"
model = ["b", "a"]
)";

void ExpectWhole(const Job& job) {
  EXPECT_EQ(job.name, "sweep");
  ASSERT_EQ(job.commands.size(), 1u);
  const Command& command = job.commands[0];
  EXPECT_EQ(command.arguments, (std::vector<std::string>{"./simulate", "--seed", "{seed}", "its"}));
  EXPECT_EQ(command.folder, "/here/runs");
  EXPECT_FALSE(command.shell);
  EXPECT_EQ(command.time_limit, std::chrono::seconds(90));
  EXPECT_EQ(command.priority, 3);
  EXPECT_EQ(command.claim, (Claim{.cpus = 0.5, .memory = 2 * kGiB, .gpu_memory = kGiB}));
  EXPECT_EQ(command.inputs, (std::vector<std::string>{"data.bin", "{seed}.txt"}));
  EXPECT_EQ(command.identity_variables, std::vector<std::string>{"MODEL"});
  EXPECT_EQ(command.cycles, (Cycles{.count = 500, .chain = 50}));
  EXPECT_EQ(command.environment,
            (std::vector<std::pair<std::string, std::string>>{{"A", "x {seed}"}, {"B", "2"}}));
  ASSERT_EQ(job.steps.size(), 6u);
  EXPECT_EQ(Labels(job)[1], "./simulate seed=1 model=a") << "in the order of the file";
}

TEST(JobFile, HasAKeyForEverything) {
  const auto job = Toml(kWhole);
  ASSERT_TRUE(job) << job.error().message;
  ExpectWhole(*job);
}

TEST(JobFile, IsTheSameInJson) {
  const auto job = ParseJob(R"({"name": "sweep", "run": ["./simulate", "--seed", "{seed}", "its"],
    "folder": "runs", "shell": false, "time_limit": "90s", "priority": 3, "cpus": 0.5,
    "memory": "2GiB", "gpu_memory": "1GiB", "inputs": ["data.bin", "{seed}.txt"],
    "identity_environment": ["MODEL"], "cycles": 500, "chain": 50,
    "environment": {"A": "x {seed}", "B": 2},
    "parameters": {"seed": "1..3", "model": ["b", "a"]}})",
                            JobFormat::kJson, "f", "/here");
  ASSERT_TRUE(job) << job.error().message;
  ExpectWhole(*job);
}

TEST(JobFile, ValuesOfAListAreTakenAsTheyAre) {
  const auto job = Toml("run = 'a'\nparameters = { p = ['1..3', 2, 0.5, true] }");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(Labels(*job), (std::vector<std::string>{"a p=1..3", "a p=2", "a p=0.5", "a p=true"}));
  EXPECT_EQ(Labels(*Toml("run = 'a'\nparameters = { p = 7 }")), std::vector<std::string>{"a p=7"});
}

TEST(JobFile, LinkedParametersGoTogether) {
  const auto job =
      Toml("run = 'a'\nlinked = ['p', 'q']\nparameters = { p = [1, 2], r = [8, 9], q = '3..4' }");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(Labels(*job), (std::vector<std::string>{"a p=1 q=3 r=8", "a p=1 q=3 r=9",
                                                    "a p=2 q=4 r=8", "a p=2 q=4 r=9"}));
  EXPECT_TRUE(Toml("run = 'a'\nlinked = [['p', 'q']]\nparameters = { p = 1, q = 2 }"));
  EXPECT_EQ(RefusalOf("linked = ['p', 'q']\nparameters = { p = [1, 2], q = [3] }"),
            "f:3:32: 'q' has 1 values and 'p', which it is linked with, has 2; give both as many");
  EXPECT_EQ(RefusalOf("linked = ['p', 'qq']\nparameters = { p = 1, q = 2 }"),
            "f:2:10: linked: there is no parameter 'qq'; did you mean 'q'?");
  EXPECT_EQ(RefusalOf("linked = 'p'").find("f:2:10: linked is a list"), 0u);
  EXPECT_EQ(RefusalOf("linked = [1]").find("f:2:11: linked is a list"), 0u);
}

TEST(JobFile, StepsWaitForOthers) {
  const auto job = Toml(R"(
memory = "1GiB"
environment = { A = "1", B = "1" }
[[steps]]
name = "all"
run = "merge"
after = ["each", "first"]
environment = { B = "2" }
[[steps]]
name = "each"
run = "work {seed}"
after = "first"
parameters = { seed = "1..2" }
[[steps]]
name = "first"
run = "prepare"
memory = "2GiB"
)");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(Labels(*job),
            (std::vector<std::string>{"merge", "work seed=1", "work seed=2", "prepare"}));
  EXPECT_EQ(job->steps[0].after, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(job->steps[2].after, std::vector<std::uint32_t>{3});
  EXPECT_TRUE(job->steps[3].after.empty());
  EXPECT_EQ(job->commands[0].claim.memory, kGiB) << "what all have in common";
  EXPECT_EQ(job->commands[2].claim.memory, 2 * kGiB);
  EXPECT_EQ(job->commands[0].environment,
            (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "2"}}));
}

TEST(JobFile, NamesACircleOfSteps) {
  EXPECT_EQ(Refusal("[[steps]]\nname = 'a'\nrun = 'x'\nafter = 'b'\n"
                    "[[steps]]\nname = 'b'\nrun = 'x'\nafter = ['c']\n"
                    "[[steps]]\nname = 'c'\nrun = 'x'\nafter = 'a'\n"),
            "f:4:9: steps wait for each other: a waits for b waits for c waits for a; take one of "
            "these away");
  EXPECT_NE(Refusal("[[steps]]\nname = 'a'\nrun = 'x'\nafter = 'a'\n").find("a waits for a"),
            std::string::npos);
  EXPECT_EQ(Refusal("[[steps]]\nname = 'first'\nrun = 'x'\n[[steps]]\nrun = 'y'\nafter = 'frist'"),
            "f:6:9: after: no step is called 'frist'; did you mean 'first'?");
  EXPECT_NE(Refusal("[[steps]]\nrun = 'x'\nafter = ''"), "");
}

TEST(JobFile, BoundsWhatWaits) {
  EXPECT_EQ(Refusal("[[steps]]\nname = 'a'\nrun = 'x'\nparameters = { p = '1..4000' }\n"
                    "[[steps]]\nrun = 'y'\nafter = 'a'\nparameters = { p = '1..4000' }\n")
                .find("f:7:9: too many steps wait"),
            0u);
}

TEST(JobFile, ProposesTheNearestKey) {
  EXPECT_EQ(RefusalOf("time_limt = '5s'"),
            "f:2:1: unknown key 'time_limt'; did you mean 'time_limit'?");
  EXPECT_EQ(RefusalOf("xyzzyxyzzy = 1"), "f:2:1: unknown key 'xyzzyxyzzy'");
  EXPECT_EQ(Refusal("[[steps]]\nrum = 'x'"), "f:2:1: unknown key 'rum'; did you mean 'run'?");
  EXPECT_EQ(Refusal("[[step]]\nrun = 'x'"), "f:1:3: unknown key 'step'; did you mean 'steps'?");
}

TEST(JobFile, SaysWhatIsMissingOrTwice) {
  EXPECT_EQ(Refusal("").find("f:1:1: run what?"), 0u);
  EXPECT_EQ(Refusal("run = ''"), "f:1:7: run what? the command is empty");
  EXPECT_EQ(Refusal("run = ['', 'a']"), "f:1:7: run what? the command is empty");
  EXPECT_EQ(Refusal("[[steps]]\nname = 'a'").find("f:1:1: a step without run"), 0u);
  EXPECT_EQ(Refusal("steps = []").find("f:1:9: steps is a list of tables"), 0u);
  EXPECT_EQ(Refusal("steps = [1]").find("f:1:10: steps is a list of tables"), 0u);
  EXPECT_EQ(RefusalOf("[[steps]]\nrun = 'x'"), "f:1:7: either run or steps, not both");
  EXPECT_EQ(Refusal("parameters = { a = 1 }\n[[steps]]\nrun = 'x'").find("f:1:14: parameters go"),
            0u);
  EXPECT_EQ(Refusal("[[steps]]\nrun = 'x'\n[[commands]]\nrun = 'x'").find("f:3:"), 0u);
  EXPECT_EQ(Refusal("[[steps]]\nname = 'a'\nrun = 'x'\n[[steps]]\nname = 'a'\nrun = 'x'"),
            "f:4:1: two steps are called 'a'");
  EXPECT_EQ(RefusalOf("after = 'a'").find("f:2:1: 'after' goes with one of several"), 0u);
  EXPECT_EQ(RefusalOf("chain = 5"), "f:2:1: chain needs cycles");
}

TEST(JobFile, SaysWhichValueIsWrong) {
  EXPECT_EQ(RefusalOf("memory = 5"), "f:2:10: memory has a unit; write memory = \"2GiB\"");
  EXPECT_EQ(RefusalOf("memory = '5'").find("f:2:10: '5' has no unit"), 0u);
  EXPECT_EQ(RefusalOf("gpu_memory = 'x'").find("f:2:14: "), 0u);
  EXPECT_EQ(RefusalOf("time_limit = 5").find("f:2:14: time_limit has a unit"), 0u);
  EXPECT_EQ(RefusalOf("time_limit = '0s'"), "f:2:14: time_limit is more than 0");
  EXPECT_EQ(RefusalOf("cpus = 0"), "f:2:8: cpus is a number above 0, such as 2 or 0.5");
  EXPECT_EQ(RefusalOf("cpus = inf").find("f:2:8: cpus"), 0u);
  EXPECT_EQ(RefusalOf("cpus = '2'").find("f:2:8: cpus"), 0u);
  EXPECT_EQ(RefusalOf("priority = 1.5").find("f:2:12: priority"), 0u);
  EXPECT_EQ(RefusalOf("priority = 99999999999").find("f:2:12: priority"), 0u);
  EXPECT_EQ(RefusalOf("cycles = 0"), "f:2:10: cycles is a whole number from 1");
  EXPECT_EQ(RefusalOf("cycles = -1"), "f:2:10: cycles is a whole number from 1");
  EXPECT_EQ(RefusalOf("shell = 'yes'"), "f:2:9: shell is true or false");
  EXPECT_EQ(RefusalOf("name = 5"), "f:2:8: name is a text; write it in quotes");
  EXPECT_EQ(RefusalOf("folder = 5").find("f:2:10: folder"), 0u);
  EXPECT_EQ(RefusalOf("inputs = 5").find("f:2:10: inputs"), 0u);
  EXPECT_EQ(RefusalOf("inputs = ['a', 5]").find("f:2:16: inputs"), 0u);
  EXPECT_EQ(RefusalOf("environment = 5").find("f:2:15: environment"), 0u);
  EXPECT_EQ(RefusalOf("environment = { A = [] }").find("f:2:21: A has one"), 0u);
  EXPECT_EQ(RefusalOf("environment = { 'A=B' = 1 }").find("f:2:17: 'A=B' cannot"), 0u);
  EXPECT_EQ(RefusalOf("parameters = 5").find("f:2:14: parameters is a table"), 0u);
  EXPECT_EQ(RefusalOf("parameters = { p = [] }"), "f:2:20: p has no values");
  EXPECT_EQ(RefusalOf("parameters = { p = [[]] }").find("f:2:21: a value is"), 0u);
  EXPECT_EQ(RefusalOf("parameters = { p = 2026-11-22 }").find("f:2:20: values are a list"), 0u);
  EXPECT_EQ(RefusalOf("parameters = { p = '1..5..0' }").find("f:2:20: '1..5..0' never"), 0u);
  EXPECT_EQ(RefusalOf("parameters = { slot = 1 }").find("f:2:16: 'slot' is built in"), 0u);
  EXPECT_EQ(RefusalOf("parameters = { a = '1..2000', b = '1..2000' }").find("f:2:14: the grid"),
            0u);
}

TEST(JobFile, SaysWhichCommandIsWrong) {
  EXPECT_EQ(Refusal("\nrun = 'a {sed}'\nparameters = { seed = 1 }"),
            "f:2:7: in '{sed}': unknown parameter '{sed}'; did you mean {seed}? (write {{sed}} for "
            "the text itself)");
  EXPECT_EQ(Refusal("run = 'a | b'").find("f:1:7: '|' means nothing without a shell"), 0u);
  EXPECT_EQ(Refusal("run = 5").find("f:1:7: run is a text or a list"), 0u);
  EXPECT_EQ(Refusal("run = ['a', ['b']]").find("f:1:13: a word"), 0u);
  EXPECT_EQ(Refusal("shell = true\nrun = ['a', 'b']").find("f:2:7: a line for the shell"), 0u);
  const auto shell = Toml("shell = true\nrun = 'a | b'");
  ASSERT_TRUE(shell);
  EXPECT_EQ(shell->commands[0].arguments, std::vector<std::string>{"a | b"});
}

TEST(JobFile, SaysWhereItIsNoToml) {
  EXPECT_EQ(Refusal("run = \n").find("f:1:7: "), 0u);
  EXPECT_EQ(Refusal(std::string_view("run = 'a'\n\0", 11)), "f:2:1: a zero byte; this is no text");
}

TEST(ReadJobFile, ReadsWhatTheNameSays) {
  platform::TestingDirectory folder;
  folder.Write("job.toml", "run = 'a'\nparameters = { p = '@list' }");
  folder.Write("job.json", "{\"run\": \"a\"}");
  folder.Write("list", "x\ny\n");
  const auto toml = ReadJobFile(folder / "job.toml");
  ASSERT_TRUE(toml) << toml.error().message;
  EXPECT_EQ(toml->steps.size(), 2u);
  EXPECT_EQ(toml->commands[0].folder, folder.path());
  EXPECT_TRUE(ReadJobFile(folder / "job.json"));
  const auto absent = ReadJobFile(folder / "none.toml");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Error::Code::kNotFound);
}

TEST(JobFile, TakesAHundredThousandSteps) {
  const auto job = Toml("run = 'a {p} {q}'\nparameters = { p = '1..50000', q = ['x', 'y'] }");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->steps.size(), 100'000u);
}

}  // namespace
}  // namespace reveza::runner
