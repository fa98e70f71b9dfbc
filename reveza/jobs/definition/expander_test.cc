#include "reveza/jobs/definition/expander.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace expander_test {

Command Simulate() {
  Command command;
  command.arguments = {"./simulate", "--seed", "{seed}"};
  command.folder = "/data/{seed}";
  command.environment = {{"SEED", "s{seed}"}, {"SLOT", "{slot}"}};
  command.inputs = {"in/{seed}.txt", "/etc/hosts"};
  return command;
}

Step Seed(std::string value) {
  Step step;
  step.parameters = {{"seed", std::move(value)}};
  return step;
}

Job Of(Command command, std::vector<Step> steps) {
  Job job;
  job.commands.push_back(std::move(command));
  job.steps = std::move(steps);
  return job;
}

TEST(Expander, ExpandsArgumentsFolderAndEnvironment) {
  const auto expanded = Expand(Simulate(), Seed("a b"), BuiltIns{.slot = 3});
  ASSERT_TRUE(expanded) << expanded.error().message;
  EXPECT_EQ(expanded->arguments, (std::vector<std::string>{"./simulate", "--seed", "a b"}));
  EXPECT_EQ(expanded->folder, "/data/a b");
  EXPECT_EQ(expanded->environment,
            (std::vector<std::pair<std::string, std::string>>{{"SEED", "sa b"}, {"SLOT", "3"}}));
}

TEST(Expander, RunsAShellOnlyOnRequest) {
  Command command;
  command.arguments = {"echo {seed} | wc -c"};
  command.shell = true;
  const auto expanded = Expand(command, Seed("a b"), {});
  ASSERT_TRUE(expanded) << expanded.error().message;
  EXPECT_EQ(expanded->arguments, (std::vector<std::string>{"/bin/sh", "-c", "echo 'a b' | wc -c"}));
}

TEST(Expander, ResolvesInputsAgainstTheStepFolder) {
  const auto expander = Expander::Make(Of(Simulate(), {Seed("1")}));
  ASSERT_TRUE(expander);
  EXPECT_EQ(expander->Inputs(Seed("1")),
            (std::vector<std::filesystem::path>{"/data/1/in/1.txt", "/etc/hosts"}));
}

TEST(Expander, RejectsInvalidTemplates) {
  const auto error_of = [](Command command, std::vector<Step> steps) {
    const auto checked = CheckCommands(Of(std::move(command), std::move(steps)));
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(error_of(Simulate(), {Seed("1"), Seed("2")}), "");
  Command wrong = Simulate();
  wrong.arguments[2] = "{sead}";
  EXPECT_EQ(error_of(wrong, {Seed("1")}).find("in '{sead}': unknown parameter '{sead}'; did you"),
            0u);
  EXPECT_NE(error_of(wrong, {}), "") << "even without steps";
  wrong = Simulate();
  wrong.folder = "/data/{}";
  EXPECT_EQ(error_of(wrong, {Seed("1")}).find("in the folder: '{}'"), 0u);
  wrong = Simulate();
  wrong.environment[0].second = "{sead}";
  EXPECT_EQ(error_of(wrong, {Seed("1")}).find("in variable SEED: "), 0u);
  wrong = Simulate();
  wrong.inputs[1] = "{sead}";
  EXPECT_EQ(error_of(wrong, {Seed("1")}).find("in input '{sead}': "), 0u);
  wrong = Simulate();
  wrong.arguments.clear();
  EXPECT_EQ(error_of(wrong, {Seed("1")}), "the command is empty");
  wrong = Simulate();
  wrong.shell = true;
  EXPECT_EQ(error_of(wrong, {Seed("1")}), "a shell command is one string, not 3");
}

TEST(Expander, NamesTheStepThatLacksAParameter) {
  Step other;
  other.parameters = {{"sead", "1"}};
  const auto checked = CheckCommands(Of(Simulate(), {Seed("1"), Seed("2"), other}));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message.find("step 3: in '{seed}': unknown parameter"), 0u)
      << checked.error().message;
}

TEST(Expander, RejectsInvalidParameterNames) {
  Command command;
  command.arguments = {"true"};
  Step twice;
  twice.parameters = {{"a", "1"}, {"a", "2"}};
  Step built_in;
  built_in.parameters = {{"slot", "1"}};
  EXPECT_FALSE(CheckCommands(Of(command, {twice})));
  EXPECT_FALSE(CheckCommands(Of(command, {built_in})));
  Step no_command;
  no_command.command = 1;
  EXPECT_FALSE(CheckCommands(Of(command, {no_command})));
}

TEST(Expander, HandlesAHundredThousandSteps) {
  std::vector<Step> steps;
  for (int i = 0; i < 100'000; ++i) steps.push_back(Seed(std::to_string(i)));
  const Job job = Of(Simulate(), std::move(steps));
  const auto expander = Expander::Make(job);
  ASSERT_TRUE(expander);
  std::size_t length = 0;
  for (const Step& step : job.steps) length += expander->Expand(step, {})->arguments[2].size();
  EXPECT_EQ(length, 488'890u);
}

}  // namespace expander_test
}  // namespace reveza::jobs
