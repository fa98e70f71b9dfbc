#include "reveza/jobs/engine/step_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace reveza::jobs {
namespace step_set_test {

TEST(StepSet, IsEmptyAtFirst) {
  StepSet set;
  EXPECT_FALSE(set.Next(0));
  set.Resize(100'000);
  EXPECT_FALSE(set.Next(0));
  EXPECT_FALSE(set.Next(99'999));
  EXPECT_FALSE(set.Next(100'000));
}

TEST(StepSet, FindsTheFirstAcrossGaps) {
  StepSet set;
  set.Resize(1'000'000);
  for (const std::uint32_t step : {0u, 63u, 64u, 4095u, 4096u, 262'144u, 999'999u})
    set.Insert(step);
  std::vector<std::uint32_t> found;
  for (auto step = set.Next(0); step; step = set.Next(*step + 1)) found.push_back(*step);
  EXPECT_EQ(found, (std::vector<std::uint32_t>{0, 63, 64, 4095, 4096, 262'144, 999'999}));
  set.Erase(262'144);
  EXPECT_EQ(set.Next(4097), 999'999u);
  set.Erase(999'999);
  EXPECT_FALSE(set.Next(4097));
}

TEST(StepSet, BehavesLikeAnOrderedSet) {
  std::mt19937 random(3);
  StepSet set;
  std::set<std::uint32_t> expected;
  std::uint32_t size = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (i % 2000 == 0) set.Resize(size += 700);
    const std::uint32_t step = random() % size;
    if (random() % 2 == 0) {
      set.Insert(step);
      expected.insert(step);
    } else {
      set.Erase(step);
      expected.erase(step);
    }
    const std::uint32_t from = random() % (size + 1);
    const auto at = expected.lower_bound(from);
    EXPECT_EQ(set.Next(from), at == expected.end() ? std::nullopt : std::optional(*at));
  }
}

}  // namespace step_set_test
}  // namespace reveza::jobs
