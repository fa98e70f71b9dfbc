#include "reveza/jobs/definition/job_json.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace job_json_test {

Job Full() {
  Command command;
  command.arguments = {"./simulate", "{seed}"};
  command.folder = "/data/{seed}";
  command.environment = {{"A", "1"}, {"B", "{seed}"}};
  command.identity_variables = {"HOME"};
  command.inputs = {"in.txt"};
  command.time_limit = std::chrono::seconds(90);
  command.priority = -3;
  command.claim = {0.5, 1024, 2048};
  command.cycles = Cycles{500, 10};
  Job job;
  command.memory_template = "{seed}GiB";
  Command plain;
  plain.arguments = {"true"};
  plain.shell = true;
  job.commands = {command, plain};
  job.steps.resize(2);
  job.steps[0].parameters = {{"seed", "1"}, {"name", "x y"}};
  job.steps[1].command = 1;
  job.steps[1].after = {0};
  return job;
}

TEST(JobJson, RoundTrips) {
  const auto back = JobFromJson(nlohmann::json::parse(ToJson(Full()).dump()));
  ASSERT_TRUE(back) << back.error().message;
  const Command& command = back->commands[0];
  const Command full = Full().commands[0];
  EXPECT_EQ(command.arguments, full.arguments);
  EXPECT_EQ(command.shell, full.shell);
  EXPECT_EQ(command.folder, full.folder);
  EXPECT_EQ(command.environment, full.environment);
  EXPECT_EQ(command.identity_variables, full.identity_variables);
  EXPECT_EQ(command.inputs, full.inputs);
  EXPECT_EQ(command.time_limit, full.time_limit);
  EXPECT_EQ(command.priority, full.priority);
  EXPECT_EQ(command.claim, full.claim);
  EXPECT_EQ(command.memory_template, full.memory_template);
  EXPECT_EQ(command.cycles, full.cycles);
  EXPECT_EQ(back->commands[1].claim, Claim{});
  EXPECT_EQ(back->commands[1].time_limit, std::nullopt);
  EXPECT_EQ(back->commands[1].cycles, std::nullopt);
  EXPECT_TRUE(back->commands[1].shell);
  ASSERT_EQ(back->steps.size(), 2u);
  EXPECT_EQ(back->steps[0].parameters, Full().steps[0].parameters);
  EXPECT_EQ(back->steps[1].after, std::vector<std::uint32_t>{0});
}

TEST(JobJson, RoundTripsInvalidUtf8) {
  Job job = Full();
  const std::string bytes = "\xff\xfe/\xc3 x";
  job.commands[0].arguments[0] = bytes;
  job.commands[0].folder = bytes;
  job.commands[0].environment[1].second = bytes;
  job.commands[0].inputs = {bytes};
  job.steps[0].parameters = {{"seed", bytes}, {"name", "\xc3\xa9 \xef\xbf\xbd"}};
  const auto back = JobFromJson(nlohmann::json::parse(ToJson(job).dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->commands[0].arguments, job.commands[0].arguments);
  EXPECT_EQ(back->commands[0].folder, job.commands[0].folder);
  EXPECT_EQ(back->commands[0].environment, job.commands[0].environment);
  EXPECT_EQ(back->commands[0].inputs, job.commands[0].inputs);
  EXPECT_EQ(back->steps[0].parameters, job.steps[0].parameters);
  EXPECT_TRUE(TextToJson("\xc3\xa9").is_string());
}

TEST(JobJson, RejectsOtherJson) {
  EXPECT_FALSE(JobFromJson(nlohmann::json::array()));
  EXPECT_FALSE(JobFromJson({{"commands", 1}, {"steps", 2}}));
  auto json = ToJson(Full());
  json["steps"][0]["command"] = 7;
  EXPECT_FALSE(JobFromJson(json));
  json = ToJson(Full());
  json["steps"][1]["after"] = {9};
  const auto wrong = JobFromJson(json);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Error::Code::kIncompatible);
}

}  // namespace job_json_test
}  // namespace reveza::jobs
