#include "runner/definition/dependencies.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

std::string Refusal(const std::vector<std::vector<std::uint32_t>>& after) {
  Job job;
  for (const auto& others : after) job.steps.emplace_back().after = others;
  const auto checked = CheckDependencies(job);
  return checked ? "" : checked.error().message;
}

TEST(CheckDependencies, TakesWhatComesToAnEnd) {
  EXPECT_EQ(Refusal({}), "");
  EXPECT_EQ(Refusal({{}, {0}, {0, 1}}), "");
  EXPECT_EQ(Refusal({{3, 1}, {2}, {}, {2}}), "") << "in any order, and over two ways";
}

TEST(CheckDependencies, NamesTheCircle) {
  EXPECT_EQ(Refusal({{}, {2}, {3}, {1}}),
            "steps wait for each other: step 2 waits for step 3 waits for step 4 waits for step 2; "
            "take one of these away");
  EXPECT_EQ(Refusal({{0}}).find("steps wait for each other: step 1 waits for step 1"), 0u);
  EXPECT_EQ(Refusal({{1}, {2}, {1}})
                .find("steps wait for each other: step 2 waits for step 3 waits "
                      "for step 2"),
            0u)
      << "who only leads there is no part of it";
}

TEST(CheckDependencies, NamesAStepThatIsNotThere) {
  EXPECT_EQ(Refusal({{}, {2}}), "step 2 waits for step 3, but there are 2");
}

TEST(CheckDependencies, TakesALongChain) {
  Job job;
  job.steps.resize(200'000);
  for (std::uint32_t i = 0; i + 1 < job.steps.size(); ++i) job.steps[i].after = {i + 1};
  EXPECT_TRUE(CheckDependencies(job));
  job.steps.back().after = {0};
  EXPECT_FALSE(CheckDependencies(job));
}

}  // namespace
}  // namespace reveza::runner
