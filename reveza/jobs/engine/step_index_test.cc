#include "reveza/jobs/engine/step_index.h"

#include <gtest/gtest.h>

#include <random>

namespace reveza::jobs {
namespace step_index_test {

TEST(StepIndex, FindsStepsOfAnyOrder) {
  std::mt19937 random(7);
  std::vector<StepEntry> entries(1000);
  for (auto& entry : entries) {
    for (auto& byte : entry.identity) byte = static_cast<std::uint8_t>(random());
  }
  StepIndex index;
  index.Build(std::span(entries).first(500));
  EXPECT_EQ(index.Find(entries, entries[499].identity), 499u);
  EXPECT_FALSE(index.Find(entries, entries[500].identity)) << "not indexed";
  index.Build(entries);
  for (std::uint32_t step = 0; step < entries.size(); ++step) {
    EXPECT_EQ(index.Find(entries, entries[step].identity), step);
  }
  EXPECT_FALSE(index.Find(entries, Identity{}));
  EXPECT_FALSE(StepIndex().Find({}, Identity{}));
}

}  // namespace step_index_test
}  // namespace reveza::jobs
