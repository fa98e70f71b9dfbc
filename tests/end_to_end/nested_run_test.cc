// Runs inside a run, and notebook kernels, that together need more memory than a GPU has.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/machine.h"

namespace reveza::testing {
namespace nested_run_test {

using nlohmann::json;

// Runs a shell script under `reveza run`, in which $WORKER is a program of 180 MiB on a GPU of
// 256 MiB. Returns its result and the largest number of jobs that the daemon had at once.
std::pair<ProcessResult, std::size_t> RunScript(const std::string& script) {
  Machine machine({.memory = "256MiB",
                   .environment = {},
                   .daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"}});
  machine.StartDaemon();
  Environment environment = machine.ProgramEnvironment();
  environment["REVEZA_SOCKET"] = machine.socket();
  environment["REVEZA_CONFIG"] = "/dev/null";
  environment["REVEZA"] = REVEZA_PROGRAM;
  environment["WORKER"] =
      ClientPath("worker") + " --bytes 180MiB --steps 20 --step-ms 20 --json --seed 1";
  Process process({REVEZA_PROGRAM, "run", "--", "sh", "-c", script}, environment,
                  machine.folder() + "/script");
  std::size_t jobs = 0;
  while (process.Running()) {
    const auto status = machine.Status();
    if (!status.is_object()) continue;
    std::set<json> seen;
    for (const json& client : status["clients"]) seen.insert(client["job"]);
    jobs = std::max(jobs, seen.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {process.Wait().value_or(ProcessResult{}), jobs};
}

TEST(NestedRunTest, RunsInsideARunTakeTurns) {
  if (Preload().empty()) GTEST_SKIP() << "libreveza.so is not built";
  const auto [result, jobs] = RunScript(
      "$REVEZA run -- $WORKER & first=$!; $REVEZA run -- $WORKER & wait $! && wait $first");
  EXPECT_EQ(result.status, 0) << result.error_output;
  EXPECT_EQ(jobs, 2u);
}

TEST(NestedRunTest, NotebookKernelsTakeTurns) {
  if (Preload().empty()) GTEST_SKIP() << "libreveza.so is not built";
  const auto [result, jobs] = RunScript(
      "export JPY_PARENT_PID=$$; setsid $WORKER & first=$!; setsid $WORKER & wait $! && "
      "wait $first");
  EXPECT_EQ(result.status, 0) << result.error_output;
  EXPECT_EQ(jobs, 2u);
}

}  // namespace nested_run_test
}  // namespace reveza::testing
