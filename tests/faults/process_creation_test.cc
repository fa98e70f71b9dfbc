// Counts process creations in a job. A runner may have much memory mapped, so it must not fork.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <fstream>
#include <string>
#include <vector>

#include "common/platform/testing_directory.h"
#include "tests/faults/tracer.h"

namespace reveza::testing {
namespace process_creation_test {

constexpr std::size_t kSteps = 6;
constexpr std::size_t kWorkers = 2;

TEST(ProcessCreationTest, RunnerSpawnsOnlySupervisorsAndNothingForks) {
  const platform::TestingDirectory folder;
  setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  setenv("REVEZA_STATE", (folder / "state").c_str(), 1);
  const std::vector<std::string> command = {REVEZA_PROGRAM,
                                            "jobs",
                                            "run",
                                            "--name",
                                            "creations",
                                            "--quiet",
                                            "--workers",
                                            std::to_string(kWorkers),
                                            "--",
                                            REVEZA_STEP,
                                            folder.path(),
                                            "{n}",
                                            "0",
                                            ":::",
                                            "n",
                                            "1.." + std::to_string(kSteps)};
  const TraceResult traced = Tracer(REVEZA_SUPERVISOR, REVEZA_STEP).Run(command, {});
  ASSERT_TRUE(WIFEXITED(traced.status) && WEXITSTATUS(traced.status) == 0) << traced.status;
  const auto of = [&](Role role) { return traced.creations.at(static_cast<std::size_t>(role)); };
  EXPECT_EQ(of(Role::kRunner).forks, 0u);
  EXPECT_GE(of(Role::kRunner).vforks, 1u);
  EXPECT_LE(of(Role::kRunner).vforks, kWorkers);
  EXPECT_EQ(of(Role::kSupervisor).forks, 0u);
  EXPECT_EQ(of(Role::kSupervisor).vforks, kSteps);
  std::ifstream finished(folder / "finished");
  std::size_t lines = 0;
  for (std::string line; std::getline(finished, line);) ++lines;
  EXPECT_EQ(lines, kSteps);
}

// A brief step must not pay for what others need. Some calls are left for a machine where a step is
// not brief: it is announced, and the room on the disk is read again. Those of the runner depend on
// the time, as it commits every 50 ms.
TEST(ProcessCreationTest, AStepTakesItsSupervisorFewSystemCalls) {
  const auto calls = [](std::size_t steps) {
    const platform::TestingDirectory folder;
    setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
    setenv("REVEZA_STATE", (folder / "state").c_str(), 1);
    const TraceResult traced =
        Tracer(REVEZA_SUPERVISOR, "/bin/true")
            .Run({REVEZA_PROGRAM, "jobs", "run", "--name", "calls", "--quiet", "--workers", "1",
                  "--", "true", "{n}", ":::", "n", "1.." + std::to_string(steps)},
                 {});
    EXPECT_EQ(traced.status, 0);
    return traced.stops.at(static_cast<std::size_t>(Role::kSupervisor)) / 2;
  };
  constexpr std::size_t kMore = 100;
  const std::size_t few = calls(10);
  EXPECT_LE(calls(10 + kMore) - few, 32 * kMore);
}

}  // namespace process_creation_test
}  // namespace reveza::testing
