// `reveza jobs run --on ray` with a Ray of scripts; jobs/cluster/ tests the rest.
#include <filesystem>
#include <string>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"
#include "reveza/jobs/cluster/testing_fake_ray.h"

namespace reveza::cli {
namespace jobs_ray_test {

namespace fs = std::filesystem;

class JobsOnRay : public JobsTest {
 protected:
  JobsOnRay() { jobs::UseFakeRay(folder_.path()); }
  ~JobsOnRay() override { fs::remove_all(folder_ / "ray"); }
};

TEST_F(JobsOnRay, CommandsWorkAcross) {
  const std::string run =
      "run --name s --on ray --shared shared --quiet -- sh -c 'echo out {n}; [ {n} != 3 ]' ::: n "
      "1..4";
  EXPECT_EQ(Jobs(run).status, kFailedSteps);
  EXPECT_EQ(Jobs("logs s n=2").output, "out 2\n");
  EXPECT_TRUE(Jobs("show s").output.contains("3 of 4 steps done, 1 failed"));
  EXPECT_TRUE(Jobs("why s").output.contains("1 of 4 steps did not succeed"));
  EXPECT_EQ(Jobs("retry s n=3").status, kDone);
  // What is done on nodes is done at home.
  EXPECT_EQ(Jobs("run --name s --quiet -- sh -c 'echo out {n}; [ {n} != 3 ]' ::: n 1..4").status,
            kFailedSteps);
  const std::string table = Jobs("table s --csv").output;
  for (const char* row : {"1,1,done,1,", "2,2,done,1,", "3,3,failed,2,", "4,4,done,1,"}) {
    EXPECT_TRUE(table.contains(row)) << table;
  }
}

TEST_F(JobsOnRay, ARunningJobIsControlled) {
  folder_.Write("ray/hold", "");
  const std::string run = "run --name s --on ray --shared shared -- true {n} ::: n 1..3";
  platform::Shell("cd " + folder_.path().string() + "; " REVEZA_PROGRAM " jobs " + run +
                  " > said 2>&1 < /dev/null & until grep -q submit " +
                  (folder_ / "ray/calls").string() + "; do sleep 0.05; done 2>/dev/null");
  platform::Ran why;
  for (int i = 0; i < 600 && !why.output.contains("Ray's queue"); ++i) {
    why = Jobs("why s");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(why.output.contains("3 tasks in Ray's queue")) << why.output;
  EXPECT_TRUE(Jobs("pause s").output.contains("jobs on Ray cannot be paused"));
  EXPECT_EQ(Jobs("cancel s").status, kDone);
  EXPECT_NE(Jobs("wait s").status, kDone);
  EXPECT_TRUE(Text("said").contains("3 of 3 steps remain")) << Text("said");
  fs::remove(folder_ / "ray/hold");
  EXPECT_EQ(Jobs(run).status, kDone);
}

TEST_F(JobsOnRay, IsNotRunHereAtTheSameTime) {
  folder_.Write("ray/hold", "");
  const std::string run = "run --name s --on ray --shared shared -- true {n} ::: n 1..3";
  platform::Shell("cd " + folder_.path().string() + "; " REVEZA_PROGRAM " jobs " + run +
                  " > said 2>&1 < /dev/null & until grep -q submit " +
                  (folder_ / "ray/calls").string() +
                  " 2>/dev/null; do sleep 0.05; done; kill -9 $!; wait $!");
  const auto refused = Jobs("run --name s -- true {n} ::: n 1..3");
  EXPECT_EQ(refused.status, kBusyJob);
  EXPECT_TRUE(refused.output.contains("may be running on Ray: add --on ray")) << refused.output;
  fs::remove(folder_ / "ray/hold");
  EXPECT_EQ(Jobs(run).status, kDone);
  EXPECT_EQ(Jobs("run --name s -- true {n} ::: n 1..4").status, kDone);
}

TEST_F(JobsOnRay, SaysWhatIsMissing) {
  const std::string words = " jobs run --on ray --shared shared -- /bin/true {n} ::: n 1";
  const auto none =
      platform::Shell("cd " + folder_.path().string() + "; PATH=/nowhere " REVEZA_PROGRAM + words);
  EXPECT_EQ(none.status, kUsage);
  EXPECT_TRUE(none.output.contains("python3 is not in PATH")) << none.output;
  const auto elsewhere =
      platform::Shell("cd " + folder_.path().string() +
                      "; RAY_API_SERVER_ADDRESS=head:6379 " REVEZA_PROGRAM + words);
  EXPECT_EQ(elsewhere.status, kUsage);
  EXPECT_TRUE(elsewhere.output.contains("write http://HEAD:8265")) << elsewhere.output;
}

}  // namespace jobs_ray_test
}  // namespace reveza::cli
