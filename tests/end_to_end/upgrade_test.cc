// An upgrade, and its reverse, under running programs: programs and daemons with an older protocol
// beside those of today, with memory on the card and off it. Everything that a program computes
// stays what it is natively.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <string>
#include <vector>

#include "reveza/gpu/wire/messages.h"
#include "tests/support/machine.h"

namespace reveza::testing {
namespace upgrade_test {

using nlohmann::json;
using std::chrono::seconds;

// CMakeLists.txt names the versions for which programs and daemons are built.
static_assert(std::array{REVEZA_OLDER_VERSIONS}.front() == wire::kMinVersion &&
              std::array{REVEZA_OLDER_VERSIONS}.back() == wire::kVersion - 1);

// Two of these programs do not fit on the card.
constexpr int kSteps = 25;
std::vector<std::string> Work(int seed) {
  return {"--bytes",   "90MiB", "--steps", std::to_string(kSteps),
          "--step-ms", "20",    "--seed",  std::to_string(seed)};
}

Machine::Options Slow() {
  Machine::Options options;
  options.memory = "128MiB";
  options.link = "1GB";
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  return options;
}

class UpgradeTest : public ::testing::TestWithParam<int> {
 protected:
  UpgradeTest() : machine_(Slow()) {
    for (int seed = 1; seed <= 2; ++seed) {
      const ProcessResult ended = machine_.RunNative("worker", Work(seed));
      EXPECT_EQ(ended.status, 0) << ended.error_output;
      hashes_.push_back(ended.Field("hash"));
    }
  }

  std::string OlderFolder() const {
    return REVEZA_OLDER_FOLDER "/" + std::to_string(GetParam()) + "/";
  }
  void StartOlderDaemon() {
    machine_.UseDaemon(OlderFolder() + "revezad", static_cast<std::uint16_t>(GetParam()));
    machine_.StartDaemon();
    EXPECT_EQ(machine_.Status().at("protocol"), GetParam());
  }
  void StartTodaysDaemon() {
    machine_.UseDaemon(REVEZA_DAEMON, wire::kVersion);
    machine_.StartDaemon();
    EXPECT_EQ(machine_.Status().at("protocol"), wire::kVersion);
  }
  // Ends the daemon as a package manager does.
  void StopDaemon() {
    machine_.daemon().Signal(SIGTERM);
    EXPECT_TRUE(machine_.daemon().Wait(seconds(20)).has_value());
  }

  Process StartOlder(int seed) {
    return machine_.Start("worker", Work(seed), {{"LD_PRELOAD", OlderFolder() + "libreveza.so"}});
  }
  Process StartTodays(int seed) { return machine_.Start("worker", Work(seed)); }

  // Waits until both programs have all their memory, part of it off the card.
  void AwaitHandovers(int count) {
    EXPECT_TRUE(machine_.WaitFor([&](const json& status) {
      return status["clients"].size() == 2 && !status["gpus"].empty() &&
             status["gpus"][0]["handover"]["count"] >= count && status["gpus"][0]["swapped"] > 0;
    })) << machine_.Status().dump(1);
  }

  void ExpectRight(Process& process, int seed) {
    const auto ended = process.Wait(seconds(120));
    ASSERT_TRUE(ended.has_value()) << "hangs; daemon status: " << machine_.Status().dump(1);
    EXPECT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), hashes_[static_cast<std::size_t>(seed - 1)]);
    EXPECT_EQ(ended->error_output.find("version"), std::string::npos) << ended->error_output;
  }
  void ExpectBothRight(Process& first, Process& second) {
    ExpectRight(first, 1);
    ExpectRight(second, 2);
    EXPECT_TRUE(machine_.GpuIsEmpty());
    EXPECT_TRUE(machine_.WaitFor([](const json& status) {
      return status["clients"].empty() && status["host"]["reserved"] == 0;
    })) << machine_.Status().dump(1);
  }

  Machine machine_;
  std::vector<std::string> hashes_;
};

TEST_P(UpgradeTest, OlderAndTodaysProgramsShareUnderTodaysDaemon) {
  StartTodaysDaemon();
  Process older = StartOlder(1);
  Process todays = StartTodays(2);
  AwaitHandovers(4);
  ExpectBothRight(older, todays);
}

TEST_P(UpgradeTest, OlderAndTodaysProgramsShareUnderAnOlderDaemon) {
  StartOlderDaemon();
  Process older = StartOlder(1);
  Process todays = StartTodays(2);
  AwaitHandovers(4);
  ExpectBothRight(older, todays);
}

TEST_P(UpgradeTest, TodaysDaemonTakesOverOlderPrograms) {
  StartOlderDaemon();
  Process first = StartOlder(1);
  Process second = StartOlder(2);
  AwaitHandovers(3);
  StopDaemon();
  StartTodaysDaemon();
  EXPECT_TRUE(machine_.WaitFor([](const json& status) { return status["clients"].size() >= 1; }));
  ExpectBothRight(first, second);
}

TEST_P(UpgradeTest, AnOlderDaemonTakesOverTodaysPrograms) {
  StartTodaysDaemon();
  Process first = StartTodays(1);
  Process second = StartTodays(2);
  AwaitHandovers(3);
  StopDaemon();
  StartOlderDaemon();
  EXPECT_TRUE(machine_.WaitFor([](const json& status) { return status["clients"].size() >= 1; }));
  ExpectBothRight(first, second);
}

TEST_P(UpgradeTest, TodaysCommandLineServesOlderDaemons) {
  StartOlderDaemon();
  Process program = StartOlder(1);
  EXPECT_TRUE(machine_.WaitFor([](const json& status) { return status["clients"].size() == 1; }));
  const auto reveza = [&](std::vector<std::string> words) {
    words.insert(words.begin(), REVEZA_PROGRAM);
    Environment environment = machine_.ProgramEnvironment();
    environment["REVEZA_SOCKET"] = machine_.socket();
    Process process(words, environment, machine_.folder() + "/cli-" + words[1]);
    return process.Wait(seconds(60)).value_or(ProcessResult{});
  };
  const ProcessResult status = reveza({"status", "--json"});
  EXPECT_EQ(status.status, 0) << status.error_output;
  EXPECT_EQ(json::parse(status.output).at("clients").size(), 1u);
  // Version 2 had no policies: an error, not silence.
  const int expected = GetParam() == 2 ? 6 : 0;
  EXPECT_EQ(reveza({"set", std::to_string(program.pid()), "--weight", "2"}).status, expected);
  ExpectRight(program, 1);
  EXPECT_EQ(reveza({"stop", "--force"}).status, 0);
  EXPECT_TRUE(machine_.daemon().Wait(seconds(20)).has_value());
}

INSTANTIATE_TEST_SUITE_P(Versions, UpgradeTest, ::testing::Values(REVEZA_OLDER_VERSIONS),
                         [](const auto& test) { return "Version" + std::to_string(test.param); });

}  // namespace upgrade_test
}  // namespace reveza::testing
