// Kills a client or the daemon with SIGKILL in every phase. Survivors must compute bit-identical
// results, never wait forever, and leave no device memory in use.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "tests/support/machine.h"

namespace reveza::testing {
namespace kill_test {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Large programs on a slow link, so that every phase lasts long enough to be observed.
Machine::Options Slow() {
  Machine::Options options;
  options.link = "1GB";
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  return options;
}

std::vector<std::string> Work(int steps, int seed) {
  return {"--bytes",   "180MiB", "--steps", std::to_string(steps),
          "--step-ms", "20",     "--seed",  std::to_string(seed)};
}

std::string StateOf(const json& status, pid_t pid) {
  const json client = ClientOf(status, pid);
  return client.is_object() ? client["state"].get<std::string>() : "";
}

class KillTest : public ::testing::Test {
 protected:
  KillTest() : machine_(Slow()) {
    for (int seed = 1; seed <= 2; ++seed) {
      const ProcessResult ended = machine_.RunNative("worker", Work(25, seed));
      EXPECT_EQ(ended.status, 0) << ended.error_output;
      hashes_.push_back(ended.Field("hash"));
    }
    machine_.StartDaemon();
  }

  void ExpectRight(Process& process, int seed) {
    const auto ended = process.Wait(seconds(120));
    ASSERT_TRUE(ended.has_value())
        << "the program hangs; daemon status: " << machine_.Status().dump(1);
    EXPECT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), hashes_[static_cast<std::size_t>(seed - 1)]);
  }

