// Steps that die of a resource limit of any of their processes.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_death_test {

using namespace std::chrono_literals;
using EngineDeathTest = EngineTest;

// Sanitizers reserve terabytes of address space, so it cannot be limited.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr const char* kAbort = "echo 'cannot allocate memory for thread-local data: ABORT' >&2; ";

TEST_F(EngineDeathTest, ExplainsAbort) {
  if (kSanitized) GTEST_SKIP() << "no limit on address space under sanitizers";
  const std::string limited = "exec " REVEZA_LIMITED_PROGRAM " ";
  const std::string command_lines[] = {limited + "address-space " REVEZA_LATE_LIBRARY,
                                       limited + "data " REVEZA_LATE_LIBRARY};
  Job job = Shell("", 2);
  job.commands.push_back(job.commands[0]);
  job.steps[1].command = 1;
  for (int i = 0; i < 2; ++i) job.commands[i].arguments = {command_lines[i]};
  EXPECT_EQ(Run(job, Workers(2)).counts.failed, 2u);
  const auto expect = [&](const char* label, const char* id, const char* limit) {
    const std::string& said = listener_.explanations[label];
    EXPECT_TRUE(said.starts_with(label)) << said;
    EXPECT_NE(said.find("ended with status 127"), std::string::npos) << said;
    EXPECT_NE(said.find(id), std::string::npos) << said;
    EXPECT_NE(said.find(limit), std::string::npos) << said;
  };
  expect("n=1", "(address-space); RLIMIT_AS = ", "RLIMIT_AS, or ulimit -v");
  expect("n=2", "(data-limit); RLIMIT_DATA = ", "remove ulimit -d");
}

TEST_F(EngineDeathTest, ExplainsDeathOfChild) {
  const Job job =
      Shell(std::string("ulimit -v 4194304; sh -c \"") + kAbort + "exit 127\"; exit {n}", 1);
  EXPECT_EQ(Run(job, Workers(1)).counts.failed, 1u);
  const std::string& said = listener_.explanations["n=1"];
  EXPECT_TRUE(said.starts_with("n=1 ended with status 1: \"cannot allocate memory")) << said;
  EXPECT_NE(said.find("RLIMIT_AS = 4 GiB (likely)"), std::string::npos) << said;
}

// The child has the limit and is reaped by its shell, which leaves no trace of it.
TEST_F(EngineDeathTest, SamplesLimitsOfLivingChild) {
  const Job job = Shell(std::string("(ulimit -v 2097152; ") + kAbort +
                            "while [ ! -e go ]; do sleep 0.02; done; exit 127); exit {n}",
                        1);
  std::thread asker([&] {
    for (int i = 0; i < 3000; ++i) {
      const auto status =
          QueryRunner("test", {{"request", "status"}}).value_or(nlohmann::json::object());
      // Sampled by now.
      if (status.contains("running") && !status["running"].empty() &&
          status["running"][0]["memory"].is_number()) {
        break;
      }
      std::this_thread::sleep_for(10ms);
    }
    std::ofstream(folder_ / "go");
  });
  Hurry();
  EXPECT_EQ(Run(job, Workers(1)).counts.failed, 1u);
  asker.join();
  const std::string& said = listener_.explanations["n=1"];
  EXPECT_NE(said.find("RLIMIT_AS = 2 GiB"), std::string::npos) << said;
}

TEST_F(EngineDeathTest, UnknownCausesAreNotExplained) {
  EXPECT_EQ(Run(Shell("echo no >&2; exit {n}", 1), Workers(1)).counts.failed, 1u);
  EXPECT_EQ(listener_.explanations["n=1"], "");
}

}  // namespace engine_death_test
}  // namespace reveza::jobs
