// Memory exhaustion, queues that do not drain, and requests that exceed the GPU.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "tests/support/machine.h"

namespace reveza::testing {
namespace memory_test {

using nlohmann::json;
using std::chrono::seconds;

std::vector<std::string> Work(const std::string& bytes, int steps) {
  return {"--bytes", bytes, "--steps", std::to_string(steps), "--step-ms", "20"};
}

Machine::Options ShortSlices() {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  return options;
}

TEST(MemoryTest, ExhaustedHostBudgetQueuesClientWithReason) {
  Machine::Options options = ShortSlices();
  options.daemon_arguments.insert(options.daemon_arguments.end(), {"--host-budget", "32MiB"});
  Machine machine(options);
  const ProcessResult native = machine.RunNative("worker", Work("180MiB", 80));
  machine.StartDaemon();
  Process first = machine.Start("worker", Work("180MiB", 80));
  ASSERT_TRUE(machine.WaitFor([&](const json& status) {
    const json client = ClientOf(status, first.pid());
    return client.is_object() && client["footprint"]["resident"] > (100 << 20);
  }));
  Process second = machine.Start("worker", Work("180MiB", 80));
  EXPECT_TRUE(machine.WaitFor([&](const json& status) {
    const json client = ClientOf(status, second.pid());
    return client.is_object() &&
           client["why"].get<std::string>().find("host memory") != std::string::npos;
  })) << machine.Status().dump(1);
  for (Process* process : {&first, &second}) {
    const auto ended = process->Wait(seconds(120));
    ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
    EXPECT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
  }
}

TEST(MemoryTest, AllocationBeyondGpuIsOutOfMemory) {
  Machine machine(ShortSlices());
  machine.StartDaemon();
  Process process = machine.Start("worker", Work("300MiB", 5));
  const auto ended = process.Wait(seconds(60));
  ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
  EXPECT_EQ(ended->status, 1);
  EXPECT_NE(ended->error_output.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << ended->error_output;
}

class EndlessKernelTest : public ::testing::TestWithParam<const char*> {};

// Also with a driver whose only way to wait for a context has no limit.
TEST_P(EndlessKernelTest, IsReportedUnpreemptible) {
  Machine::Options options = ShortSlices();
  options.environment = {{"FAKECUDA_DRIVER", GetParam()}};
  options.daemon_arguments.insert(options.daemon_arguments.end(), {"--drain-limit", "200ms"});
  Machine machine(options);
  const ProcessResult native = machine.RunNative("worker", Work("150MiB", 5));
  machine.StartDaemon();
  Process stuck = machine.Start("pinned_flag", {"--bytes", "150MiB", "--seconds", "10"});
  ASSERT_TRUE(machine.WaitFor([&](const json& status) {
    const json client = ClientOf(status, stuck.pid());
    return client.is_object() && client["state"] == "running" &&
           client["footprint"]["resident"] > (100 << 20);
  })) << machine.Status().dump(1);
  Process other = machine.Start("worker", Work("150MiB", 5));
  EXPECT_TRUE(machine.WaitFor([&](const json& status) {
    const json client = ClientOf(status, stuck.pid());
    return client.is_object() && client["unpreemptible"] == true;
  })) << machine.Status().dump(1);
  const auto stuck_ended = stuck.Wait(seconds(60));
  ASSERT_TRUE(stuck_ended.has_value());
  EXPECT_EQ(stuck_ended->status, 0) << stuck_ended->error_output;
  const auto ended = other.Wait(seconds(60));
  ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
  EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, EndlessKernelTest, ::testing::Values("12.4", "13.5"));

// A program that submits as fast as it can shares the GPU with one that waits. From its second
// drain on, its queue is bounded, so the drain succeeds.
TEST(MemoryTest, QueueDepthIsBoundedUnderContention) {
  Machine::Options options = ShortSlices();
  options.daemon_arguments.insert(options.daemon_arguments.end(), {"--drain-limit", "1s"});
  Machine machine(options);
  const ProcessResult native = machine.RunNative("run_ahead", Work("150MiB", 60));
  const ProcessResult native_other = machine.RunNative("worker", Work("150MiB", 20));
  machine.StartDaemon();
  Process ahead = machine.Start("run_ahead", Work("150MiB", 60));
  Process other = machine.Start("worker", Work("150MiB", 20));
  for (auto [process, alone] : {std::pair{&ahead, &native}, std::pair{&other, &native_other}}) {
    const auto ended = process->Wait(seconds(120));
    ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
    EXPECT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), alone->Field("hash"));
  }
}

TEST(MemoryTest, WaitingProgramReportsReasonAndHandlesSigint) {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "60s", "--slice-ceiling", "60s"};
  Machine machine(options);
  machine.StartDaemon();
  Process first = machine.Start("worker", Work("180MiB", 1000));
  ASSERT_TRUE(machine.WaitFor([&](const json& status) {
    const json client = ClientOf(status, first.pid());
    return client.is_object() && client["footprint"]["resident"] > (100 << 20);
  }));
  Process second = machine.Start("worker", Work("180MiB", 10));
  const auto until = std::chrono::steady_clock::now() + seconds(60);
  while (second.ErrorOutput().find("waiting") == std::string::npos &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_NE(second.ErrorOutput().find("waiting for"), std::string::npos) << second.ErrorOutput();
  second.Signal(SIGINT);
  const auto ended = second.Wait(seconds(20));
  ASSERT_TRUE(ended.has_value()) << "SIGINT must end a program that waits at the gate";
  EXPECT_EQ(ended->status, 128 + SIGINT);
}

}  // namespace memory_test
}  // namespace reveza::testing
