// Shards of a job on several machines, each with a state folder of its own, and their merge.
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"

namespace reveza::cli {
namespace jobs_shards_test {

class JobsShards : public JobsTest {
 protected:
  // Runs a shard as another machine would.
  platform::Ran OnMachine(const std::string& machine, const std::string& words) {
    setenv("REVEZA_STATE", (folder_ / machine).c_str(), 1);
    auto ran = Jobs(words);
    setenv("REVEZA_STATE", (folder_ / "state").c_str(), 1);
    return ran;
  }
  static std::string Shard(const std::string& shard, const std::string& command) {
    return "run --name s --quiet --workers 2 --shard " + shard + " --export shared -- " + command;
  }
  int Lines(const std::string& name) {
    const std::string text = Text(name);
    return static_cast<int>(std::ranges::count(text, '\n'));
  }
};

const char* const kCommand = "sh -c 'echo {step} >> ran; echo out {n}; [ {n} != 13 ]' ::: n 1..40";

TEST_F(JobsShards, TogetherDoEachStepOnceAndMerge) {
  for (int index = 1; index <= 3; ++index) {
    const auto number = std::to_string(index);
    const auto status = OnMachine("m" + number, Shard(number + "/3", kCommand)).status;
    EXPECT_TRUE(status == kDone || status == kFailedSteps) << status;
  }
  EXPECT_EQ(Lines("ran"), 40);
  std::istringstream ran(Text("ran"));
  const std::set<int> numbers(std::istream_iterator<int>(ran), {});
  EXPECT_EQ(numbers.size(), 40u) << "{step} is the number in the whole job";
  EXPECT_EQ(*numbers.rbegin(), 40);
  const auto merged = Jobs("merge s shared");
  EXPECT_EQ(merged.output,
            "3 shards merged into s: 40 steps new, 40 attempts new; 39 of 40 done, 1 failed\n");
  EXPECT_EQ(Jobs("merge s shared").output,
            "3 shards merged into s: 0 steps new, 0 attempts new; 39 of 40 done, 1 failed\n");
  EXPECT_EQ(Jobs("logs s n=7").output, "out 7\n");
  // At home only the step that failed is left, and then the list is in order.
  EXPECT_EQ(Jobs(std::string("run --name s --quiet -- ") + kCommand).status, kFailedSteps);
  EXPECT_EQ(Lines("ran"), 40);
  EXPECT_EQ(Jobs("logs s 7").output, "out 7\n");
  EXPECT_EQ(Jobs(std::string("run --name s --quiet --retry-failed -- ") + kCommand).status,
            kFailedSteps);
  EXPECT_EQ(Lines("ran"), 41);
}

TEST_F(JobsShards, AnotherMachineContinuesFromTheCopy) {
  const std::string command = "sh -c 'echo {n} >> ran; [ -e go ] || [ {n} -lt 5 ]' ::: n 1..10";
  OnMachine("lost", Shard("1/1", command));
  EXPECT_EQ(Lines("ran"), 10);
  std::filesystem::remove_all(folder_ / "lost");
  platform::Shell("touch " + (folder_ / "go").string());
  EXPECT_EQ(OnMachine("new", "run --retry-failed " + Shard("1/1", command).substr(4)).status,
            kDone);
  EXPECT_EQ(Lines("ran"), 16) << "six had failed";
  EXPECT_EQ(Jobs("merge s shared").output,
            "1 shard merged into s: 10 steps new, 16 attempts new; 10 of 10 done, 0 failed\n");
}

TEST_F(JobsShards, CopiesWhenItIsTerminated) {
  const std::string run = Shard("1/1", "sh -c 'touch on{n}; [ {n} = 1 ] || sleep 60' ::: n 1..3");
  setenv("REVEZA_STATE", (folder_ / "lost").c_str(), 1);
  platform::Shell("cd " + folder_.path().string() + "; " REVEZA_PROGRAM " jobs " + run +
                  " > said 2>&1 < /dev/null & until [ -e " + (folder_ / "on3").string() +
                  " ]; do sleep 0.02; done; kill $!; wait $!");
  setenv("REVEZA_STATE", (folder_ / "state").c_str(), 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "shared/shard-1-of-1.owner"));
  const auto merged = Jobs("merge s shared").output;
  EXPECT_NE(merged.find("1 of 3 done, 0 failed"), std::string::npos) << merged;
}

TEST_F(JobsShards, RefusesAShardThatAnotherMachineRuns) {
  std::filesystem::create_directories(folder_ / "shared");
  folder_.Write("shared/shard-1-of-2.owner", "elsewhere 77\n");
  const auto refused = OnMachine("m", Shard("1/2", "true {n} ::: n 1..9"));
  EXPECT_EQ(refused.status, kBusyJob);
  EXPECT_NE(refused.output.find("shard-1-of-2 is run by process 77 on elsewhere"),
            std::string::npos)
      << refused.output;
  platform::Shell("touch -d '3 minutes ago' " + (folder_ / "shared/shard-1-of-2.owner").string());
  EXPECT_EQ(OnMachine("m", Shard("1/2", "true {n} ::: n 1..9")).status, kDone);
}

TEST_F(JobsShards, TellsDuplicatesAndMissingShards) {
  OnMachine("a", Shard("1/1", "true {n} ::: n 1..3"));
  OnMachine("b", "run --name s --quiet --shard 1/1 --export other -- true {n} ::: n 3..4");
  OnMachine("c", "run --name s --quiet --shard 2/4 --export other -- false {n} ::: n 90..99");
  const auto merged = Jobs("merge s shared other");
  EXPECT_NE(merged.output.find("done more than once, of which the first counts: n=3\n"),
            std::string::npos)
      << merged.output;
  EXPECT_NE(merged.output.find("not there: shard 3, 4 of 4\n"), std::string::npos) << merged.output;
}

TEST_F(JobsShards, RejectsBadInput) {
  EXPECT_EQ(Jobs("merge s nowhere").status, kUsage);
  std::filesystem::create_directories(folder_ / "empty");
  const auto empty = Jobs("merge s empty");
  EXPECT_EQ(empty.status, kUsage);
  EXPECT_NE(empty.output.find("has no shard-I-of-N.db"), std::string::npos) << empty.output;
  folder_.Write("empty/shard-1-of-1.db", "this is no database at all");
  EXPECT_EQ(Jobs("merge s empty").status, kDamagedJournal);
  const auto shard = Jobs("run --shard 4/3 -- true");
  EXPECT_EQ(shard.status, kUsage);
  EXPECT_NE(shard.output.find("--shard: '4/3': shard 4 of 3 does not exist; expected 1 to 3"),
            std::string::npos)
      << shard.output;
}

}  // namespace jobs_shards_test
}  // namespace reveza::cli
