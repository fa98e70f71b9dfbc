// `reveza jobs run --on` with a Slurm, a Ray and a Kubernetes of scripts; jobs/cluster/ tests the
// rest.
#include <filesystem>
#include <ostream>
#include <string>
#include <tuple>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"
#include "reveza/jobs/cluster/testing_fake_kubernetes.h"
#include "reveza/jobs/cluster/testing_fake_ray.h"
#include "reveza/jobs/cluster/testing_fake_slurm.h"

namespace reveza::cli {
namespace jobs_cluster_command_test {

namespace fs = std::filesystem;

struct Engine {
  std::string word;  // of --on
  std::string name;
  std::string submits;  // the call that submits
  void (*use)(const fs::path& folder);
};

void PrintTo(const Engine& engine, std::ostream* to) { *to << engine.name; }

const Engine kSlurm = {"slurm", "Slurm", "sbatch", jobs::UseFakeSlurm};
const Engine kRay = {"ray", "Ray", "submit", jobs::UseFakeRay};
const Engine kKubernetes = {"kubernetes", "Kubernetes", "create", jobs::UseFakeKubernetes};

class JobsOn : public JobsTest {
 protected:
  explicit JobsOn(const Engine& engine) : engine_(engine) { engine_.use(folder_.path()); }
  ~JobsOn() override { fs::remove_all(folder_ / engine_.word); }

  std::string Run(const std::string& words) const {
    return "run --name s --on " + engine_.word + " --shared shared " + words;
  }
  // Starts a run whose tasks wait in the queue, and then what `last` says.
  void Hold(const std::string& run, const std::string& last) {
    folder_.Write(engine_.word + "/hold", "");
    platform::Shell("cd " + folder_.path().string() + "; " REVEZA_PROGRAM " jobs " + run +
                    " > said 2>&1 < /dev/null & until grep -q " + engine_.submits + " " +
                    (folder_ / engine_.word / "calls").string() +
                    " 2>/dev/null; do sleep 0.05; done; " + last);
  }
  void Unhold() { fs::remove(folder_ / engine_.word / "hold"); }

  const Engine& engine_;
};

class JobsOnEngine : public JobsOn, public ::testing::WithParamInterface<Engine> {
 protected:
  JobsOnEngine() : JobsOn(GetParam()) {}
};

TEST_P(JobsOnEngine, CommandsWorkAcross) {
  const std::string steps = "--quiet -- sh -c 'echo out {n}; [ {n} != 3 ]' ::: n 1..4";
  EXPECT_EQ(Jobs(Run(steps)).status, kFailedSteps);
  EXPECT_EQ(Jobs("logs s n=2").output, "out 2\n");
  EXPECT_TRUE(Jobs("show s").output.contains("3 of 4 steps done, 1 failed"));
  EXPECT_TRUE(Jobs("why s").output.contains("1 of 4 steps did not succeed"));
  EXPECT_EQ(Jobs("retry s n=3").status, kDone);
  // The steps that are done on nodes are done at home.
  EXPECT_EQ(Jobs("run --name s " + steps).status, kFailedSteps);
  const std::string table = Jobs("table s --csv").output;
  for (const char* row : {"1,1,done,1,", "2,2,done,1,", "3,3,failed,2,", "4,4,done,1,"}) {
    EXPECT_TRUE(table.contains(row)) << table;
  }
}

TEST_P(JobsOnEngine, ARunningJobIsControlled) {
  const std::string run = Run("-- true {n} ::: n 1..3");
  Hold(run, "true");
  platform::Ran why;
  for (int i = 0; i < 600 && !why.output.contains(engine_.name + "'s queue"); ++i) {
    why = Jobs("why s");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(why.output.contains("3 tasks in " + engine_.name + "'s queue")) << why.output;
  const auto paused = Jobs("pause s");
  EXPECT_NE(paused.status, kDone);
  EXPECT_TRUE(paused.output.contains("jobs on " + engine_.name + " cannot be paused"))
      << paused.output;
  EXPECT_EQ(Jobs("add s -- true {n} ::: n 4").status, kDone);
  EXPECT_EQ(Jobs("cancel s").status, kDone);
  EXPECT_NE(Jobs("wait s").status, kDone);
  EXPECT_TRUE(Text("said").contains("4 of 4 steps remain")) << Text("said");
  Unhold();
  EXPECT_EQ(Jobs(run).status, kDone);
  EXPECT_TRUE(Jobs("show s").output.contains("4 of 4 steps done"));
}

TEST_P(JobsOnEngine, IsNotRunHereAtTheSameTime) {
  const std::string run = Run("-- true {n} ::: n 1..3");
  Hold(run, "kill -9 $!; wait $!");
  const auto refused = Jobs("run --name s -- true {n} ::: n 1..3");
  EXPECT_EQ(refused.status, kBusyJob);
  EXPECT_TRUE(
      refused.output.contains("may be running on " + engine_.name + ": add --on " + engine_.word))
      << refused.output;
  Unhold();
  EXPECT_EQ(Jobs(run).status, kDone);
  const auto here = Jobs("run --name s -- true {n} ::: n 1..4");
  EXPECT_EQ(here.status, kDone) << here.output << Text("said");
}

INSTANTIATE_TEST_SUITE_P(Engines, JobsOnEngine, ::testing::Values(kSlurm, kRay, kKubernetes),
                         [](const auto& tested) { return tested.param.name; });

class JobsOnSlurm : public JobsOn {
 protected:
  JobsOnSlurm() : JobsOn(kSlurm) {}
};

class JobsOnRay : public JobsOn {
 protected:
  JobsOnRay() : JobsOn(kRay) {}
};

class JobsOnKubernetes : public JobsOn {
 protected:
  JobsOnKubernetes() : JobsOn(kKubernetes) {}
};

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

TEST_F(JobsOnKubernetes, SaysWhatIsMissing) {
  const std::string words = " jobs run --on kubernetes --shared shared";
  const auto run = [&](const std::string& environment, const std::string& options) {
    return platform::Shell("cd " + folder_.path().string() + "; " + environment +
                           " " REVEZA_PROGRAM + words + options + " -- /bin/true {n} ::: n 1");
  };
  for (const auto& [environment, options, expected] :
       {std::tuple("PATH=/nowhere", "", "kubectl is not in PATH"),
        std::tuple("REVEZA_POD_TEMPLATE=", "", "requires --image"),
        std::tuple("REVEZA_POD_TEMPLATE=", " --image x", "add --volume CLAIM:"),
        std::tuple("REVEZA_POD_TEMPLATE=", " --image x --volume x", "write CLAIM:/PATH"),
        std::tuple("", " --pod-template none.yaml", "none.yaml")}) {
    const auto refused = run(environment, options);
    EXPECT_EQ(refused.status, kUsage) << refused.output;
    EXPECT_TRUE(refused.output.contains(expected)) << refused.output;
  }
  const auto done = run("REVEZA_POD_TEMPLATE=", " --image x --volume " + folder_.path().string());
  EXPECT_EQ(done.status, kDone) << done.output;
}

}  // namespace jobs_cluster_command_test
}  // namespace reveza::cli
