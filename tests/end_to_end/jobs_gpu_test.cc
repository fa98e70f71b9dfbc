// Jobs whose steps together need more of a card than it has: they take turns on it.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "machine.h"

namespace reveza::testing {
namespace {

// Two steps of 180 MiB on a card of 256 MiB, two workers.
class JobsOnAGpu {
 public:
  explicit JobsOnAGpu(const Environment& more = {}) {
    machine_.StartDaemon();
    Environment environment = machine_.ProgramEnvironment();
    for (const auto& [name, value] : more) environment[name] = value;
    environment["REVEZA_SOCKET"] = machine_.socket();
    environment["REVEZA_STATE"] = machine_.folder() + "/state";
    environment["XDG_RUNTIME_DIR"] = machine_.folder();
    environment["REVEZA_CONFIG"] = "/dev/null";
    Process process({REVEZA_PROGRAM, "jobs", "run", "--name", "gpu", "--workers", "2",
                     // However busy the machine is.
                     "--cpu-budget", "64", "--memory", "512MiB", "--gpu-memory", "200MiB", "--json",
                     "--", ClientPath("worker"), "--bytes", "180MiB", "--steps", "20", "--step-ms",
                     "20", "--json", "--seed", "{seed}", ":::", "seed", "1", "2"},
                    environment, machine_.folder() + "/jobs");
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (process.Running()) {
      if (std::chrono::steady_clock::now() > limit) process.Signal(SIGTERM);
      const auto status = machine_.Status();
      if (!status.is_object()) continue;
      clients_ = std::max(clients_, status["clients"].size());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ended_ = process.Wait().value_or(Ended{});
  }

  const Ended& ended() const { return ended_; }
  // The most that were connected to the daemon at once.
  std::size_t clients() const { return clients_; }
  std::string Hash(int step) const {
    std::ifstream file(machine_.folder() + "/state/jobs/gpu/outputs/000/" + std::to_string(step) +
                       ".out");
    Ended of_step;
    of_step.output.assign(std::istreambuf_iterator<char>(file), {});
    return of_step.Field("hash");
  }
  std::string Alone(int seed) {
    return machine_
        .Native("worker", {"--bytes", "180MiB", "--steps", "20", "--step-ms", "20", "--seed",
                           std::to_string(seed)})
        .Field("hash");
  }
  // Whether the second step began before the first had ended.
  bool AtOnce() const {
    const std::size_t second = ended_.output.rfind("\"event\":\"start\"");
    const std::size_t first_end = ended_.output.find("\"event\":\"end\"");
    return second != std::string::npos && second < first_end;
  }

 private:
  Machine machine_{{.memory = "256MiB",
                    .environment = {},
                    .daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"}}};
  Ended ended_;
  std::size_t clients_ = 0;
};

// A step that shares a card is preloaded with the library, which is not built for sanitizers.
bool NoLibrary() { return Preload().empty(); }

TEST(JobsGpuTest, StepsThatDoNotFitTogetherShareTheCard) {
  if (NoLibrary()) GTEST_SKIP() << "libreveza.so is not built";
  JobsOnAGpu jobs;
  EXPECT_EQ(jobs.ended().status, 0) << jobs.ended().output << jobs.ended().complaint;
  EXPECT_EQ(jobs.clients(), 2u);
  EXPECT_TRUE(jobs.AtOnce()) << jobs.ended().output;
  for (int step = 1; step <= 2; ++step) {
    EXPECT_FALSE(jobs.Hash(step).empty());
    EXPECT_EQ(jobs.Hash(step), jobs.Alone(step));
  }
}

TEST(JobsGpuTest, WithoutRevezaTheyWaitForEachOther) {
  JobsOnAGpu jobs(Environment{{"REVEZA_DISABLE", "1"}});
  EXPECT_EQ(jobs.ended().status, 0) << jobs.ended().output << jobs.ended().complaint;
  EXPECT_EQ(jobs.clients(), 0u);
  EXPECT_FALSE(jobs.AtOnce()) << jobs.ended().output;
  EXPECT_EQ(jobs.ended().output.find("\"again\":true"), std::string::npos) << jobs.ended().output;
  for (int step = 1; step <= 2; ++step) {
    EXPECT_FALSE(jobs.Hash(step).empty());
    EXPECT_EQ(jobs.Hash(step), jobs.Alone(step));
  }
}

// What the daemon may give of a card is less than NVML says it has.
TEST(JobsGpuTest, TheBudgetOfTheDaemonIsWhatThereIs) {
  Machine machine{
      {.memory = "256MiB", .environment = {}, .daemon_arguments = {"--gpu-budget", "100MiB"}}};
  machine.StartDaemon();
  Environment environment = machine.ProgramEnvironment();
  environment["REVEZA_SOCKET"] = machine.socket();
  environment["REVEZA_STATE"] = machine.folder() + "/state";
  environment["XDG_RUNTIME_DIR"] = machine.folder();
  environment["REVEZA_CONFIG"] = "/dev/null";
  const auto run = [&](const char* name, const char* claim) {
    Process process({REVEZA_PROGRAM, "jobs", "run", "--name", name, "--gpu-memory", claim, "--json",
                     "--", "true"},
                    environment, machine.folder() + "/" + name);
    return process.Wait().value_or(Ended{});
  };
  const Ended large = run("large", "200MiB");
  EXPECT_NE(large.status, 0);
  EXPECT_NE(large.output.find("GPU memory: a step takes 200 MiB, the largest GPU has 100 MiB"),
            std::string::npos)
      << large.output << large.complaint;
  if (NoLibrary()) GTEST_SKIP() << "libreveza.so is not built: no step can be admitted";
  const Ended small = run("small", "90MiB");
  EXPECT_EQ(small.status, 0) << small.output << small.complaint;
}

}  // namespace
}  // namespace reveza::testing
