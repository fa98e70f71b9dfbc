// Steps that are refused memory of a GPU on which they take turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "runner/engine/testing_engine.h"

namespace reveza::runner {
namespace {

class EngineGpuTest : public EngineTest {
 protected:
  // A daemon that has one card, larger than any of this machine, so that steps run on no other.
  EngineGpuTest() {
    prepare_ = [](EngineParts& parts) {
      parts.gpu_prefix = {"env"};
      parts.gpu_books = [] {
        GpuBooks books;
        books.gpus.push_back({platform::Uuid{9}, 1024 * 1024 * kGiB, 0});
        return books;
      };
    };
  }

  // Writes "+n" and "-n" into `ran` around what each does.
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

// More would not help: there is nothing left that it could be given.
TEST_F(EngineGpuTest, WhoIsLargerThanTheCardIsTriedOnceMoreAndAlone) {
  constexpr int kSteps = 24;  // more than may pass one that waits
  listener_.on_end = [&](const AttemptResult&) {
    if (listener_.ended.back() == "n=1") folder_.Write("ended", "");
  };
  const auto summary = Run(OnTheGpu(kTooLarge, kSteps), Request(2));
  EXPECT_EQ(summary.counts.failed, 1u);
  EXPECT_EQ(summary.counts.done, kSteps - 1u);
  EXPECT_EQ(listener_.outcomes["n=1"], Outcome::kFailure);
  EXPECT_NE(listener_.explanations["n=1"].find("no other step of this job was there"),
            std::string::npos)
      << listener_.explanations["n=1"];
  const auto ran = Ran();
  ASSERT_EQ(std::ranges::count(ran, "+1"), 2);
  const auto first = std::ranges::find(ran, "+1");
  const auto again = std::find(first + 1, ran.end(), "+1");
  EXPECT_EQ(*(again + 1), "-1") << "nobody begins or ends beside it";
  int running = 0;
  for (auto line = ran.begin(); line != again; ++line) running += line->front() == '+' ? 1 : -1;
  EXPECT_EQ(running, 0);
  EXPECT_LT(again + 2, ran.end()) << "and it did not wait until all others were over";
}

TEST_F(EngineGpuTest, WhoWasAloneFromTheFirstIsNotTriedAgain) {
  folder_.Write("other", "");
  EXPECT_EQ(Run(OnTheGpu(kTooLarge, 2), Request(1)).counts.failed, 1u);
  EXPECT_EQ(std::ranges::count(Ran(), "+1"), 1);
}

// Whoever was beside it may have gone before it says what it was refused.
TEST_F(EngineGpuTest, WhoWasBesideOthersForAWhileIsTriedAgain) {
  const auto job = OnTheGpu(
      "if [ {n} = 2 ]; then while [ ! -e tried ]; do sleep 0.01; done; "
      "elif [ ! -e tried ]; then touch tried; while [ ! -e over ]; do sleep 0.01; done; "
      "echo 'CUDA out of memory' >&2; false; fi",
      2);
  listener_.on_end = [&](const AttemptResult&) { folder_.Write("over", ""); };
  EXPECT_EQ(Run(job, Request(2)).end, Engine::End::kDone);
  EXPECT_EQ(std::ranges::count(Ran(), "+1"), 2);
  EXPECT_EQ(listener_.repeats, 1);
}

}  // namespace
}  // namespace reveza::runner
