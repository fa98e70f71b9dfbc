#include "runner/decide/memory_limit.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

Need Of(Bytes memory, KnownBy by) { return {.memory = memory, .memory_by = by}; }

TEST(MemoryLimit, GivesWhatWasDeclaredATenthMore) {
  EXPECT_EQ(MemoryLimitFor(Of(1000 * kMiB, KnownBy::kDeclared)), 1100 * kMiB);
  EXPECT_EQ(MemoryLimitFor(Of(10 * kMiB, KnownBy::kDeclared)), 42 * kMiB);
}

TEST(MemoryLimit, LeavesWhatWasLearnedRoomForOtherParameters) {
  EXPECT_EQ(MemoryLimitFor(Of(100 * kMiB, KnownBy::kLearned)), 200 * kMiB);
}

TEST(MemoryLimit, LeavesRoomForWhatLeavesTheGpu) {
  Need need = Of(1000 * kMiB, KnownBy::kDeclared);
  need.gpu_memory = 300 * kMiB;
  EXPECT_EQ(MemoryLimitFor(need), (1400 + 256) * kMiB) << "and what is left free then";
  need.memory_by = KnownBy::kLearned;
  EXPECT_EQ(MemoryLimitFor(need), (2300 + 256) * kMiB);
}

TEST(MemoryLimit, OfWhatWasOnlyLearnedIsNoneInTheLastTurn) {
  EXPECT_FALSE(MemoryLimitFor(Of(100 * kMiB, KnownBy::kLearned), true));
  EXPECT_EQ(MemoryLimitFor(Of(1000 * kMiB, KnownBy::kDeclared), true), 1100 * kMiB);
}

TEST(MemoryLimit, IsNoneForAGuess) {
  EXPECT_FALSE(MemoryLimitFor(Of(100 * kMiB, KnownBy::kGuess)));
  EXPECT_FALSE(MemoryLimitFor(Of(0, KnownBy::kDeclared)));
}

}  // namespace
}  // namespace reveza::runner
