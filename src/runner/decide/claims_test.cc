#include "runner/decide/claims.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

Claim Declared(std::optional<Bytes> memory, std::optional<Bytes> gpu_memory = std::nullopt) {
  Claim claim;
  claim.memory = memory;
  claim.gpu_memory = gpu_memory;
  return claim;
}

TEST(Claims, GuessAQuarterOfWhatIsFreeOfAnUnknownShape) {
  const Claims claims;
  const Need need = claims.For(1, {}, 8 * kGiB);
  EXPECT_EQ(need.memory, 2 * kGiB);
  EXPECT_EQ(need.memory_by, KnownBy::kGuess);
  EXPECT_EQ(need.gpu_memory, 0);
  EXPECT_EQ(need.cpus, 0);
  EXPECT_EQ(claims.For(1, {}, 0).memory, 64 * kMiB);
  EXPECT_EQ(claims.For(1, {}, 1024 * kGiB).memory, 4 * kGiB);
  EXPECT_EQ(claims.Of(1), std::nullopt);
}

TEST(Claims, LearnTheLargestPeakAndAMargin) {
  Claims claims;
  claims.Succeeded(1, kGiB, std::nullopt);
  claims.Succeeded(1, 10 * kGiB, 100 * kMiB);
  claims.Succeeded(1, 2 * kGiB, std::nullopt);
  const Need need = claims.For(1, {}, 8 * kGiB);
  EXPECT_EQ(need.memory, 11 * kGiB);
  EXPECT_EQ(need.memory_by, KnownBy::kLearned);
  EXPECT_EQ(need.gpu_memory, 132 * kMiB);
  EXPECT_EQ(claims.For(2, {}, 8 * kGiB).memory_by, KnownBy::kGuess);
}

TEST(Claims, LearnNothingFromWhatCouldNotBeSeen) {
  Claims claims;
  claims.Succeeded(1, std::nullopt, std::nullopt);
  EXPECT_EQ(claims.For(1, {}, 8 * kGiB).memory_by, KnownBy::kGuess);
  EXPECT_EQ(claims.Of(1), std::nullopt);
}

TEST(Claims, HoldWhatIsDeclared) {
  Claims claims;
  claims.Succeeded(1, 10 * kGiB, 10 * kGiB);
  Claim declared = Declared(kGiB, 2 * kGiB);
  declared.cpus = 1.5;
  const Need need = claims.For(1, declared, 8 * kGiB);
  EXPECT_EQ(need, (Need{.cpus = 1.5,
                        .memory = kGiB,
                        .memory_by = KnownBy::kDeclared,
                        .gpu_memory = 2 * kGiB,
                        .gpu_memory_by = KnownBy::kDeclared}));
}

TEST(Claims, AskForHalfAsMuchAgainAfterADeath) {
  Claims claims;
  claims.DiedOfMemory(1, 2 * kGiB, kGiB);
  EXPECT_EQ(claims.For(1, {}, kGiB).memory, 3 * kGiB);
  EXPECT_EQ(claims.For(1, {}, kGiB).memory_by, KnownBy::kLearned);
  claims.DiedOfMemory(1, std::nullopt, 3 * kGiB);
  EXPECT_EQ(claims.For(1, {}, kGiB).memory, 3 * kGiB + 3 * kGiB / 2);
  // What was declared turned out to be too little.
  EXPECT_EQ(claims.For(1, Declared(kGiB), kGiB).memory, 3 * kGiB + 3 * kGiB / 2);
  claims.DiedOfGpuMemory(1, std::nullopt, kGiB);
  EXPECT_EQ(claims.For(1, {}, kGiB).gpu_memory, kGiB + kGiB / 2);
}

TEST(Claims, ForgetADeathWhenAStepThatNeededMoreSucceeds) {
  Claims claims;
  claims.DiedOfMemory(1, 2 * kGiB, kGiB);
  claims.Succeeded(1, kGiB, std::nullopt);  // another step, a small one
  EXPECT_EQ(claims.For(1, {}, kGiB).memory, 3 * kGiB);
  claims.Succeeded(1, 2 * kGiB + 200 * kMiB, std::nullopt);
  EXPECT_LT(claims.For(1, {}, kGiB).memory, 3 * kGiB);
  EXPECT_GT(claims.For(1, {}, kGiB).memory, 2 * kGiB + 200 * kMiB);
}

TEST(Claims, NeedNoLessThanWhatRunsHasAlready) {
  Claims claims;
  claims.Seen(1, 3 * kGiB, kGiB);
  EXPECT_EQ(claims.For(1, {}, 4 * kGiB).memory, 3 * kGiB);
  EXPECT_EQ(claims.For(1, {}, 4 * kGiB).memory_by, KnownBy::kGuess);
  EXPECT_EQ(claims.For(1, {}, 4 * kGiB).gpu_memory, kGiB);
  claims.Seen(1, kMiB, std::nullopt);
  EXPECT_EQ(claims.For(1, {}, 4 * kGiB).memory, 3 * kGiB);
}

TEST(Claims, AreKeptBetweenRuns) {
  Claims claims;
  claims.Succeeded(7, kGiB, 3 * kGiB);
  claims.DiedOfMemory(7, std::nullopt, 4 * kGiB);
  Claims later;
  later.Restore(*claims.Of(7));
  EXPECT_EQ(later.For(7, {}, kGiB), claims.For(7, {}, kGiB));
  EXPECT_EQ(later.Of(7), claims.Of(7));
}

}  // namespace
}  // namespace reveza::runner
