// Runs that are killed in the middle of their work, again and again: the next one goes on, and in
// the end the files are those of a run that nobody disturbed.
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

#include "datagen/output/hashing_sink.h"
#include "datagen/run/folder.h"
#include "datagen/run/runner.h"
#include "datagen/run/testing_model.h"
#include "platform/testing_directory.h"

namespace reveza::datagen {
namespace {

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

std::map<std::string, std::string> Contents(const std::filesystem::path& path) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    contents[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return contents;
}

pid_t StartRun(const std::filesystem::path& path, Shard shard) {
  const pid_t child = fork();
  if (child == 0) _exit(RunOnce(path, shard) ? 0 : 1);
  return child;
}

// Whether it ended by itself, and well.
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
    whole_ = Contents(place_ / "whole");
  }

  // Within so many quarters of the time that a whole run took.
  std::chrono::microseconds Somewhen(int64_t quarters) {
    return std::chrono::microseconds(
        std::uniform_int_distribution<int64_t>(0, took_.count() * quarters / 4)(random_));
  }

  platform::TestingDirectory place_;
  std::map<std::string, std::string> whole_;
  std::chrono::microseconds took_{0};
  std::mt19937_64 random_{20261121};
};

TEST_F(KilledRunTest, TheNextOneGoesOn) {
  const auto path = place_ / "data";
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int ended = 0;
  int vain = 0;  // since the last that ended: on a machine that has become slower, more time helps
  for (int kills = 0; kills < kKills || ended == 0; ++kills) {
    if (std::chrono::steady_clock::now() > deadline) break;
    if (!KillAfter(StartRun(path, Shard{}), Somewhen(1 + vain++ / 10))) continue;
    vain = 0;
    // It got to the end: what it made is right, and the rest of the kills begin anew.
    ASSERT_EQ(Contents(path), whole_);
    std::filesystem::remove_all(path);
    ++ended;
  }
  EXPECT_GT(ended, 0) << "runs that are killed must come to an end";
  ASSERT_TRUE(RunOnce(path, Shard{}));
  EXPECT_EQ(Contents(path), whole_);
}

// Two processes that make the same shard, by mistake, and one that makes the other: nothing breaks.
TEST_F(KilledRunTest, OthersInTheSameFolderAreNotDisturbed) {
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
  EXPECT_EQ(Contents(path), whole_);
}

}  // namespace
}  // namespace reveza::datagen
