#include "reveza/insight/monitor/job_sockets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/platform/testing_directory.h"
#include "reveza/insight/monitor/testing_runner.h"

namespace reveza::monitor {
namespace job_sockets_test {

using platform::TestingDirectory;

// Generous; only expires where a test expects it.
constexpr std::chrono::milliseconds kLong{60'000};

std::string FullStatus(pid_t pid) {
  return fmt::format(
      R"({{"version":1,"id":"sweep-3f2a","name":"sweep","pid":{},"state":"running",)"
      R"("began":1790000000,"folder":"/home/ana","command":"./simulate --seed {{seed}}",)"
      R"("steps":{{"all":500,"done":56,"running":2,"waiting":440,"failed":2,"held":0}},)"
      R"("workers":{{"now":2,"best":2,"settled":false,"reason":"why"}},"rate":1.25,)"
      R"("eta":{{"p50":400.0,"p90":520.0}},"waiting":"memory: 2.1 GiB are free",)"
      R"("running":[{{"step":57,"label":"seed=57","attempt":1,"pid":4321,"state":"running",)"
      R"("since":1790000100,"memory":1000,"peak":2000,"claim":3000,"gpu_memory":null,)"
      R"("cycle":{{"done":3,"all":10}},"new":1}}],)"
      R"("metrics":{{"phi":{{"count":56,"min":0.2,"mean":0.5,"max":0.9,"final":0.6}}}},)"
      R"("added_later":[1,2]}})"
      "\n",
      pid);
}

std::vector<JobAnswer> Ask(const TestingDirectory& folder,
                           std::chrono::milliseconds limit = kLong) {
  return QueryJobSockets(JobSockets(folder.path()).value(), "status", limit);
}

TEST(JobSockets, ListsSocketsSorted) {
  TestingDirectory folder;
  EXPECT_TRUE(JobSockets(folder / "none").value().empty());
  folder.Write("file", "");
  EXPECT_FALSE(JobSockets(folder / "file")) << "an unreadable folder is an error";
  folder.Write("b.sock", "");
  folder.Write("a.sock", "");
  folder.Write("a.log", "");
  EXPECT_EQ(JobSockets(folder.path()).value(),
            (std::vector<std::filesystem::path>{folder / "a.sock", folder / "b.sock"}));
}

TEST(QueryJobSockets, ReceivesAStatus) {
  TestingDirectory folder;
  const TestingRunner runner(folder / "a.sock", [](const std::string& request) {
    return request == R"({"request":"status"})" ? FullStatus(getpid()) : "{}\n";
  });
  const auto answers = Ask(folder);
  ASSERT_EQ(answers.size(), 1u);
  const auto job = ParseJobStatus(answers[0]);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->socket, (folder / "a.sock").string());
  EXPECT_EQ(job->id, "sweep-3f2a");
  EXPECT_EQ(job->pid, getpid());
  EXPECT_EQ(job->steps, (StepCounts{500, 56, 2, 440, 2, 0}));
  EXPECT_EQ(job->workers, 2u);
  EXPECT_EQ(job->workers_settled, false);
  EXPECT_EQ(job->rate, 1.25);
  EXPECT_EQ(job->eta_p90_seconds, 520.0);
  EXPECT_EQ(job->waiting, "memory: 2.1 GiB are free");
  ASSERT_EQ(job->running.size(), 1u);
  EXPECT_EQ(job->running[0].pid, 4321);
  EXPECT_EQ(job->running[0].claim, 3000u);
  EXPECT_EQ(job->running[0].gpu_memory, std::nullopt) << "null is not 0";
  EXPECT_EQ(job->running[0].cycle, (CycleCount{3, 10}));
  EXPECT_EQ(job->metrics.at("phi").last, 0.6);
}

TEST(QueryJobSockets, StaleSocketIsNotFound) {
  TestingDirectory folder;
  {
    const TestingRunner gone(folder / "a.sock", nullptr);
  }
  const auto answers = Ask(folder);
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_FALSE(answers[0].line);
  EXPECT_EQ(answers[0].line.error().code, Error::Code::kNotFound);
}

TEST(QueryJobSockets, UnresponsiveRunnersDoNotAffectOthers) {
  TestingDirectory folder;
  const TestingRunner hangs(folder / "a.sock", nullptr);
  const TestingRunner speaks(folder / "b.sock",
                             [](const std::string&) { return FullStatus(getpid()); });
  const TestingRunner hangs_up(folder / "c.sock", [](const std::string&) { return ""; });
  const TestingRunner half(folder / "d.sock", [](const std::string&) { return "{\"version\""; });
  const auto answers = Ask(folder, std::chrono::seconds(6));
  ASSERT_EQ(answers.size(), 4u);
  ASSERT_FALSE(answers[0].line);
  EXPECT_NE(answers[0].line.error().message.find("6000 ms"), std::string::npos);
  EXPECT_TRUE(ParseJobStatus(answers[1]));
  ASSERT_FALSE(answers[2].line);
  EXPECT_NE(answers[2].line.error().message.find("closed"), std::string::npos);
  EXPECT_FALSE(answers[3].line);
}

TEST(QueryJobSockets, LimitsResponseSize) {
  TestingDirectory folder;
  const TestingRunner runner(folder / "a.sock", [](const std::string&) {
    return std::string(kMaxJobAnswer + (1 << 17), 'x');
  });
  const auto answers = Ask(folder);
  ASSERT_FALSE(answers[0].line);
  EXPECT_EQ(answers[0].line.error().code, Error::Code::kIncompatible);
}

TEST(ParseJobStatus, RejectsInvalidResponses) {
  const auto parse = [](const char* line) {
    return ParseJobStatus({"/jobs/a.sock", std::string(line), 5});
  };
  for (const char* line :
       {"", "hello", "[]", "7", "{\"version\":1}", "{\"id\":\"a\"}", "{\"version\":2,\"id\":\"a\"}",
        "{\"version\":\"1\",\"id\":\"a\"}", "{\"error\":\"no such request\"}"}) {
    const auto job = parse(line);
    ASSERT_FALSE(job) << line;
    EXPECT_NE(job.error().message.find("/jobs/a.sock"), std::string::npos) << line;
  }
  const auto job = parse(
      "{\"version\":1,\"id\":\"a\",\"pid\":5,\"rate\":\"fast\",\"steps\":[1],\"workers\":7,"
      "\"running\":[3,{\"step\":-1,\"pid\":\"x\",\"memory\":-5,\"peak\":1.5}],\"metrics\":3}");
  ASSERT_TRUE(job) << "invalid fields are ignored";
  EXPECT_EQ(job->rate, std::nullopt);
  EXPECT_EQ(job->steps, StepCounts{});
  ASSERT_EQ(job->running.size(), 1u);
  EXPECT_EQ(job->running[0].memory, std::nullopt);
  EXPECT_EQ(job->running[0].peak, std::nullopt);
}

TEST(ParseJobStatus, OmitsPidsOfOtherNamespaces) {
  const auto ours = ParseJobStatus({"/jobs/a.sock", FullStatus(70), 70});
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->pid, 70);
  EXPECT_EQ(ours->running[0].pid, 4321);
  for (const pid_t peer : {0, 4711}) {
    const auto other = ParseJobStatus({"/jobs/a.sock", FullStatus(70), peer});
    ASSERT_TRUE(other);
    EXPECT_EQ(other->pid, 0);
    EXPECT_EQ(other->running[0].pid, 0);
    EXPECT_EQ(other->running[0].memory, 1000u) << "measured by the runner";
  }
}

TEST(SendJobRequest, ReturnsTheRunnersError) {
  TestingDirectory folder;
  const TestingRunner runner(folder / "a.sock", [](const std::string& request) -> std::string {
    if (request == R"({"request":"pause"})") return "{\"ok\":true}\n";
    if (request == R"({"request":"resume"})") return "{\"error\":\"it is not paused\"}\n";
    return "what?\n";
  });
  EXPECT_TRUE(SendJobRequest(folder / "a.sock", "pause", kLong));
  const auto resumed = SendJobRequest(folder / "a.sock", "resume", kLong);
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().message, "it is not paused");
  const auto cancelled = SendJobRequest(folder / "a.sock", "cancel", kLong);
  ASSERT_FALSE(cancelled);
  EXPECT_NE(cancelled.error().message.find("cancel"), std::string::npos);
  EXPECT_FALSE(SendJobRequest(folder / "none.sock", "pause", kLong));
}

}  // namespace job_sockets_test
}  // namespace reveza::monitor
