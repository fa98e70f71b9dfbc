// Who starts processes while a job runs, counted by a tracer: a runner may be large, and a copy of
// it for each step would cost what it has mapped.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <fstream>
#include <string>
#include <vector>

#include "platform/testing_directory.h"
#include "tracer.h"

namespace reveza::testing {
namespace {

constexpr std::size_t kSteps = 6;
constexpr std::size_t kWorkers = 2;

TEST(JobsBirths, TheRunnerStartsSupervisorsOnlyAndNobodyForks) {
  const platform::TestingDirectory folder;
  setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  setenv("REVEZA_STATE", (folder / "state").c_str(), 1);
  const std::vector<std::string> words = {REVEZA_PROGRAM,
                                          "jobs",
                                          "run",
                                          "--name",
                                          "births",
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
  const Traced traced = Tracer(REVEZA_SUPERVISOR, REVEZA_STEP).Run(words, {});
  ASSERT_TRUE(WIFEXITED(traced.status) && WEXITSTATUS(traced.status) == 0) << traced.status;
  const auto of = [&](Role role) { return traced.births.at(static_cast<std::size_t>(role)); };
  EXPECT_EQ(of(Role::kRunner).copied, 0u);
  EXPECT_GE(of(Role::kRunner).lent, 1u);
  EXPECT_LE(of(Role::kRunner).lent, kWorkers);
  EXPECT_EQ(of(Role::kSupervisor).copied, 0u);
  EXPECT_EQ(of(Role::kSupervisor).lent, kSteps);
  std::ifstream finished(folder / "finished");
  std::size_t lines = 0;
  for (std::string line; std::getline(finished, line);) ++lines;
  EXPECT_EQ(lines, kSteps);
}

}  // namespace
}  // namespace reveza::testing
