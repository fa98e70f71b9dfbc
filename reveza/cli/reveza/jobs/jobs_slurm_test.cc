// `reveza jobs run --on slurm` with a Slurm of scripts; jobs/cluster/ tests the rest.
#include <filesystem>
#include <string>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"
#include "reveza/jobs/cluster/testing_fake_slurm.h"

namespace reveza::cli {
namespace jobs_slurm_test {

namespace fs = std::filesystem;

class JobsOnSlurm : public JobsTest {
 protected:
  JobsOnSlurm() { jobs::UseFakeSlurm(folder_.path()); }
  ~JobsOnSlurm() override { fs::remove_all(folder_ / "slurm"); }
};

TEST_F(JobsOnSlurm, CommandsWorkAcross) {
  const std::string run =
      "run --name s --on slurm --shared shared --quiet -- sh -c 'echo out {n}; [ {n} != 3 ]' ::: n "
      "1..4";
  EXPECT_EQ(Jobs(run).status, kFailedSteps);
  EXPECT_EQ(Jobs("logs s n=2").output, "out 2\n");
  EXPECT_TRUE(Jobs("show s").output.contains("3 of 4 steps done, 1 failed"));
  EXPECT_TRUE(Jobs("why s").output.contains("1 of 4 steps did not succeed"));
  EXPECT_EQ(Jobs("retry s n=3").status, kDone);
  // The steps that are done on nodes are done at home.
  EXPECT_EQ(Jobs("run --name s --quiet -- sh -c 'echo out {n}; [ {n} != 3 ]' ::: n 1..4").status,
            kFailedSteps);
  const std::string table = Jobs("table s --csv").output;
  for (const char* row : {"1,1,done,1,", "2,2,done,1,", "3,3,failed,2,", "4,4,done,1,"}) {
    EXPECT_TRUE(table.contains(row)) << table;
  }
}

TEST_F(JobsOnSlurm, ARunningJobIsControlled) {
  folder_.Write("slurm/hold", "");
  const std::string run = "run --name s --on slurm --shared shared -- true {n} ::: n 1..3";
  platform::Shell("cd " + folder_.path().string() + "; " REVEZA_PROGRAM " jobs " + run +
                  " > said 2>&1 < /dev/null & until grep -q sbatch " +
                  (folder_ / "slurm/calls").string() + "; do sleep 0.05; done 2>/dev/null");
  platform::Ran why;
  for (int i = 0; i < 600 && !why.output.contains("Slurm's queue"); ++i) {
    why = Jobs("why s");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(why.output.contains("3 tasks in Slurm's queue")) << why.output;
  const auto paused = Jobs("pause s");
  EXPECT_NE(paused.status, kDone);
  EXPECT_TRUE(paused.output.contains("cannot be paused")) << paused.output;
  EXPECT_EQ(Jobs("add s -- true {n} ::: n 4").status, kDone);
  EXPECT_EQ(Jobs("cancel s").status, kDone);
  EXPECT_NE(Jobs("wait s").status, kDone);
  EXPECT_TRUE(Text("said").contains("4 of 4 steps remain")) << Text("said");
  fs::remove(folder_ / "slurm/hold");
  EXPECT_EQ(Jobs(run).status, kDone);
  EXPECT_TRUE(Jobs("show s").output.contains("4 of 4 steps done"));
}

TEST_F(JobsOnSlurm, IsNotRunHereAtTheSameTime) {
  folder_.Write("slurm/hold", "");
  const std::string run = "run --name s --on slurm --shared shared -- true {n} ::: n 1..3";
  platform::Shell("cd " + folder_.path().string() + "; " REVEZA_PROGRAM " jobs " + run +
                  " > said 2>&1 < /dev/null & until grep -q sbatch " +
                  (folder_ / "slurm/calls").string() +
                  " 2>/dev/null; do sleep 0.05; done; kill -9 $!; wait $!");
  const auto refused = Jobs("run --name s -- true {n} ::: n 1..3");
  EXPECT_EQ(refused.status, kBusyJob);
  EXPECT_TRUE(refused.output.contains("may be running on Slurm")) << refused.output;
  fs::remove(folder_ / "slurm/hold");
  EXPECT_EQ(Jobs(run).status, kDone);
  const auto here = Jobs("run --name s -- true {n} ::: n 1..4");
  EXPECT_EQ(here.status, kDone) << here.output << Text("said");
}

TEST_F(JobsOnSlurm, SaysWhatIsMissing) {
  const std::string words = " jobs run --on slurm --shared shared -- /bin/true {n} ::: n 1";
  const auto none =
      platform::Shell("cd " + folder_.path().string() + "; PATH=/nowhere " REVEZA_PROGRAM + words);
  EXPECT_EQ(none.status, kUsage);
  EXPECT_TRUE(none.output.contains("sbatch is not in PATH")) << none.output;
  folder_.Write("shared", "a file");
  const auto unwritable = Jobs(words.substr(6));
  EXPECT_EQ(unwritable.status, kOutput);
  EXPECT_TRUE(unwritable.output.contains("--shared: cannot write")) << unwritable.output;
}

TEST_F(JobsOnSlurm, TasksAreForScripts) {
  EXPECT_EQ(Jobs("run-task").status, kUsage);
  EXPECT_EQ(Jobs("run-task " + (folder_ / "array-1").string() + " 1 state").status, kUsage);
}

}  // namespace jobs_slurm_test
}  // namespace reveza::cli
