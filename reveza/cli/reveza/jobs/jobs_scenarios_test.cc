// End-to-end scenarios of `reveza jobs`.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"

namespace reveza::cli {
namespace jobs_scenarios_test {

namespace fs = std::filesystem;

// Under the sanitizers address space is taken in terabytes, and no limit on it can be met.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// The seeds that this project began with: hours of cycles in one process, a limit on its address
// space, and the death that follows.
TEST_F(JobsTest, ResumesCyclesAfterAnAddressSpaceLimitIsRemoved) {
  if (kSanitized) GTEST_SKIP() << "no limit on address space under sanitizers";
  std::ofstream(folder_ / "cycles.sh")
      << "i=$1; echo from $i >> ran\n"
         "while [ $i -le $2 ]; do\n"
         "  [ $i = 4 ] && [ -e limited ] && exec " REVEZA_LIMITED_PROGRAM
         " address-space " REVEZA_LATE_LIBRARY
         "\n"
         "  echo $i >> ran; echo reveza step $i; i=$((i+1))\n"
         "done\n";
  std::ofstream(folder_ / "limited") << "yes";
  const std::string words = "run --name seeds --cycles 6 --workers 1 ";
  const std::string command = "-- sh cycles.sh {from} {to}";
  const auto died = Jobs(words + command);
  EXPECT_EQ(died.status, kFailedSteps) << died.output;
  EXPECT_NE(died.output.find("failed with status 127 ("), std::string::npos) << died.output;
  EXPECT_NE(died.output.find("thread-local data"), std::string::npos) << died.output;
  EXPECT_NE(died.output.find("RLIMIT_AS = "), std::string::npos) << died.output;
  // The attempt that made progress was retried; the one that made none was not.
  EXPECT_EQ(Text("ran"), "from 1\n1\n2\n3\nfrom 4\n");
  fs::remove(folder_ / "limited");
  const auto done = Jobs(words + "--retry-failed " + command);
  EXPECT_EQ(done.status, kDone) << done.output;
  EXPECT_EQ(Text("ran"), "from 1\n1\n2\n3\nfrom 4\nfrom 4\n4\n5\n6\n");
  EXPECT_NE(Jobs("list").output.find("1 of 1 done"), std::string::npos);
}

TEST_F(JobsTest, SecondInterruptTerminatesRunningSteps) {
  std::ofstream(folder_ / "script") << REVEZA_PROGRAM
      " jobs run --name i --workers 1 -- sh -c 'touch begun; exec sleep 600' {n} "
      "::: n 1..2 > said 2>&1 &\n"
      "await() { i=0; until eval \"$1\" || [ $i = 1200 ]; do sleep 0.05; i=$((i+1)); done; }\n"
      "await '[ -e begun ]'\n"
      "kill -INT $!; await 'grep -q \"no further steps start; waiting for 1 step\" said'\n"
      "kill -0 $! && echo waits\n"
      "kill -INT $!; wait $!; echo status $?\n";
  const auto ran = platform::Shell("cd " + folder_.path().string() + " && sh script");
  EXPECT_EQ(ran.output, "waits\nstatus 130\n") << Text("said");
  EXPECT_NE(Text("said").find("step n=1 was cancelled"), std::string::npos) << Text("said");
  EXPECT_EQ(Text("said").find("n=2"), std::string::npos) << Text("said");
}

TEST_F(JobsTest, RejectsInvalidJobsBeforeAnythingRuns) {
  std::ofstream(folder_ / "circle.toml")
      << "[[steps]]\nname = 'a'\nrun = 'touch ran'\nafter = 'b'\n"
         "[[steps]]\nname = 'b'\nrun = 'touch ran'\nafter = 'a'\n";
  std::ofstream(folder_ / "wrong.toml") << "run = 'touch ran'\nname = [\n";
  std::ofstream(folder_ / "wrong.json") << "{\"run\": \"touch ran\",\n \"name\": ]}\n";
  const auto expect = [&](const std::string& words, const std::string& text) {
    const auto run = Jobs("run " + words);
    EXPECT_EQ(run.status, kUsage) << run.output;
    EXPECT_NE(run.output.find(text), std::string::npos) << run.output;
  };
  expect("--job circle.toml", "circle.toml:4:9: dependency cycle: a -> b -> a;");
  expect("--job wrong.toml", "wrong.toml:2:10: ");
  expect("--job wrong.json", "wrong.json:2:10: ");
  expect("--job none.toml", "cannot read");
  expect("--memory 100000GiB -- touch ran", "97.7 TiB of memory");
  expect("--cpus 100000 -- touch ran", "100000 cores");
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
}

TEST_F(JobsTest, WhyNamesTheLimitAndFollowRunsToTheEnd) {
  const auto run = Jobs(
      "run --name w --workers 2 --cpus 1 --cpu-budget 1 --detach -- "
      "sh -c 'touch begun; while [ ! -e go ]; do sleep 0.02; done' {n} ::: n 1..2");
  ASSERT_EQ(run.status, kDone) << run.output;
  Await("begun");
  std::string why;
  for (int i = 0; i < 600 && !why.contains("the next step waits: CPU"); ++i) {
    why = Jobs("why w").output;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_NE(why.find("0 of 2 done, 1 running, 1 waiting"), std::string::npos) << why;
  EXPECT_NE(why.find("the next step waits: CPU: 1 of 1 cores"), std::string::npos) << why;
  // Ends the steps once `follow` has shown them running.
  std::ofstream(folder_ / "followed");  // grep may be earlier than the shell in the background
  std::ofstream(folder_ / "script") << REVEZA_PROGRAM
      " jobs follow w > followed 2>&1 &\n"
      "i=0; until grep -q running followed || [ $i = 1200 ]; do sleep 0.05; i=$((i+1)); done\n"
      "touch go; wait $!; echo status $?\n";
  EXPECT_EQ(platform::Shell("cd " + folder_.path().string() + " && sh script").output,
            "status 0\n");
  EXPECT_TRUE(Text("followed").starts_with("w: 0 of 2 done, 1 running")) << Text("followed");
  EXPECT_TRUE(Text("followed").ends_with("the runner has ended\n")) << Text("followed");
  EXPECT_EQ(Jobs("wait w").status, kDone);
  EXPECT_EQ(Jobs("follow w").status, kBusyJob) << "no runner";
}

// With three GPUs.
TEST_F(JobsTest, RespectsCudaVisibleDevices) {
  if (!fs::exists(REVEZA_FAKECUDA "/libnvidia-ml.so.1")) GTEST_SKIP() << "fakecuda is not built";
  fs::create_directory(folder_ / "cards");
  const auto seen = [&](const std::string& set, const std::string& option) {
    const auto run =
        platform::Shell("cd " + folder_.path().string() + " && env -u CUDA_VISIBLE_DEVICES " + set +
                        " LD_LIBRARY_PATH=" REVEZA_FAKECUDA
                        " FAKECUDA_MEMORY=64MiB FAKECUDA_DEVICES=3 FAKECUDA_DIR=" +
                        (folder_ / "cards").string() +
                        " REVEZA_DISABLE=1 " REVEZA_PROGRAM
                        " jobs run --name g --force --quiet --gpu-memory 1MiB " +
                        option + " -- sh -c 'echo $CUDA_VISIBLE_DEVICES'");
    EXPECT_EQ(run.status, kDone) << run.output;
    return Jobs("logs g 1").output;
  };
  EXPECT_TRUE(seen("", "").starts_with("GPU-")) << "one is chosen if none is named";
  EXPECT_EQ(seen("CUDA_VISIBLE_DEVICES=2", ""), "2\n");
  EXPECT_EQ(seen("", "--env CUDA_VISIBLE_DEVICES=1"), "1\n");
  EXPECT_EQ(seen("CUDA_VISIBLE_DEVICES=2", "--env CUDA_VISIBLE_DEVICES={step}"), "1\n");
  EXPECT_EQ(seen("CUDA_VISIBLE_DEVICES=MIG-1,0", ""), "MIG-1,0\n");
  EXPECT_EQ(seen("CUDA_VISIBLE_DEVICES=2,1", ""), "2,1\n");
}

// Such a pod has the library and the daemon's socket for all of its programs.
TEST_F(JobsTest, StepsInAPodWithAShareAreNotGivenAnother) {
  if (!fs::exists(REVEZA_FAKECUDA "/libnvidia-ml.so.1")) GTEST_SKIP() << "fakecuda is not built";
  fs::create_directory(folder_ / "cards");
  const auto run = platform::Shell(
      "cd " + folder_.path().string() +
      " && env -u CUDA_VISIBLE_DEVICES -u LD_PRELOAD REVEZA_REQUIRE_DAEMON=1"
      " LD_LIBRARY_PATH=" REVEZA_FAKECUDA " FAKECUDA_MEMORY=64MiB FAKECUDA_DIR=" +
      (folder_ / "cards").string() +
      " " REVEZA_PROGRAM
      " jobs run --name g --quiet --gpu-memory 1MiB -- sh -c 'printenv LD_PRELOAD || echo none'");
  EXPECT_EQ(run.status, kDone) << run.output;
  EXPECT_EQ(Jobs("logs g 1").output, "none\n");
}

TEST_F(JobsTest, DemoStartsEachStepOnceAlthoughItsRunnerIsKilled) {
  const auto ran = Jobs("demo");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("120 steps were started, each exactly once"), std::string::npos)
      << ran.output;
}

}  // namespace jobs_scenarios_test
}  // namespace reveza::cli
