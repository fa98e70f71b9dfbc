#include "reveza/jobs/cluster/task_file.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace task_file_test {

TaskFile Example() {
  TaskFile task;
  task.job.name = "sweep";
  task.job.commands.resize(3);
  task.job.commands[2].arguments = {"./run", "{n}", "\xff not UTF-8"};
  task.job.commands[2].folder = "/work";
  task.job.commands[2].environment = {{"KEY", "value {n}"}};
  task.job.commands[2].claim.memory = kGiB;
  task.job.steps.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    task.job.steps[i].command = 2;
    task.job.steps[i].parameters = {{"n", std::to_string(i)}};
    task.job.steps[i].number = 10 + i;
    task.known.push_back({Identity{static_cast<std::uint8_t>(i + 1)}, i, 5 * i});
  }
  task.request.retries = 2;
  task.request.on_unknown = OnUnknown::kHold;
  task.request.limits = Limits::kWatch;
  task.request.durable = true;
  task.request.cpu_budget = 4;
  return task;
}

TEST(TaskFile, SurvivesTheWay) {
  TaskFile task = Example();
  KeepUsedCommands(task.job);
  ASSERT_EQ(task.job.commands.size(), 1u);
  EXPECT_EQ(task.job.steps[1].command, 0u);
  const auto read = ParseTask(FormatTask(task));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->job.name, "sweep");
  EXPECT_EQ(read->job.commands[0].arguments, task.job.commands[0].arguments);
  EXPECT_EQ(read->job.commands[0].environment, task.job.commands[0].environment);
  EXPECT_EQ(read->job.steps[1].parameters, task.job.steps[1].parameters);
  EXPECT_EQ(NumberOf(read->job, 1), 11u);
  EXPECT_EQ(read->known[1].identity, task.known[1].identity);
  EXPECT_EQ(read->known[1].attempts, 1u);
  EXPECT_EQ(read->known[1].cycles, 5u);
  EXPECT_EQ(read->request, task.request);
}

TEST(TaskFile, RejectsOtherFiles) {
  for (const std::string text : {"", "{}", "[1]", R"({"format": 2})"}) {
    const auto read = ParseTask(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Error::Code::kIncompatible);
  }
  std::string text = FormatTask(Example());
  text.resize(text.size() / 2);
  EXPECT_FALSE(ParseTask(text));
  TaskFile lacking = Example();
  lacking.known.pop_back();
  EXPECT_FALSE(ParseTask(FormatTask(lacking)));
}

}  // namespace task_file_test
}  // namespace reveza::jobs
