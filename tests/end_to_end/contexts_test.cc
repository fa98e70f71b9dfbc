// Contexts of idle and paused programs leave the card and come back.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <thread>

#include "common/base/bytes.h"
#include "tests/support/machine.h"

namespace reveza::testing {
namespace contexts_test {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Two contexts of 400 MiB do not fit on a card of 640 MiB.
Machine::Options LargeContexts(const char* release_after) {
  Machine::Options options;
  options.memory = "640MiB";
  options.environment = {{"FAKECUDA_CONTEXT", "400MiB"}};
  options.daemon_arguments = {
      "--slice-floor", "50ms", "--slice-ceiling", "100ms", "--release-contexts-after",
      release_after};
  return options;
}

std::vector<std::string> Work(int steps, int pause_ms, int seed = 1, const char* bytes = "8MiB") {
  return {"--bytes", bytes, "--steps",    std::to_string(steps),    "--seed", std::to_string(seed),
          "--burst", "1",   "--pause-ms", std::to_string(pause_ms), "--json"};
}

std::vector<std::string> Polling(int steps, int pause_ms, int poll_us, int seed = 1) {
  return {"--bytes",    "8MiB",
          "--steps",    std::to_string(steps),
          "--seed",     std::to_string(seed),
          "--pause-ms", std::to_string(pause_ms),
          "--poll-us",  std::to_string(poll_us),
          "--json"};
}

bool IsAway(const json& status, pid_t pid) {
  const json client = ClientOf(status, pid);
  return client.is_object() && client.value("contexts_swapped", false);
}

class ContextsTest : public ::testing::Test {
 protected:
  void Use(const Machine::Options& options) { machine_ = std::make_unique<Machine>(options); }

  void ExpectHash(Process& process, const ProcessResult& alone) {
    const auto ended = process.Wait(seconds(120));
    ASSERT_TRUE(ended.has_value()) << machine_->Status().dump(1);
    EXPECT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), alone.Field("hash"));
  }
  // Runs `reveza` with these arguments.
  ProcessResult Reveza(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), REVEZA_PROGRAM);
    Process process(arguments, {{"REVEZA_SOCKET", machine_->socket()}},
                    machine_->folder() + "/reveza");
    return process.Wait().value_or(ProcessResult{});
  }
  // Returns how often programs have made a call of the driver.
  std::uint64_t Calls(const char* name) const {
    return machine_->CardStatistics().at("calls").value(name, std::uint64_t{0});
  }
  bool AwaitTurn(const Process& process) {
    return machine_->WaitFor([&](const json& status) {
      const json client = ClientOf(status, process.pid());
      return client.is_object() && client.value("turns", 0) > 0;
    });
  }
  bool AwaitAway(const Process& process) {
    return machine_->WaitFor([&](const json& status) { return IsAway(status, process.pid()); },
                             seconds(30));
  }

  std::unique_ptr<Machine> machine_;
};

TEST_F(ContextsTest, ProgramsWhoseContextsDoNotFitTogetherTakeTurns) {
  Use(LargeContexts("5min"));
  const auto first_work = Work(12, 150);
  const auto second_work = Work(12, 150, 2);
  const ProcessResult first_alone = machine_->RunNative("idle", first_work);
  const ProcessResult second_alone = machine_->RunNative("idle", second_work);
  machine_->StartDaemon();
  Process first = machine_->Start("idle", first_work);
  Process second = machine_->Start("idle", second_work);
  EXPECT_TRUE(machine_->WaitFor([&](const json& status) {
    return IsAway(status, first.pid()) || IsAway(status, second.pid());
  }));
  ExpectHash(first, first_alone);
  ExpectHash(second, second_alone);
  EXPECT_TRUE(machine_->GpuIsEmpty());
}

TEST_F(ContextsTest, BusyProgramsWhoseContextsDoNotFitTogetherTakeTurns) {
  Use(LargeContexts("5min"));
  const std::vector<std::string> work = {"--bytes",   "8MiB", "--steps", "60",
                                         "--step-ms", "10",   "--json"};
  const ProcessResult alone = machine_->RunNative("worker", work);
  machine_->StartDaemon();
  Process first = machine_->Start("worker", work);
  Process second = machine_->Start("worker", work);
  ExpectHash(first, alone);
  ExpectHash(second, alone);
}

TEST_F(ContextsTest, IdleProgramsTakeNothing) {
  Machine::Options options;
  options.memory = "96MiB";
  options.environment = {{"FAKECUDA_CONTEXT", "6MiB"}};
  options.daemon_arguments = {"--release-contexts-after", "200ms"};
  Use(options);
  const auto work = Work(2, 6000, 1, "4MiB");
  const ProcessResult alone = machine_->RunNative("idle", Work(2, 0, 1, "4MiB"));
  machine_->StartDaemon();
  std::vector<Process> idle;
  for (int i = 0; i < 8; ++i) idle.push_back(machine_->Start("idle", work));
  // Its memory evicts theirs.
  Process large = machine_->Start("idle", Work(60, 20, 2, "80MiB"));
  EXPECT_TRUE(machine_->WaitFor(
      [&](const json& status) {
        return std::ranges::all_of(
            idle, [&](const Process& process) { return IsAway(status, process.pid()); });
      },
      seconds(30)))
      << machine_->Status().dump(1);
  const auto ended = large.Wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0) << ended->error_output;
  for (Process& process : idle) ExpectHash(process, alone);
}

