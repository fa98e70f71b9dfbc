#include <gtest/gtest.h>

#include "reveza/jobs/decide/admission.h"

namespace reveza::jobs {
namespace claims_test {

Claim Declared(std::optional<Bytes> memory, std::optional<Bytes> gpu_memory = std::nullopt) {
  Claim claim;
  claim.memory = memory;
  claim.gpu_memory = gpu_memory;
  return claim;
}

TEST(Claims, UnknownShapeGuessesAQuarterOfFreeMemory) {
  const Claims claims;
  const Need need = claims.Resolve(1, {}, 8 * kGiB);
  EXPECT_EQ(need.memory, 2 * kGiB);
  EXPECT_EQ(need.memory_source, ClaimSource::kGuessed);
  EXPECT_EQ(need.gpu_memory, 0);
  EXPECT_EQ(need.cpus, 0);
  EXPECT_EQ(claims.Resolve(1, {}, 0).memory, 64 * kMiB);
  EXPECT_EQ(claims.Resolve(1, {}, 1024 * kGiB).memory, 4 * kGiB);
  EXPECT_EQ(claims.Find(1), std::nullopt);
}

TEST(Claims, LearnsLargestPeakPlusMargin) {
  Claims claims;
  claims.RecordSuccess(1, kGiB, std::nullopt);
  claims.RecordSuccess(1, 10 * kGiB, 100 * kMiB);
  claims.RecordSuccess(1, 2 * kGiB, std::nullopt);
  const Need need = claims.Resolve(1, {}, 8 * kGiB);
  EXPECT_EQ(need.memory, 11 * kGiB);
  EXPECT_EQ(need.memory_source, ClaimSource::kLearned);
  EXPECT_EQ(need.gpu_memory, 132 * kMiB);
  EXPECT_EQ(claims.Resolve(2, {}, 8 * kGiB).memory_source, ClaimSource::kGuessed);
}

TEST(Claims, UnobservedPeaksTeachNothing) {
  Claims claims;
  claims.RecordSuccess(1, std::nullopt, std::nullopt);
  EXPECT_EQ(claims.Resolve(1, {}, 8 * kGiB).memory_source, ClaimSource::kGuessed);
  EXPECT_EQ(claims.Find(1), std::nullopt);
}

TEST(Claims, DeclaredAmountsAreUsed) {
  Claims claims;
  claims.RecordSuccess(1, 10 * kGiB, 10 * kGiB);
  Claim declared = Declared(kGiB, 2 * kGiB);
  declared.cpus = 1.5;
  const Need need = claims.Resolve(1, declared, 8 * kGiB);
  EXPECT_EQ(need, (Need{.cpus = 1.5,
                        .memory = kGiB,
                        .memory_source = ClaimSource::kDeclared,
                        .gpu_memory = 2 * kGiB,
                        .gpu_memory_source = ClaimSource::kDeclared}));
}

TEST(Claims, OomRaisesClaimByHalf) {
  Claims claims;
  claims.RecordOom(1, 2 * kGiB, kGiB);
  EXPECT_EQ(claims.Resolve(1, {}, kGiB).memory, 3 * kGiB);
  EXPECT_EQ(claims.Resolve(1, {}, kGiB).memory_source, ClaimSource::kLearned);
  claims.RecordOom(1, std::nullopt, 3 * kGiB);
  EXPECT_EQ(claims.Resolve(1, {}, kGiB).memory, 3 * kGiB + 3 * kGiB / 2);
  // The declared amount was too small.
  EXPECT_EQ(claims.Resolve(1, Declared(kGiB), kGiB).memory, 3 * kGiB + 3 * kGiB / 2);
  claims.RecordGpuOom(1, std::nullopt, kGiB);
  EXPECT_EQ(claims.Resolve(1, {}, kGiB).gpu_memory, kGiB + kGiB / 2);
}

TEST(Claims, LargerSuccessClearsOomFloor) {
  Claims claims;
  claims.RecordOom(1, 2 * kGiB, kGiB);
  claims.RecordSuccess(1, kGiB, std::nullopt);  // another, smaller step
  EXPECT_EQ(claims.Resolve(1, {}, kGiB).memory, 3 * kGiB);
  claims.RecordSuccess(1, 2 * kGiB + 200 * kMiB, std::nullopt);
  EXPECT_LT(claims.Resolve(1, {}, kGiB).memory, 3 * kGiB);
  EXPECT_GT(claims.Resolve(1, {}, kGiB).memory, 2 * kGiB + 200 * kMiB);
}

TEST(Claims, RunningUsageIsALowerBound) {
  Claims claims;
  claims.ObserveUsage(1, 3 * kGiB, kGiB);
  EXPECT_EQ(claims.Resolve(1, {}, 4 * kGiB).memory, 3 * kGiB);
  EXPECT_EQ(claims.Resolve(1, {}, 4 * kGiB).memory_source, ClaimSource::kGuessed);
  EXPECT_EQ(claims.Resolve(1, {}, 4 * kGiB).gpu_memory, kGiB);
  claims.ObserveUsage(1, kMiB, std::nullopt);
  EXPECT_EQ(claims.Resolve(1, {}, 4 * kGiB).memory, 3 * kGiB);
}

TEST(Claims, RestoreRoundTrips) {
  Claims claims;
  claims.RecordSuccess(7, kGiB, 3 * kGiB);
  claims.RecordOom(7, std::nullopt, 4 * kGiB);
  Claims later;
  later.Restore(*claims.Find(7));
  EXPECT_EQ(later.Resolve(7, {}, kGiB), claims.Resolve(7, {}, kGiB));
  EXPECT_EQ(later.Find(7), claims.Find(7));
}

Need Of(Bytes memory, ClaimSource by) { return {.memory = memory, .memory_source = by}; }

TEST(MemoryLimit, DeclaredPlusTenPercent) {
  EXPECT_EQ(MemoryLimitFor(Of(1000 * kMiB, ClaimSource::kDeclared)), 1100 * kMiB);
  EXPECT_EQ(MemoryLimitFor(Of(10 * kMiB, ClaimSource::kDeclared)), 42 * kMiB);
}

TEST(MemoryLimit, LearnedIsDoubled) {
  EXPECT_EQ(MemoryLimitFor(Of(100 * kMiB, ClaimSource::kLearned)), 200 * kMiB);
}

TEST(MemoryLimit, IncludesSwappedOutGpuMemory) {
  Need need = Of(1000 * kMiB, ClaimSource::kDeclared);
  need.gpu_memory = 300 * kMiB;
  EXPECT_EQ(MemoryLimitFor(need), (1400 + 256) * kMiB) << "plus swap headroom";
  need.memory_source = ClaimSource::kLearned;
  EXPECT_EQ(MemoryLimitFor(need), (2300 + 256) * kMiB);
}

TEST(MemoryLimit, LearnedHasNoLimitOnLastAttempt) {
  EXPECT_FALSE(MemoryLimitFor(Of(100 * kMiB, ClaimSource::kLearned), true));
  EXPECT_EQ(MemoryLimitFor(Of(1000 * kMiB, ClaimSource::kDeclared), true), 1100 * kMiB);
}

TEST(MemoryLimit, GuessHasNoLimit) {
  EXPECT_FALSE(MemoryLimitFor(Of(100 * kMiB, ClaimSource::kGuessed)));
  EXPECT_FALSE(MemoryLimitFor(Of(0, ClaimSource::kDeclared)));
}

}  // namespace claims_test
}  // namespace reveza::jobs
