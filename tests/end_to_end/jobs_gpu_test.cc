// Jobs whose concurrent steps need more memory than a GPU has.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/machine.h"

namespace reveza::testing {
namespace jobs_gpu_test {

// Runs a job of two steps of 180 MiB with two workers on a GPU of 256 MiB.
class TwoStepJob {
 public:
  explicit TwoStepJob(const Environment& more = {}) {
    machine_.StartDaemon();
    Environment environment = machine_.ProgramEnvironment();
    for (const auto& [name, value] : more) environment[name] = value;
    environment["REVEZA_SOCKET"] = machine_.socket();
    environment["REVEZA_STATE"] = machine_.folder() + "/state";
    environment["XDG_RUNTIME_DIR"] = machine_.folder();
    environment["REVEZA_CONFIG"] = "/dev/null";
    Process process({REVEZA_PROGRAM, "jobs", "run", "--name", "gpu", "--workers", "2",
                     // Both steps start however busy the machine is.
                     "--cpu-budget", "64", "--memory", "512MiB", "--gpu-memory", "200MiB", "--json",
                     "--", ClientPath("worker"), "--bytes", "180MiB", "--steps", "20", "--step-ms",
                     "20", "--json", "--seed", "{seed}", ":::", "seed", "1", "2"},
                    environment, machine_.folder() + "/jobs");
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (process.Running()) {
      if (std::chrono::steady_clock::now() > limit) process.Signal(SIGTERM);
      const auto status = machine_.Status();
      if (!status.is_object()) continue;
      max_clients_ = std::max(max_clients_, status["clients"].size());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    result_ = process.Wait().value_or(ProcessResult{});
  }

  const ProcessResult& result() const { return result_; }
  // Maximum number of concurrent clients of the daemon.
  std::size_t max_clients() const { return max_clients_; }
  std::string Hash(int step) const {
    std::ifstream file(machine_.folder() + "/state/jobs/gpu/outputs/000/" + std::to_string(step) +
                       ".out");
    ProcessResult step_result;
    step_result.output.assign(std::istreambuf_iterator<char>(file), {});
    return step_result.Field("hash");
  }
  std::string NativeHash(int seed) {
    return machine_
        .RunNative("worker", {"--bytes", "180MiB", "--steps", "20", "--step-ms", "20", "--seed",
                              std::to_string(seed)})
        .Field("hash");
  }
  // Whether the second step started before the first had finished.
  bool RanConcurrently() const {
    const std::size_t second = result_.output.rfind("\"event\":\"start\"");
    const std::size_t first_end = result_.output.find("\"event\":\"end\"");
    return second != std::string::npos && second < first_end;
  }

 private:
  Machine machine_{{.memory = "256MiB",
                    .environment = {},
                    .daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"}}};
  ProcessResult result_;
  std::size_t max_clients_ = 0;
};

// Steps that share a GPU preload the library, which sanitized builds lack.
bool LibraryMissing() { return Preload().empty(); }

TEST(JobsGpuTest, OversubscribedStepsShareGpu) {
  if (LibraryMissing()) GTEST_SKIP() << "libreveza.so is not built";
  TwoStepJob job;
  EXPECT_EQ(job.result().status, 0) << job.result().output << job.result().error_output;
  EXPECT_EQ(job.max_clients(), 2u);
  EXPECT_TRUE(job.RanConcurrently()) << job.result().output;
  for (int step = 1; step <= 2; ++step) {
    EXPECT_FALSE(job.Hash(step).empty());
    EXPECT_EQ(job.Hash(step), job.NativeHash(step));
  }
}

TEST(JobsGpuTest, StepsRunSeriallyWhenDisabled) {
  TwoStepJob job(Environment{{"REVEZA_DISABLE", "1"}});
  EXPECT_EQ(job.result().status, 0) << job.result().output << job.result().error_output;
  EXPECT_EQ(job.max_clients(), 0u);
  EXPECT_FALSE(job.RanConcurrently()) << job.result().output;
  EXPECT_EQ(job.result().output.find("\"again\":true"), std::string::npos) << job.result().output;
  for (int step = 1; step <= 2; ++step) {
    EXPECT_FALSE(job.Hash(step).empty());
    EXPECT_EQ(job.Hash(step), job.NativeHash(step));
  }
}

// The daemon's budget is less than the memory that NVML reports.
TEST(JobsGpuTest, DaemonGpuBudgetLimitsAdmission) {
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
    return process.Wait().value_or(ProcessResult{});
  };
  const ProcessResult large = run("large", "200MiB");
  EXPECT_NE(large.status, 0);
  for (const char* size : {"200 MiB", "100 MiB"}) {
    EXPECT_NE(large.output.find(size), std::string::npos) << large.output << large.error_output;
  }
  if (LibraryMissing()) GTEST_SKIP() << "libreveza.so is not built, so no step can be admitted";
  const ProcessResult small = run("small", "90MiB");
  EXPECT_EQ(small.status, 0) << small.output << small.error_output;
}

}  // namespace jobs_gpu_test
}  // namespace reveza::testing