// Also with a thread that never rests: the race between a call and contexts that leave.
TEST_F(ContextsTest, CallsThatSubmitNothingWaitForTheContexts) {
  Use(LargeContexts("50ms"));
  for (const int poll_us : {0, 300}) {
    const auto work = Polling(40, 30, poll_us);
    const auto other_work = Polling(40, 30, poll_us, 2);
    const ProcessResult alone = machine_->RunNative("poller", work);
    const ProcessResult other_alone = machine_->RunNative("poller", other_work);
    machine_->StartDaemon();
    Process first = machine_->Start("poller", work);
    Process second = machine_->Start("poller", other_work);
    ExpectHash(first, alone);
    ExpectHash(second, other_alone);
    machine_->daemon().Signal(SIGTERM);
    machine_->daemon().Wait();
  }
}

TEST_F(ContextsTest, APausedProgramHoldsNothing) {
  Use(LargeContexts("5min"));
  const auto work = Work(4, 400);
  const ProcessResult alone = machine_->RunNative("idle", work);
  machine_->StartDaemon();
  Process process = machine_->Start("idle", work, {{"REVEZA_NAME", "paused"}});
  ASSERT_TRUE(AwaitTurn(process));
  ASSERT_EQ(Reveza({"pause", "paused"}).status, 0);
  ASSERT_TRUE(AwaitAway(process));
  EXPECT_TRUE(machine_->GpuIsEmpty());
  ASSERT_EQ(Reveza({"resume", "paused"}).status, 0);
  ExpectHash(process, alone);
}

TEST_F(ContextsTest, KilledWhileTheyAreAway) {
  Use(LargeContexts("5min"));
  const auto work = Work(4, 500);
  const ProcessResult alone = machine_->RunNative("idle", Work(4, 0));
  machine_->StartDaemon();
  Process victim = machine_->Start("idle", Work(1000, 60'000));
  ASSERT_TRUE(AwaitTurn(victim));
  Process other = machine_->Start("idle", work);
  ASSERT_TRUE(AwaitAway(victim));
  victim.Signal(SIGKILL);
  victim.Wait();
  ExpectHash(other, alone);
  EXPECT_TRUE(machine_->GpuIsEmpty());
}

TEST_F(ContextsTest, TheyComeBackWithoutADaemon) {
  Use(LargeContexts("5min"));
  const auto first_work = Work(3, 1500);
  const auto second_work = Work(3, 1500, 2);
  const ProcessResult first_alone = machine_->RunNative("idle", Work(3, 0));
  const ProcessResult second_alone = machine_->RunNative("idle", Work(3, 0, 2));
  machine_->StartDaemon();
  // Where fakecuda's nvidia-smi is.
  const Environment path = {{"PATH", REVEZA_FAKECUDA_FOLDER}};
  Process first = machine_->Start("idle", first_work, path);
  Process second = machine_->Start("idle", second_work, path);
  ASSERT_TRUE(machine_->WaitFor([&](const json& status) {
    return IsAway(status, first.pid()) || IsAway(status, second.pid());
  }));
  machine_->daemon().Signal(SIGKILL);
  machine_->daemon().Wait();
  ExpectHash(first, first_alone);
  ExpectHash(second, second_alone);
}

TEST_F(ContextsTest, ARestartedDaemonAdoptsThem) {
  Use(LargeContexts("5min"));
  const auto work = Work(4, 1500);
  const ProcessResult alone = machine_->RunNative("idle", Work(4, 0));
  machine_->StartDaemon();
  Process first = machine_->Start("idle", work);
  Process second = machine_->Start("idle", work);
  ASSERT_TRUE(machine_->WaitFor([&](const json& status) {
    return IsAway(status, first.pid()) || IsAway(status, second.pid());
  }));
  machine_->daemon().Signal(SIGKILL);
  machine_->daemon().Wait();
  machine_->StartDaemon();
  ExpectHash(first, alone);
  ExpectHash(second, alone);
}

TEST_F(ContextsTest, ARefusalIsRemembered) {
  auto options = LargeContexts("50ms");
  options.environment["FAKECUDA_FAIL"] = "cuCheckpointProcessCheckpoint:1:801";
  Use(options);
  const auto work = Work(6, 300);
  const ProcessResult alone = machine_->RunNative("idle", work);
  machine_->StartDaemon();
  // What the second needs is the context of the first, which stays until it ends.
  Process first = machine_->Start("idle", work);
  ASSERT_TRUE(AwaitTurn(first));
  Process second = machine_->Start("idle", work);
  ExpectHash(first, alone);
  ExpectHash(second, alone);
  EXPECT_LE(Calls("cuCheckpointProcessLock"), 2u) << "one for each program";
}

TEST_F(ContextsTest, WithoutTheSettingTheyStay) {
  auto options = LargeContexts("0s");
  Use(options);
  const auto work = Work(4, 100);
  const ProcessResult alone = machine_->RunNative("idle", work);
  machine_->StartDaemon();
  Process first = machine_->Start("idle", work);
  Process second = machine_->Start("idle", work);
  ExpectHash(first, alone);
  ExpectHash(second, alone);
  EXPECT_EQ(Calls("cuCheckpointProcessLock"), 0u);
}

}  // namespace contexts_test
}  // namespace reveza::testing
