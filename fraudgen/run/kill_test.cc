// Runs killed repeatedly at random times: each next run resumes, and the final files are identical
// to those of an uninterrupted run.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "common/platform/testing_directory.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/testing_model.h"

namespace reveza::fraudgen {
namespace kill_test {

constexpr int kKills = 50;
constexpr std::chrono::seconds kPatience(100);

bool RunOnce(const std::filesystem::path& path, Shard shard) {
  const TestingModel model(1, 200'000, 10'000);
  const auto plan = Plan::Make(model, Format::kJsonLines, 4'000, shard);
  RunOptions options;
  options.table.format = Format::kJsonLines;
  options.configuration = "rows = 200000\n";
  options.threads = 2;
  options.made_by.configuration = HashOf(options.configuration);
  options.made_by.SetOptions(options.table);
  Folder folder(path);
  const auto result = Run(model, *plan, options, folder, [](const Progress&) { return true; });
  if (!result) fprintf(stderr, "%s\n", result.error().message.c_str());
  return result.has_value();
}

pid_t StartRun(const std::filesystem::path& path, Shard shard) {
  const pid_t child = fork();
  if (child == 0) _exit(RunOnce(path, shard) ? 0 : 1);
  return child;
}

// Returns true if the run exited successfully by itself.
bool KillAfter(pid_t child, std::chrono::microseconds delay) {
  std::this_thread::sleep_for(delay);
  kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFEXITED(status);
}

class KilledRunTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(RunOnce(place_ / "whole", Shard{}));
    took_ = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                  begin);
    whole_ = platform::ContentsOf(place_ / "whole");
  }

  // Kill delays, in quarters of the duration of a complete run.
  std::chrono::microseconds Somewhen(int64_t quarters) {
    return std::chrono::microseconds(
        std::uniform_int_distribution<int64_t>(0, took_.count() * quarters / 4)(random_));
  }

  platform::TestingDirectory place_;
  std::map<std::string, std::string> whole_;
  std::chrono::microseconds took_{0};
  std::mt19937_64 random_{20261121};
};

TEST_F(KilledRunTest, NextRunResumes) {
  const auto path = place_ / "data";
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int ended = 0;
  int vain = 0;  // kills since the last completed run; the delay grows on slow machines
  for (int kills = 0; kills < kKills || ended == 0; ++kills) {
    if (std::chrono::steady_clock::now() > deadline) break;
    if (!KillAfter(StartRun(path, Shard{}), Somewhen(1 + vain++ / 10))) continue;
    vain = 0;
    // Completed: verify the files and start over.
    ASSERT_EQ(platform::ContentsOf(path), whole_);
    std::filesystem::remove_all(path);
    ++ended;
  }
  EXPECT_GT(ended, 0) << "runs that are killed must come to an end";
  ASSERT_TRUE(RunOnce(path, Shard{}));
  EXPECT_EQ(platform::ContentsOf(path), whole_);
}

// Two processes make the same shard by mistake, and a third makes the other shard.
TEST_F(KilledRunTest, ConcurrentRunsInOneFolderDoNotInterfere) {
  const auto path = place_ / "data";
  const pid_t one = StartRun(path, Shard{1, 2});
  const pid_t same = StartRun(path, Shard{1, 2});
  for (int kills = 0; kills < 5; ++kills) KillAfter(StartRun(path, Shard{2, 2}), Somewhen(1));
  for (const pid_t child : {one, same}) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ASSERT_TRUE(RunOnce(path, Shard{2, 2}));
  EXPECT_EQ(platform::ContentsOf(path), whole_);
}

}  // namespace kill_test
}  // namespace reveza::fraudgen
