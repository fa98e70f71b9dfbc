// Tests of what a Collector measures between snapshots, and of several daemons.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "reveza/insight/monitor/testing_collector.h"

namespace reveza::monitor {
namespace collector_usage_test {

using nlohmann::json;
using std::chrono::seconds;

TEST_F(CollectorTest, ComputesTheShareOfEachCore) {
  root_.Write("proc/stat", "cpu 100 0 0 100 0\ncpu0 50 0 0 50 0\ncpu1 50 0 0 50 0\n");
  Collector collector(sources_);
  EXPECT_TRUE(collector.Collect().machine.each_core.empty()) << "needs two samples";
  clock_.Advance(seconds(1));
  root_.Write("proc/stat", "cpu 230 0 0 170 0\ncpu0 130 0 0 70 0\ncpu1 100 0 0 100 0\n");
  EXPECT_EQ(collector.Collect().machine.each_core, (std::vector<double>{0.8, 0.5}));
  clock_.Advance(seconds(1));
  root_.Write("proc/stat", "cpu 230 0 0 170 0\ncpu0 130 0 0 70 0\n");
  EXPECT_TRUE(collector.Collect().machine.each_core.empty()) << "one went offline";
}

TEST_F(CollectorTest, ComputesIoOfTheProcessTreeOfAStep) {
  Runner(R"({"step":1,"label":"x","pid":60})");
  Process(60, 1, 0);
  Process(61, 60, 0);
  const auto transfer = [&](pid_t pid, int read, int written) {
    root_.Write(fmt::format("proc/{}/io", pid),
                fmt::format("rchar: 9\nwchar: 9\nread_bytes: {}\nwrite_bytes: {}\n"
                            "cancelled_write_bytes: 7\n",
                            read, written));
  };
  transfer(60, 100, 10);
  transfer(61, 0, 0);
  Collector collector(sources_);
  EXPECT_EQ(collector.Collect().jobs[0].running[0].use.io_read, std::nullopt);
  clock_.Advance(seconds(2));
  transfer(61, 4000, 200);
  auto use = collector.Collect().jobs[0].running[0].use;
  EXPECT_EQ(use.io_read, 2000.0);
  EXPECT_EQ(use.io_write, 100.0);
  clock_.Advance(seconds(2));
  // The parent has reaped the child and counts what it did.
  std::filesystem::remove_all(root_.path() / "proc/61");
  transfer(60, 4300, 210);
  use = collector.Collect().jobs[0].running[0].use;
  EXPECT_EQ(use.io_read, 100.0);
  EXPECT_EQ(use.io_write, 0.0);
}

TEST_F(CollectorTest, ReadsTheCommandOfAStepAgainAfterExec) {
  Runner(R"({"step":1,"label":"x","pid":60})");
  Process(60, 1, 0);
  root_.Write("proc/60/cmdline", std::string("sh\0-c\0", 6));
  Collector collector(sources_);
  EXPECT_EQ(collector.Collect().jobs[0].running[0].command, "sh -c");
  root_.Write("proc/60/cmdline", std::string("train\0", 6));
  clock_.Advance(seconds(1));
  EXPECT_EQ(collector.Collect().jobs[0].running[0].command, "sh -c") << "the same program";
  root_.Write("proc/60/stat", "60 (train) S 1 1 1 0 -1 0 7 0 1 0 0 0 0 0 20 0 3 0 100 4096 10 0\n");
  clock_.Advance(seconds(1));
  EXPECT_EQ(collector.Collect().jobs[0].running[0].command, "train");
}

TEST_F(CollectorTest, MergesDaemonsOfSeveralSockets) {
  sources_.daemons = [] {
    const auto status = [](int pid, int external, int outside) {
      return json{
          {"version", "1"},
          {"pid", pid},
          {"gpus",
           {{{"uuid", "GPU-1"},
             {"index", 0},
             {"total", 100},
             {"used", 70},
             {"budget", 40},
             {"resident", 20},
             {"external", external},
             {"handover", {{"count", 2}, {"bytes_out", 5}, {"bytes_in", 5}}},
             {"outside", {{{"pid", outside}, {"bytes", 20}}, {{"pid", 99}, {"bytes", 30}}}}}}},
          {"clients", {{{"pid", pid + 10}, {"name", "ana"}, {"job", "x"}}}}};
    };
    std::vector<Result<DaemonAnswer>> answers;
    answers.emplace_back(DaemonAnswer{"/run/a.sock", status(7, 50, 18), 7});
    answers.emplace_back(Fail(Error::Code::kNotFound, "no daemon"));
    answers.emplace_back(DaemonAnswer{"/run/b.sock", status(8, 50, 17), 8});
    return answers;
  };
  Collector collector(sources_);
  const auto snapshot = collector.Collect();
  ASSERT_TRUE(snapshot.daemon);
  EXPECT_EQ(snapshot.daemon->socket, "/run/a.sock");
  ASSERT_EQ(snapshot.further_daemons.size(), 1u);
  EXPECT_EQ(snapshot.further_daemons[0].socket, "/run/b.sock");
  EXPECT_EQ(snapshot.clients.size(), 2u);
  ASSERT_EQ(snapshot.gpus.size(), 1u) << "they share it";
  EXPECT_EQ(snapshot.gpus[0].budget, 80u);
  EXPECT_EQ(snapshot.gpus[0].resident, 40u);
  EXPECT_EQ(snapshot.gpus[0].external, 30u) << "without what the other one manages";
  EXPECT_EQ(snapshot.gpus[0].handovers->count, 4u);
  ASSERT_EQ(snapshot.outside.size(), 1u) << "programs of a daemon are outside of the other";
  EXPECT_EQ(snapshot.outside[0].pid, 99);
}

}  // namespace collector_usage_test
}  // namespace reveza::monitor
