#include "reveza/jobs/definition/job_file.h"

#include <gtest/gtest.h>

#include <chrono>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace job_file_test {

Result<Job> Toml(std::string_view text) { return ParseJob(text, JobFormat::kToml, "f", "/here"); }

std::string ErrorOf(std::string_view text) {
  const auto job = Toml(text);
  return job ? "" : job.error().message;
}

// Error of a job that is valid except for `text`.
std::string ErrorIn(std::string_view text) { return ErrorOf("run = 'a'\n" + std::string(text)); }

std::vector<std::string> Labels(const Job& job) {
  std::vector<std::string> labels;
  for (const Step& step : job.steps) {
    std::string& label = labels.emplace_back(job.commands[step.command].arguments[0]);
    for (const auto [name, value] : step.parameters) {
      label.append(" ").append(name).append("=").append(value);
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

TEST(JobFile, ParsesAllKeys) {
  const auto job = Toml(kWhole);
  ASSERT_TRUE(job) << job.error().message;
  ExpectWhole(*job);
}

TEST(JobFile, ParsesTheSameKeysFromJson) {
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

TEST(JobFile, MemoryOfAStepMayDependOnParametersAndOverridesTheDefault) {
  const auto job = Toml(
      "memory = '2GiB'\n[[steps]]\nrun = 'a'\nmemory = '{p}MiB'\nparameters = { p = [1] }\n"
      "[[steps]]\nrun = 'b'\n");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->commands[0].memory_template, "{p}MiB");
  EXPECT_EQ(job->commands[0].claim.memory, std::nullopt);
  EXPECT_EQ(job->commands[1].memory_template, "");
  EXPECT_EQ(job->commands[1].claim.memory, 2 * kGiB);
}

TEST(JobFile, ArrayValuesAreNotExpanded) {
  const auto job = Toml("run = 'a'\nparameters = { p = ['1..3', 2, 0.5, true] }");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(Labels(*job), (std::vector<std::string>{"a p=1..3", "a p=2", "a p=0.5", "a p=true"}));
  EXPECT_EQ(Labels(*Toml("run = 'a'\nparameters = { p = 7 }")), std::vector<std::string>{"a p=7"});
}

TEST(JobFile, PairsLinkedParameters) {
  const auto job =
      Toml("run = 'a'\nlinked = ['p', 'q']\nparameters = { p = [1, 2], r = [8, 9], q = '3..4' }");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(Labels(*job), (std::vector<std::string>{"a p=1 q=3 r=8", "a p=1 q=3 r=9",
                                                    "a p=2 q=4 r=8", "a p=2 q=4 r=9"}));
  EXPECT_TRUE(Toml("run = 'a'\nlinked = [['p', 'q']]\nparameters = { p = 1, q = 2 }"));
  EXPECT_EQ(ErrorIn("linked = ['p', 'q']\nparameters = { p = [1, 2], q = [3] }"),
            "f:3:32: linked parameters need equally many values: 'q' has 1, 'p' has 2");
  EXPECT_EQ(ErrorIn("linked = ['p', 'qq']\nparameters = { p = 1, q = 2 }"),
            "f:2:10: linked: unknown parameter 'qq'; did you mean 'q'?");
  EXPECT_EQ(ErrorIn("linked = 'p'").find("f:2:10: linked must be"), 0u);
  EXPECT_EQ(ErrorIn("linked = [1]").find("f:2:11: linked must be"), 0u);
}

TEST(JobFile, ResolvesDependencies) {
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
  EXPECT_EQ(job->commands[0].claim.memory, kGiB) << "inherited from the top level";
  EXPECT_EQ(job->commands[2].claim.memory, 2 * kGiB);
  EXPECT_EQ(job->commands[0].environment,
            (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "2"}}));
}

TEST(JobFile, ListsTheStepsOfACycle) {
  EXPECT_EQ(ErrorOf("[[steps]]\nname = 'a'\nrun = 'x'\nafter = 'b'\n"
                    "[[steps]]\nname = 'b'\nrun = 'x'\nafter = ['c']\n"
                    "[[steps]]\nname = 'c'\nrun = 'x'\nafter = 'a'\n"),
            "f:4:9: dependency cycle: a -> b -> c -> a; remove one of these dependencies");
  EXPECT_NE(ErrorOf("[[steps]]\nname = 'a'\nrun = 'x'\nafter = 'a'\n").find("a -> a"),
            std::string::npos);
  EXPECT_EQ(ErrorOf("[[steps]]\nname = 'first'\nrun = 'x'\n[[steps]]\nrun = 'y'\nafter = 'frist'"),
            "f:6:9: after: unknown step 'frist'; did you mean 'first'?");
  EXPECT_NE(ErrorOf("[[steps]]\nrun = 'x'\nafter = ''"), "");
}

TEST(JobFile, LimitsTheNumberOfDependencies) {
  EXPECT_EQ(ErrorOf("[[steps]]\nname = 'a'\nrun = 'x'\nparameters = { p = '1..4000' }\n"
                    "[[steps]]\nrun = 'y'\nafter = 'a'\nparameters = { p = '1..4000' }\n")
                .find("f:7:9: too many dependencies"),
            0u);
}

TEST(JobFile, SuggestsTheNearestKey) {
  EXPECT_EQ(ErrorIn("time_limt = '5s'"),
            "f:2:1: unknown key 'time_limt'; did you mean 'time_limit'?");
  EXPECT_EQ(ErrorIn("xyzzyxyzzy = 1"), "f:2:1: unknown key 'xyzzyxyzzy'");
  EXPECT_EQ(ErrorOf("[[steps]]\nrum = 'x'"), "f:2:1: unknown key 'rum'; did you mean 'run'?");
  EXPECT_EQ(ErrorOf("[[step]]\nrun = 'x'"), "f:1:3: unknown key 'step'; did you mean 'steps'?");
}

TEST(JobFile, RejectsMissingAndDuplicateKeys) {
  EXPECT_EQ(ErrorOf("").find("f:1:1: missing run"), 0u);
  EXPECT_EQ(ErrorOf("run = ''"), "f:1:7: the command is empty");
  EXPECT_EQ(ErrorOf("run = ['', 'a']"), "f:1:7: the command is empty");
  EXPECT_EQ(ErrorOf("[[steps]]\nname = 'a'").find("f:1:1: missing run"), 0u);
  EXPECT_EQ(ErrorOf("steps = []").find("f:1:9: steps must be"), 0u);
  EXPECT_EQ(ErrorOf("steps = [1]").find("f:1:10: steps must be"), 0u);
  EXPECT_EQ(ErrorIn("[[steps]]\nrun = 'x'"), "f:1:7: run and steps exclude each other");
  EXPECT_EQ(ErrorOf("parameters = { a = 1 }\n[[steps]]\nrun = 'x'").find("f:1:14: parameters need"),
            0u);
  EXPECT_EQ(ErrorOf("[[steps]]\nrun = 'x'\n[[commands]]\nrun = 'x'").find("f:3:"), 0u);
  EXPECT_EQ(ErrorOf("[[steps]]\nname = 'a'\nrun = 'x'\n[[steps]]\nname = 'a'\nrun = 'x'"),
            "f:4:1: duplicate step name 'a'");
  EXPECT_EQ(ErrorIn("after = 'a'").find("f:2:1: 'after' is only valid"), 0u);
  EXPECT_EQ(ErrorIn("chain = 5"), "f:2:1: chain requires cycles");
}

TEST(JobFile, RejectsInvalidValues) {
  EXPECT_EQ(ErrorIn("memory = 5"), "f:2:10: memory needs a unit; write memory = \"2GiB\"");
  EXPECT_EQ(ErrorIn("memory = '5'").find("f:2:10: '5' has no unit"), 0u);
  EXPECT_EQ(ErrorIn("gpu_memory = 'x'").find("f:2:14: "), 0u);
  EXPECT_EQ(ErrorIn("time_limit = 5").find("f:2:14: time_limit needs a unit"), 0u);
  EXPECT_EQ(ErrorIn("time_limit = '0s'"), "f:2:14: time_limit must be above 0");
  EXPECT_EQ(ErrorIn("cpus = 0"), "f:2:8: cpus must be a number above 0, such as 2 or 0.5");
  EXPECT_EQ(ErrorIn("cpus = inf").find("f:2:8: cpus"), 0u);
  EXPECT_EQ(ErrorIn("cpus = '2'").find("f:2:8: cpus"), 0u);
  EXPECT_EQ(ErrorIn("priority = 1.5").find("f:2:12: priority"), 0u);
  EXPECT_EQ(ErrorIn("priority = 99999999999").find("f:2:12: priority"), 0u);
  EXPECT_EQ(ErrorIn("cycles = 0"), "f:2:10: cycles must be an integer of at least 1");
  EXPECT_EQ(ErrorIn("cycles = -1"), "f:2:10: cycles must be an integer of at least 1");
  EXPECT_EQ(ErrorIn("shell = 'yes'"), "f:2:9: shell must be true or false");
  EXPECT_EQ(ErrorIn("name = 5"), "f:2:8: name must be a string in quotes");
  EXPECT_EQ(ErrorIn("folder = 5").find("f:2:10: folder"), 0u);
  EXPECT_EQ(ErrorIn("inputs = 5").find("f:2:10: inputs"), 0u);
  EXPECT_EQ(ErrorIn("inputs = ['a', 5]").find("f:2:16: inputs"), 0u);
  EXPECT_EQ(ErrorIn("environment = 5").find("f:2:15: environment"), 0u);
  EXPECT_EQ(ErrorIn("environment = { A = [] }").find("f:2:21: A must be"), 0u);
  EXPECT_EQ(ErrorIn("environment = { 'A=B' = 1 }").find("f:2:17: 'A=B' is not"), 0u);
  EXPECT_EQ(ErrorIn("parameters = 5").find("f:2:14: parameters must be a table"), 0u);
  EXPECT_EQ(ErrorIn("parameters = { p = [] }"), "f:2:20: p has no values");
  EXPECT_EQ(ErrorIn("parameters = { p = [[]] }").find("f:2:21: a value must be"), 0u);
  EXPECT_EQ(ErrorIn("parameters = { p = 2026-11-22 }").find("f:2:20: values must be"), 0u);
  EXPECT_EQ(ErrorIn("parameters = { p = '1..5..0' }").find("f:2:20: range '1..5..0'"), 0u);
  EXPECT_EQ(ErrorIn("parameters = { slot = 1 }").find("f:2:16: 'slot' is reserved"), 0u);
  EXPECT_EQ(ErrorIn("parameters = { a = '1..2000', b = '1..2000' }").find("f:2:14: the grid"), 0u);
}

TEST(JobFile, RejectsInvalidCommands) {
  EXPECT_EQ(ErrorOf("\nrun = 'a {sed}'\nparameters = { seed = 1 }"),
            "f:2:7: in '{sed}': unknown parameter '{sed}'; did you mean {seed}? (write {{sed}} for "
            "the literal text)");
  EXPECT_EQ(ErrorOf("run = 'a | b'").find("f:1:7: '|' needs a shell"), 0u);
  EXPECT_EQ(ErrorOf("run = 5").find("f:1:7: run must be"), 0u);
  EXPECT_EQ(ErrorOf("run = ['a', ['b']]").find("f:1:13: a command argument"), 0u);
  EXPECT_EQ(ErrorOf("shell = true\nrun = ['a', 'b']").find("f:2:7: a shell command"), 0u);
  const auto shell = Toml("shell = true\nrun = 'a | b'");
  ASSERT_TRUE(shell);
  EXPECT_EQ(shell->commands[0].arguments, std::vector<std::string>{"a | b"});
}

TEST(JobFile, SyntaxErrorsHaveLocations) {
  EXPECT_EQ(ErrorOf("run = \n").find("f:1:7: "), 0u);
  EXPECT_EQ(ErrorOf(std::string_view("run = 'a'\n\0", 11)), "f:2:1: a NUL byte; not a text file");
}

TEST(ReadJobFile, ChoosesTheFormatByExtension) {
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

TEST(JobFile, HandlesAHundredThousandSteps) {
  const auto job = Toml("run = 'a {p} {q}'\nparameters = { p = '1..50000', q = ['x', 'y'] }");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->steps.size(), 100'000u);
}

}  // namespace job_file_test
}  // namespace reveza::jobs
