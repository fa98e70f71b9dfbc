#include "runner/definition/expander.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

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

TEST(Expander, MakesTheCommandOfAStep) {
  const auto expanded = Expand(Simulate(), Seed("a b"), BuiltIns{.slot = 3});
  ASSERT_TRUE(expanded) << expanded.error().message;
  EXPECT_EQ(expanded->arguments, (std::vector<std::string>{"./simulate", "--seed", "a b"}));
  EXPECT_EQ(expanded->folder, "/data/a b");
  EXPECT_EQ(expanded->environment,
            (std::vector<std::pair<std::string, std::string>>{{"SEED", "sa b"}, {"SLOT", "3"}}));
}

TEST(Expander, StartsAShellOnlyWhenAsked) {
  Command command;
  command.arguments = {"echo {seed} | wc -c"};
  command.shell = true;
  const auto expanded = Expand(command, Seed("a b"), {});
  ASSERT_TRUE(expanded) << expanded.error().message;
  EXPECT_EQ(expanded->arguments, (std::vector<std::string>{"/bin/sh", "-c", "echo 'a b' | wc -c"}));
}

TEST(Expander, NamesInputsInTheFolderOfTheStep) {
  const auto expander = Expander::Make(Of(Simulate(), {Seed("1")}));
  ASSERT_TRUE(expander);
  EXPECT_EQ(expander->Inputs(Seed("1")),
            (std::vector<std::filesystem::path>{"/data/1/in/1.txt", "/etc/hosts"}));
}

TEST(Expander, RefusesBeforeAnythingRuns) {
  const auto refusal = [](Command command, std::vector<Step> steps) {
    const auto checked = Check(Of(std::move(command), std::move(steps)));
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(refusal(Simulate(), {Seed("1"), Seed("2")}), "");
  Command wrong = Simulate();
  wrong.arguments[2] = "{sead}";
  EXPECT_EQ(refusal(wrong, {Seed("1")}).find("in '{sead}': unknown parameter '{sead}'; did you"),
            0u);
  EXPECT_NE(refusal(wrong, {}), "") << "even without steps";
  wrong = Simulate();
  wrong.folder = "/data/{}";
  EXPECT_EQ(refusal(wrong, {Seed("1")}).find("in the folder: '{}'"), 0u);
  wrong = Simulate();
  wrong.environment[0].second = "{sead}";
  EXPECT_EQ(refusal(wrong, {Seed("1")}).find("in variable SEED: "), 0u);
  wrong = Simulate();
  wrong.inputs[1] = "{sead}";
  EXPECT_EQ(refusal(wrong, {Seed("1")}).find("in input '{sead}': "), 0u);
  wrong = Simulate();
  wrong.arguments.clear();
  EXPECT_EQ(refusal(wrong, {Seed("1")}), "run what? the command is empty");
  wrong = Simulate();
  wrong.shell = true;
  EXPECT_EQ(refusal(wrong, {Seed("1")}), "a line for the shell is one text, not 3");
}

TEST(Expander, SaysWhichStepLacksAParameter) {
  Step other;
  other.parameters = {{"sead", "1"}};
  const auto checked = Check(Of(Simulate(), {Seed("1"), Seed("2"), other}));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message.find("step 3: in '{seed}': unknown parameter"), 0u)
      << checked.error().message;
}

TEST(Expander, RefusesNamesThatCannotBe) {
  Command command;
  command.arguments = {"true"};
  Step twice;
  twice.parameters = {{"a", "1"}, {"a", "2"}};
  Step built_in;
  built_in.parameters = {{"slot", "1"}};
  EXPECT_FALSE(Check(Of(command, {twice})));
  EXPECT_FALSE(Check(Of(command, {built_in})));
  Step no_command;
  no_command.command = 1;
  EXPECT_FALSE(Check(Of(command, {no_command})));
}

TEST(Expander, TakesAHundredThousandSteps) {
  std::vector<Step> steps;
  for (int i = 0; i < 100'000; ++i) steps.push_back(Seed(std::to_string(i)));
  const Job job = Of(Simulate(), std::move(steps));
  const auto expander = Expander::Make(job);
  ASSERT_TRUE(expander);
  std::size_t length = 0;
  for (const Step& step : job.steps) length += expander->Expand(step, {})->arguments[2].size();
  EXPECT_EQ(length, 488'890u);
}

}  // namespace
}  // namespace reveza::runner
