#include "reveza/jobs/decide/core_use.h"

#include <gtest/gtest.h>

#include <vector>

namespace reveza::jobs {
namespace core_use_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CoreUse, StartupDoesNotCount) {
  CoreUse use;
  use.Restart(seconds(0));
  std::vector<StepUsage> steps = {{1, milliseconds(0)}, {2, milliseconds(0)}};
  use.Observe(milliseconds(100), steps, 2, 4);
  EXPECT_FALSE(use.AfterStartup());
  for (auto& step : steps) step.cpu = milliseconds(90);
  use.Observe(milliseconds(200), steps, 2, 4);
  for (auto& step : steps) step.cpu = milliseconds(120);  // they wait from now on
  use.Observe(milliseconds(300), steps, 2, 4);
  EXPECT_FALSE(use.AfterStartup());
  for (auto& step : steps) step.cpu += milliseconds(10);
  use.Observe(milliseconds(400), steps, 2, 4);
  ASSERT_TRUE(use.AfterStartup());
  EXPECT_NEAR(use.AfterStartup()->cores, 0.1, 1e-9);
  EXPECT_NEAR(use.AfterStartup()->seconds, 0.1, 1e-9);
}

TEST(CoreUse, StepsWithoutACoreAreNotWaiting) {
  CoreUse use;
  std::vector<StepUsage> steps;
  for (unsigned i = 0; i < 8; ++i) steps.push_back({i, milliseconds(0)});
  use.Observe(milliseconds(100), steps, 8, 2);
  for (auto& step : steps) step.cpu += milliseconds(25);  // a quarter of a core each
  use.Observe(milliseconds(200), steps, 8, 2);
  for (auto& step : steps) step.cpu += milliseconds(25);
  use.Observe(milliseconds(300), steps, 8, 2);
  EXPECT_FALSE(use.AfterStartup());
}

TEST(CoreUse, WholeStepsCount) {
  CoreUse use;
  use.Restart(seconds(0));
  std::vector<StepUsage> steps = {{1, milliseconds(500)}, {2, milliseconds(100)}};
  use.Observe(seconds(1), steps, 2, 4);
  use.OnStepEnded(1, milliseconds(700));
  use.OnStepEnded(3, milliseconds(100));  // never sampled
  steps = {{2, milliseconds(200)}, {4, milliseconds(400)}};
  use.Observe(seconds(2), steps, 2, 4);
  const auto share = use.OfAll(seconds(2), 2);
  ASSERT_TRUE(share);
  EXPECT_NEAR(share->cores, (0.7 + 0.1 + 0.2 + 0.4) / 2 / 2, 1e-9);
}

TEST(CoreUse, TimeWithIdleWorkersDoesNotCount) {
  CoreUse use;
  use.Restart(seconds(0));
  const std::vector<StepUsage> one = {{1, milliseconds(500)}};
  use.Observe(seconds(1), one, 2, 4);
  EXPECT_FALSE(use.OfAll(seconds(1), 2));
  use.Observe(seconds(2), std::vector<StepUsage>{{1, seconds(1)}, {2, seconds(0)}}, 2, 4);
  use.Observe(seconds(3), std::vector<StepUsage>{{1, seconds(2)}, {2, seconds(1)}}, 2, 4);
  ASSERT_TRUE(use.OfAll(seconds(3), 2));
  EXPECT_NEAR(use.OfAll(seconds(3), 2)->cores, 1, 1e-9);
}

}  // namespace core_use_test
}  // namespace reveza::jobs
