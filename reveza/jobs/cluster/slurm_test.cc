#include "reveza/jobs/cluster/slurm.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reveza::jobs {
namespace slurm_test {

using namespace std::chrono_literals;

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST(Slurm, AsksForWhatEachTaskNeeds) {
  ArrayRequest array{
      .place = {.name = "sweep-1.2", .folder = "/s"},
      .tasks = 7,
      .resources = {.cpus = 3, .memory = 1000 * kMiB + 1, .gpu = true, .time = 90min},
      .reveza = "/bin/reveza"};
  const auto words = SubmitCommand(array);
  for (const char* word :
       {"--array=1-7", "--job-name=sweep-1.2", "--cpus-per-task=3", "--mem=1001M", "--gres=gpu:1",
        "--time=90", "--no-requeue", "--output=/s/log-%a.txt"}) {
    EXPECT_TRUE(Has(words, word)) << word;
  }
  EXPECT_EQ(words.front(), "sbatch");
  EXPECT_EQ(words.back(), "/s/run.sh");
  array.resources = {};
  for (const std::string& word : SubmitCommand(array)) {
    EXPECT_FALSE(word.starts_with("--mem") || word.starts_with("--time") ||
                 word.starts_with("--gres"))
        << word;
  }
}

TEST(Slurm, ReadsTheQueue) {
  const auto reports = ParseQueue(
      "sweep-1.2|3|PENDING|4000M|Priority\n"
      "sweep-1.2|4|COMPLETING|1.50G|None\n"
      "other|N/A|RUNNING|0|None\n"
      "garbage\n"
      "sweep-1.2|5|OUT_OF_MEMORY|0|OutOfMemory\n");
  ASSERT_EQ(reports.size(), 3u) << "jobs without tasks are not ours";
  EXPECT_EQ(reports[0].array, "sweep-1.2");
  EXPECT_EQ(reports[0].task, 3u);
  EXPECT_EQ(reports[0].state, TaskState::kPending);
  EXPECT_EQ(reports[0].reason, "Priority");
  EXPECT_EQ(reports[0].memory, 4000 * kMiB);
  EXPECT_EQ(reports[1].state, TaskState::kRunning);
  EXPECT_EQ(reports[1].memory, 1536 * kMiB);
  EXPECT_EQ(reports[2].state, TaskState::kOutOfMemory);
  EXPECT_EQ(reports[2].memory, std::nullopt);
}

TEST(Slurm, ReadsTheAccounting) {
  const auto reports = ParseAccounting(
      "a|12_3|CANCELLED by "
      "1000\na|12_4|NODE_FAIL\na|12|COMPLETED\na|12_5|TIMEOUT\na|12_6|FAILED\n");
  ASSERT_EQ(reports.size(), 4u);
  EXPECT_EQ(reports[0].task, 3u);
  EXPECT_EQ(reports[0].state, TaskState::kCancelled);
  EXPECT_EQ(reports[1].state, TaskState::kNodeLost);
  EXPECT_EQ(reports[2].state, TaskState::kTimeLimit);
  EXPECT_EQ(reports[3].state, TaskState::kEnded);
}

TEST(Slurm, ReadsMemory) {
  EXPECT_EQ(ParseMemory("500M"), 500 * kMiB);
  EXPECT_EQ(ParseMemory("2G"), 2 * kGiB);
  EXPECT_EQ(ParseMemory("512K"), 512 * kKiB);
  EXPECT_EQ(ParseMemory("64"), 64 * kMiB);
  EXPECT_EQ(ParseMemory("0"), std::nullopt);
  EXPECT_EQ(ParseMemory("N/A"), std::nullopt);
  EXPECT_EQ(ParseMemory("3X"), std::nullopt);
}

TEST(Slurm, LeavesOnlyEndedTasksForDead) {
  for (const auto state : {TaskState::kPending, TaskState::kRunning}) EXPECT_TRUE(IsAlive(state));
  for (const auto state : {TaskState::kEnded, TaskState::kOutOfMemory, TaskState::kTimeLimit,
                           TaskState::kCancelled, TaskState::kNodeLost}) {
    EXPECT_FALSE(IsAlive(state));
  }
}

}  // namespace slurm_test
}  // namespace reveza::jobs