  // Starts a long victim and a survivor, and kills the victim once it satisfies `phase`.
  void KillVictimWhen(const std::function<bool(const json&, pid_t)>& phase) {
    Process victim = machine_.Start("worker", Work(100'000, 9));
    Process survivor = machine_.Start("worker", Work(25, 1));
    const bool reached =
        machine_.WaitFor([&](const json& status) { return phase(status, victim.pid()); });
    EXPECT_TRUE(reached) << machine_.Status().dump(1);
    victim.Signal(SIGKILL);
    victim.Wait();
    ExpectRight(survivor, 1);
    EXPECT_TRUE(machine_.GpuIsEmpty());
    EXPECT_TRUE(machine_.WaitFor([](const json& status) {
      return status["clients"].empty() && status["host"]["reserved"] == 0 &&
             status["gpus"][0]["credit"] == 0;
    })) << machine_.Status().dump(1);
  }

  Machine machine_;
  std::vector<std::string> hashes_;
};

TEST_F(KillTest, KilledWhileRunning) {
  KillVictimWhen([](const json& status, pid_t pid) { return StateOf(status, pid) == "running"; });
}

TEST_F(KillTest, KilledWhileWaiting) {
  KillVictimWhen([](const json& status, pid_t pid) {
    const json client = ClientOf(status, pid);
    return client.is_object() && client["state"] == "waiting" && client["turns"] > 0;
  });
}

TEST_F(KillTest, KilledWhileDraining) {
  KillVictimWhen([](const json& status, pid_t pid) { return StateOf(status, pid) == "leaving"; });
}

TEST_F(KillTest, KilledDuringSwapOut) {
  KillVictimWhen([](const json& status, pid_t pid) {
    const json client = ClientOf(status, pid);
    return client.is_object() && client["footprint"]["swapped"] > 0 &&
           client["footprint"]["resident"] > 0 && client["state"] != "entering";
  });
}

TEST_F(KillTest, KilledDuringSwapIn) {
  KillVictimWhen([](const json& status, pid_t pid) {
    const json client = ClientOf(status, pid);
    return client.is_object() && client["state"] == "entering" && client["turns"] > 0;
  });
}

// The daemon is killed and not restarted. Both programs finish without it, one after the other.
TEST_F(KillTest, ClientsFinishAfterDaemonIsLost) {
  Process first = machine_.Start("worker", Work(25, 1));
  Process second = machine_.Start("worker", Work(25, 2));
  EXPECT_TRUE(machine_.WaitFor([](const json& status) {
    // Both programs have allocated all their memory by then.
    return !status["gpus"].empty() && status["gpus"][0]["handover"]["count"] >= 6;
  }));
  machine_.daemon().Signal(SIGKILL);
  ExpectRight(first, 1);
  ExpectRight(second, 2);
  EXPECT_TRUE(machine_.GpuIsEmpty());
}

class DaemonKillTest : public KillTest, public ::testing::WithParamInterface<const char*> {};

// The daemon is killed in a given phase of the first program and restarted. It adopts both.
TEST_P(DaemonKillTest, RestartedDaemonAdoptsClients) {
  Process first = machine_.Start("worker", Work(25, 1));
  Process second = machine_.Start("worker", Work(25, 2));
  const std::string phase = GetParam();
  EXPECT_TRUE(machine_.WaitFor([&](const json& status) {
    return StateOf(status, first.pid()) == phase && status["clients"].size() == 2;
  })) << machine_.Status().dump(1);
  machine_.daemon().Signal(SIGKILL);
  machine_.daemon().Wait();
  machine_.StartDaemon();
  EXPECT_TRUE(machine_.WaitFor([](const json& status) { return status["clients"].size() >= 1; }));
  ExpectRight(first, 1);
  ExpectRight(second, 2);
  EXPECT_TRUE(machine_.GpuIsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Phases, DaemonKillTest,
                         ::testing::Values("running", "waiting", "leaving", "entering"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(KillTest, DaemonAndClientKilledTogether) {
  Process victim = machine_.Start("worker", Work(100'000, 9));
  Process survivor = machine_.Start("worker", Work(25, 1));
  EXPECT_TRUE(machine_.WaitFor([&](const json& status) {
    return StateOf(status, victim.pid()) == "entering" ||
           StateOf(status, victim.pid()) == "leaving";
  }));
  machine_.daemon().Signal(SIGKILL);
  victim.Signal(SIGKILL);
  victim.Wait();
  machine_.daemon().Wait();
  machine_.StartDaemon();
  ExpectRight(survivor, 1);
  EXPECT_TRUE(machine_.GpuIsEmpty());
}

// Programs, and at times the daemon, are killed at random moments. Survivors must compute correct
// results. REVEZA_STORM_ROUNDS sets the number of rounds, REVEZA_SEED the random seed.
TEST_F(KillTest, RandomKillsKeepResultsCorrect) {
  const char* rounds_text = std::getenv("REVEZA_STORM_ROUNDS");
  const char* seed_text = std::getenv("REVEZA_SEED");
  const int rounds = rounds_text == nullptr ? 12 : std::atoi(rounds_text);
  const unsigned seed = seed_text == nullptr ? 20261121u : unsigned(std::atoi(seed_text));
  std::mt19937 random(seed);
  const ProcessResult small =
      machine_.RunNative("worker", {"--bytes", "150MiB", "--steps", "6", "--step-ms", "5"});
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(seed));
    Process survivor =
        machine_.Start("worker", {"--bytes", "150MiB", "--steps", "6", "--step-ms", "5"});
    Process victim = machine_.Start("worker", Work(100'000, 9));
    std::this_thread::sleep_for(milliseconds(random() % 700));
    victim.Signal(SIGKILL);
    if (random() % 4 == 0) {
      machine_.daemon().Signal(SIGKILL);
      machine_.daemon().Wait();
      machine_.StartDaemon();
    }
    const auto ended = survivor.Wait(seconds(120));
    ASSERT_TRUE(ended.has_value()) << machine_.Status().dump(1);
    ASSERT_EQ(ended->status, 0) << ended->error_output;
    ASSERT_EQ(ended->Field("hash"), small.Field("hash"));
  }
  EXPECT_TRUE(machine_.GpuIsEmpty());
}

}  // namespace kill_test
}  // namespace reveza::testing
