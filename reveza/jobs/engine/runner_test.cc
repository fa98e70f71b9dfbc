#include "reveza/jobs/engine/runner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace reveza::jobs {
namespace runner_test {

using nlohmann::json;

class RunnerTest : public ::testing::Test {
 protected:
  static Job FiveSteps() {
    Job job;
    job.commands.resize(1);
    job.steps.resize(5);
    return job;
  }
  RunnerTest() {
    for (const std::uint32_t step : {0u, 1u, 2u}) schedule_.Start(step);
    schedule_.Fail(0);
    schedule_.Hold(1);
    schedule_.Finish(2);
  }

  Job job_ = FiveSteps();
  Schedule schedule_{job_};
};

TEST_F(RunnerTest, FailedAndHeldStepsAreRetriedEachOnce) {
  using Steps = std::set<std::uint32_t>;
  EXPECT_EQ(StepsToRetry(json(), schedule_).value(), (Steps{0, 1}));
  EXPECT_EQ(StepsToRetry(json::parse("[1, 3, 1]"), schedule_).value(), Steps{0});
  for (const std::string wrong : {"0", "6", "-1", R"("1")"}) {
    const auto refused = StepsToRetry(json::parse("[1, " + wrong + "]"), schedule_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "no step " + wrong + "; valid: 1 to 5");
  }
}

TEST_F(RunnerTest, TheEndIsThatOfTheWorstStep) {
  EXPECT_EQ(EndOf({.ready = 1, .failed = 1}, RunEnd::kHalted), RunEnd::kHalted);
  EXPECT_EQ(EndOf({.done = 2, .failed = 1, .held = 1}, RunEnd::kHalted), RunEnd::kFailed);
  EXPECT_EQ(EndOf({.done = 2, .skipped = 1}, RunEnd::kHalted), RunEnd::kFailed);
  EXPECT_EQ(EndOf({.done = 2, .held = 1}, RunEnd::kHalted), RunEnd::kHeld);
  EXPECT_EQ(EndOf({.done = 2}, RunEnd::kHalted), RunEnd::kDone);
}

TEST(HaltTest, IsReachedByANumberOrAShareOfFailures) {
  EXPECT_FALSE(Halt{}.IsReachedBy(9, 9));
  const Halt number{.mode = Halt::Mode::kSoon, .failures = 2};
  EXPECT_FALSE(number.IsReachedBy(1, 10));
  EXPECT_TRUE(number.IsReachedBy(2, 10));
  const Halt share{.mode = Halt::Mode::kNow, .share = 0.5};
  EXPECT_FALSE(share.IsReachedBy(4, 10));
  EXPECT_TRUE(share.IsReachedBy(5, 10));
}

}  // namespace runner_test
}  // namespace reveza::jobs
