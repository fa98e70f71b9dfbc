// Memory that runs short, queues that do not drain, and requests that cannot be served.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "machine.h"

namespace reveza::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

std::vector<std::string> Work(const std::string& bytes, int steps) {
  return {"--bytes", bytes, "--steps", std::to_string(steps), "--step-ms", "20"};
}

Machine::Options Lively() {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  return options;
}

TEST(MemoryTest, WithoutRoomOnTheHostTheSecondQueuesAndIsToldWhy) {
  Machine::Options options = Lively();
  options.daemon_arguments.insert(options.daemon_arguments.end(), {"--host-budget", "32MiB"});
  Machine machine(options);
  const Ended native = machine.Native("worker", Work("180MiB", 80));
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
    EXPECT_EQ(ended->status, 0) << ended->complaint;
    EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
  }
}

TEST(MemoryTest, MoreThanTheCardIsOutOfMemoryAsAlone) {
  Machine machine(Lively());
  machine.StartDaemon();
  Process process = machine.Start("worker", Work("300MiB", 5));
  const auto ended = process.Wait(seconds(60));
  ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
  EXPECT_EQ(ended->status, 1);
  EXPECT_NE(ended->complaint.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << ended->complaint;
}

TEST(MemoryTest, AKernelThatNeverEndsIsShownAndLeftAlone) {
  Machine::Options options = Lively();
  options.daemon_arguments.insert(options.daemon_arguments.end(), {"--drain-limit", "200ms"});
  Machine machine(options);
  const Ended native = machine.Native("worker", Work("150MiB", 5));
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
  EXPECT_EQ(stuck_ended->status, 0) << stuck_ended->complaint;
  const auto ended = other.Wait(seconds(60));
  ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
  EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
}

// A program that submits as fast as it can, against one that waits: from the second drain on its
// queue is bounded, so it does not fail to drain.
TEST(MemoryTest, AProgramThatRunsAheadIsBoundedWhileSomebodyWaits) {
  Machine::Options options = Lively();
  options.daemon_arguments.insert(options.daemon_arguments.end(), {"--drain-limit", "1s"});
  Machine machine(options);
  const Ended native = machine.Native("run_ahead", Work("150MiB", 60));
  const Ended native_other = machine.Native("worker", Work("150MiB", 20));
  machine.StartDaemon();
  Process ahead = machine.Start("run_ahead", Work("150MiB", 60));
  Process other = machine.Start("worker", Work("150MiB", 20));
  for (auto [process, alone] : {std::pair{&ahead, &native}, std::pair{&other, &native_other}}) {
    const auto ended = process->Wait(seconds(120));
    ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
    EXPECT_EQ(ended->status, 0) << ended->complaint;
    EXPECT_EQ(ended->Field("hash"), alone->Field("hash"));
  }
}

TEST(MemoryTest, AWaitingProgramSaysWhyAfterFiveSecondsAndCanBeInterrupted) {
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
  while (second.Complaint().find("waiting") == std::string::npos &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_NE(second.Complaint().find("reveza: waiting for"), std::string::npos)
      << second.Complaint();
  second.Signal(SIGINT);
  const auto ended = second.Wait(seconds(20));
  ASSERT_TRUE(ended.has_value()) << "Ctrl-C must work at the gate";
  EXPECT_EQ(ended->status, 128 + SIGINT);
}

}  // namespace
}  // namespace reveza::testing
