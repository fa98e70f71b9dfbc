// Steps that run out of memory on a shared GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_gpu_test {

class EngineGpuTest : public EngineTest {
 protected:
  // A daemon with one GPU, larger than any of this machine, so that steps run only there.
  EngineGpuTest() {
    prepare_ = [](EngineParts& parts) {
      parts.gpu_prefix = {"env"};
      parts.gpu_ledger = [] {
        GpuLedger ledger;
        ledger.gpus.push_back({nvml::Uuid{9}, 1024 * 1024 * kGiB, 0});
        return ledger;
      };
    };
  }

  // Steps that write "+n" and "-n" into `ran` at their start and end.
  Job OnTheGpu(const std::string& line, int count) {
    Job job = Shell("echo +{n} >> ran; " + line + "; r=$?; echo -{n} >> ran; exit $r", count);
    job.commands[0].claim.memory = kMiB;
    job.commands[0].claim.gpu_memory = 1024 * kGiB;
    return job;
  }
  static RunRequest Request(unsigned workers) {
    RunRequest request = Workers(workers);
    request.limits = Limits::kNone;
    request.memory_reserve = kMiB;
    return request;
  }
  std::vector<std::string> Ran() const {
    std::istringstream text(Text("ran"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

constexpr const char* kTooLarge =
    "if [ {n} = 1 ]; then while [ ! -e other ]; do sleep 0.01; done; "
    "echo 'CUDA out of memory. Tried to allocate 9 TiB' >&2; false; else touch other; "
    "[ {n} = 2 ] || while [ ! -e ended ]; do sleep 0.01; done; fi";

// Another retry would not help: the step had the whole GPU.
TEST_F(EngineGpuTest, GpuOomIsRetriedOnceExclusively) {
  constexpr int kSteps = 24;  // more than may bypass a waiting step
  listener_.on_end = [&](const AttemptResult&) {
    if (listener_.ended.back() == "n=1") folder_.Write("ended", "");
  };
  const auto summary = Run(OnTheGpu(kTooLarge, kSteps), Request(2));
  EXPECT_EQ(summary.counts.failed, 1u);
  EXPECT_EQ(summary.counts.done, kSteps - 1u);
  EXPECT_EQ(listener_.outcomes["n=1"], Outcome::kFailure);
  EXPECT_NE(listener_.explanations["n=1"].find("no other step of this job used the GPU"),
            std::string::npos)
      << listener_.explanations["n=1"];
  const auto ran = Ran();
  ASSERT_EQ(std::ranges::count(ran, "+1"), 2);
  const auto first = std::ranges::find(ran, "+1");
  const auto again = std::find(first + 1, ran.end(), "+1");
  EXPECT_EQ(*(again + 1), "-1") << "no step starts or ends beside it";
  int running = 0;
  for (auto line = ran.begin(); line != again; ++line) running += line->front() == '+' ? 1 : -1;
  EXPECT_EQ(running, 0);
  EXPECT_LT(again + 2, ran.end()) << "it did not wait for all others";
}

TEST_F(EngineGpuTest, GpuOomAloneIsNotRetried) {
  folder_.Write("other", "");
  EXPECT_EQ(Run(OnTheGpu(kTooLarge, 2), Request(1)).counts.failed, 1u);
  EXPECT_EQ(std::ranges::count(Ran(), "+1"), 1);
}

// The other step may end before the failure is reported.
TEST_F(EngineGpuTest, GpuOomAfterSharingIsRetried) {
  const auto job = OnTheGpu(
      "if [ {n} = 2 ]; then while [ ! -e tried ]; do sleep 0.01; done; "
      "elif [ ! -e tried ]; then touch tried; while [ ! -e over ]; do sleep 0.01; done; "
      "echo 'CUDA out of memory' >&2; false; fi",
      2);
  listener_.on_end = [&](const AttemptResult&) { folder_.Write("over", ""); };
  EXPECT_EQ(Run(job, Request(2)).end, Engine::RunEnd::kDone);
  EXPECT_EQ(std::ranges::count(Ran(), "+1"), 2);
  EXPECT_EQ(listener_.repeats, 1);
}

}  // namespace engine_gpu_test
}  // namespace reveza::jobs
