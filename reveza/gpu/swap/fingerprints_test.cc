// Evictions of memory that has not changed since the last one.
#include <gtest/gtest.h>

#include <cstring>

#include "reveza/gpu/swap/testing_mover.h"

namespace reveza::swap {
namespace fingerprints_test {

using testing::kBudget;

class FingerprintsTest : public testing::MoverTest {
 protected:
  // Swaps everything out and in.
  EvictResult RoundTrip() {
    const EvictResult result = Evict(kBudget);
    EXPECT_EQ(result.failure, EvictFailure::kNone);
    EXPECT_EQ(gpu_.in_use(), 0u);
    EXPECT_EQ(SwapInWith(result.freed), SwapInState::kDone);
    ledger_.SetResidency(Residency::kIn);
    return result;
  }

  static void Clear(CUdeviceptr address, Bytes size) { memset(&Word(address, 0), 0, size); }
  static bool IsZero(CUdeviceptr address, Bytes size) {
    return memcmp(&Word(address, 0), &Word(address, 4), size - 4) == 0 && Word(address, 0) == 0;
  }
};

TEST_F(FingerprintsTest, WhatHasNotChangedIsNotCopiedAgain) {
  const CUdeviceptr address = Filled(200 * kMiB, 1);
  EXPECT_EQ(RoundTrip().copied, 200 * kMiB);
  for (int i = 0; i < 3; ++i) {
    const EvictResult again = RoundTrip();
    EXPECT_EQ(again.copied, 0u);
    EXPECT_EQ(again.unchanged, 200 * kMiB);
    EXPECT_EQ(again.freed, 200 * kMiB);
    EXPECT_TRUE(Holds(address, 200 * kMiB, 1));
  }
  EXPECT_EQ(gpu_.bytes_out, 200 * kMiB);
}

TEST_F(FingerprintsTest, OnlyPiecesThatHaveChangedAreCopied) {
  const CUdeviceptr address = Filled(256 * kMiB, 1);
  RoundTrip();
  Word(address, 64 * kMiB + 12) += 1;
  const EvictResult again = RoundTrip();
  EXPECT_EQ(again.copied, kPieceSize);
  EXPECT_EQ(again.unchanged, 192 * kMiB);
  EXPECT_EQ(Word(address, 64 * kMiB + 12), 1u);
  EXPECT_EQ(RoundTrip().copied, 0u);
}

TEST_F(FingerprintsTest, ManyPiecesNeedSeveralCalls) {
  std::vector<CUdeviceptr> addresses;
  for (unsigned i = 0; i < 2 * Fingerprinter::kMaxPieces + 1; ++i) {
    addresses.push_back(Filled(2 * kMiB, i));
  }
  RoundTrip();
  Fill(addresses[40], 2 * kMiB, 1000);
  EXPECT_EQ(RoundTrip().copied, 2 * kMiB);
  EXPECT_EQ(gpu_.calls["ModuleLoad"], 1);
  EXPECT_EQ(gpu_.calls["Launch"], 2 * 3);
  for (unsigned i = 0; i < addresses.size(); ++i) {
    EXPECT_TRUE(Holds(addresses[i], 2 * kMiB, i == 40 ? 1000 : i)) << i;
  }
}

TEST_F(FingerprintsTest, ZerosNeedNoHostMemory) {
  const CUdeviceptr address = Filled(200 * kMiB, 1);
  Clear(address, 200 * kMiB);
  Filled(64 * kMiB, 1);
  for (int i = 0; i < 2; ++i) {
    const EvictResult result = RoundTrip();
    EXPECT_EQ(result.copied, i == 0 ? 64 * kMiB : 0);
    EXPECT_EQ(result.unchanged, i == 0 ? 200 * kMiB : 264 * kMiB);
    EXPECT_TRUE(IsZero(address, 200 * kMiB));
  }
  EXPECT_EQ(gpu_.calls["SetWords"], 2 * 4);
  EXPECT_EQ(gpu_.bytes_in, 2 * 64 * kMiB);
  EXPECT_LE(arena_.pinned(), 64 * kMiB);
}

TEST_F(FingerprintsTest, WhatBecomesZeroGivesItsHostMemoryBack) {
  const CUdeviceptr first = Filled(64 * kMiB, 1);
  RoundTrip();
  const Bytes pinned = arena_.pinned();
  Clear(first, 64 * kMiB);
  EXPECT_EQ(RoundTrip().copied, 0u);
  EXPECT_TRUE(IsZero(first, 64 * kMiB));
  const CUdeviceptr second = Filled(64 * kMiB, 2);
  EXPECT_EQ(RoundTrip().copied, 64 * kMiB);
  EXPECT_EQ(arena_.pinned(), pinned) << "the second has the first one's place";
  Fill(first, 64 * kMiB, 1);
  EXPECT_EQ(RoundTrip().copied, 64 * kMiB) << "though it was copied before";
  EXPECT_TRUE(Holds(first, 64 * kMiB, 1));
  EXPECT_TRUE(Holds(second, 64 * kMiB, 2));
}

TEST_F(FingerprintsTest, ZerosThatCannotBeReleasedStay) {
  const CUdeviceptr address = Filled(64 * kMiB, 1);
  Clear(address, 64 * kMiB);
  gpu_.FailCall("Unmap", 1, CUDA_ERROR_UNKNOWN, 2);
  EXPECT_EQ(Evict(kBudget).failure, EvictFailure::kDriver);
  Fill(address, 64 * kMiB, 5);
  RoundTrip();
  EXPECT_TRUE(Holds(address, 64 * kMiB, 5));
}

TEST_F(FingerprintsTest, ZerosOfAHandleThatIsNotMappedComeBackWithIt) {
  const CUmemGenericAllocationHandle handle = Created(64 * kMiB);
  CUdeviceptr address = Mapped(handle, 64 * kMiB);
  Clear(address, 64 * kMiB);
  const EvictResult result = Evict(kBudget);
  ledger_.AddCredit(0, result.freed);
  ASSERT_EQ(ledger_.Unmap(address, 64 * kMiB).outcome, Outcome::kDone);
  EXPECT_EQ(SwapInWith(0), SwapInState::kDone);
  ledger_.SetResidency(Residency::kIn);
  address = Mapped(handle, 64 * kMiB);
  EXPECT_TRUE(IsZero(address, 64 * kMiB));
  EXPECT_EQ(gpu_.calls["SetWords"], 1);
  EXPECT_EQ(gpu_.bytes_in, 0u);
}

TEST_F(FingerprintsTest, ACopyOfZerosThatIsLostIsRepeated) {
  const CUdeviceptr address = Filled(64 * kMiB, 1);
  Clear(address, 64 * kMiB);
  Evict(kBudget);
  gpu_.FailCall("StreamSynchronize", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kRetry);
  EXPECT_EQ(SwapInWith(0), SwapInState::kDone);
  EXPECT_EQ(gpu_.calls["SetWords"], 2);
  EXPECT_TRUE(IsZero(address, 64 * kMiB));
}

TEST_F(FingerprintsTest, EachPieceIsReadOnceAndOnlyWhereItIsMapped) {
  Filled(64 * kMiB, 1);
  const CUmemGenericAllocationHandle handle = Created(128 * kMiB);
  const CUdeviceptr address = Mapped(handle, 128 * kMiB);
  Fill(address, 128 * kMiB, 2);
  ASSERT_EQ(ledger_.Unmap(address, 128 * kMiB).outcome, Outcome::kDone);
  EXPECT_EQ(Evict(kBudget).copied, 192 * kMiB);
  EXPECT_EQ(gpu_.calls["Launch"], 1);
  EXPECT_EQ(gpu_.fingerprinted, 64 * kMiB);
}

TEST_F(FingerprintsTest, AnEvictionThatWasInterruptedContinues) {
  Filled(256 * kMiB, 1);
  RoundTrip();
  Evict(65 * kMiB);
  const EvictResult rest = Evict(kBudget);
  EXPECT_EQ(rest.copied, 0u);
  EXPECT_EQ(rest.unchanged, 128 * kMiB);
}

TEST_F(FingerprintsTest, WithoutAKernelEverythingIsCopied) {
  const CUdeviceptr address = Filled(128 * kMiB, 1);
  gpu_.FailCall("ModuleLoad", 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(RoundTrip().copied, 128 * kMiB);
  EXPECT_EQ(RoundTrip().copied, 128 * kMiB);
  EXPECT_EQ(gpu_.calls["ModuleLoad"], 1) << "not tried again";
  EXPECT_TRUE(Holds(address, 128 * kMiB, 1));
}

TEST_F(FingerprintsTest, AKernelThatFindsNoMemoryIsLoadedLater) {
  Filled(128 * kMiB, 1);
  gpu_.FailCall("ModuleLoad", 1, CUDA_ERROR_OUT_OF_MEMORY);
  RoundTrip();
  EXPECT_EQ(RoundTrip().copied, 128 * kMiB) << "that of the host copy is not known";
  EXPECT_EQ(RoundTrip().copied, 0u);
}

TEST_F(FingerprintsTest, WhatFailsIsNotTaken) {
  for (const char* call : {"HostAllocate", "HostGetDevicePointer", "ModuleGetFunction", "Launch"}) {
    FingerprintKernel kernel;
    const Fingerprinter fingerprinter(gpu_.driver());
    const Fingerprinter::Range range{Filled(2 * kMiB, 1), 2 * kMiB};
    Fingerprint fingerprint;
    gpu_.FailCall(call, 1, CUDA_ERROR_INVALID_VALUE);
    EXPECT_FALSE(fingerprinter.Compute(kernel, &range, 1, &fingerprint)) << call;
    EXPECT_FALSE(fingerprinter.Compute(kernel, &range, 1, &fingerprint)) << call;
    EXPECT_TRUE(kernel.unavailable) << call;
  }
}

TEST_F(FingerprintsTest, AfterALostCopyTheHostCopyIsUnknown) {
  const CUdeviceptr address = Filled(64 * kMiB, 1);
  RoundTrip();
  Fill(address, 64 * kMiB, 2);
  gpu_.FailCall("EventSynchronize", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(Evict(kBudget).failure, EvictFailure::kDriver);
  Fill(address, 64 * kMiB, 1);
  EXPECT_EQ(Evict(kBudget).copied, 64 * kMiB);
  EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kDone);
  EXPECT_TRUE(Holds(address, 64 * kMiB, 1));
}

TEST_F(FingerprintsTest, MemoryAtTheSameAddressIsNotTakenForTheOld) {
  Filled(64 * kMiB, 1);
  const CUdeviceptr second = Filled(64 * kMiB, 2);
  RoundTrip();
  EXPECT_EQ(ledger_.Free(second).outcome, Outcome::kDone);
  const CUdeviceptr third = Filled(64 * kMiB, 2);
  EXPECT_EQ(RoundTrip().copied, 64 * kMiB);
  EXPECT_TRUE(Holds(third, 64 * kMiB, 2));
}

// With a kernel that finds the same fingerprint for everything.
TEST_F(FingerprintsTest, VerificationEndsTheProgramIfMemoryDiffers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fork does not have the arena
  Mover mover(gpu_.driver(), ledger_, /*verify=*/true);
  const auto evict = [&] {
    ledger_.SetResidency(Residency::kOut);
    const EvictResult result = mover.Evict(0, kBudget, [](void*, int, Bytes) {}, nullptr);
    ledger_.AddCredit(0, result.freed);
    EXPECT_EQ(mover.SwapInStep(), SwapInState::kDone);
    ledger_.SetResidency(Residency::kIn);
    return result;
  };
  const CUdeviceptr address = Filled(64 * kMiB, 1);
  gpu_.same_fingerprints = true;
  evict();
  EXPECT_EQ(evict().unchanged, 64 * kMiB);
  Fill(address, 64 * kMiB, 2);
  EXPECT_DEATH(evict(), "differs from its host copy");
}

TEST_F(FingerprintsTest, VerificationEndsTheProgramIfZerosAreNotZero) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Mover mover(gpu_.driver(), ledger_, /*verify=*/true);
  Filled(64 * kMiB, 1);
  gpu_.zero_fingerprints = true;
  ledger_.SetResidency(Residency::kOut);
  EXPECT_DEATH(
      mover.Evict(0, kBudget, [](void*, int, Bytes) {}, nullptr), "differs from its host copy");
}

TEST_F(FingerprintsTest, AnotherContextLoadsTheKernelAgain) {
  Filled(64 * kMiB, 1);
  RoundTrip();
  ledger_.OnContextDestroy(0, gpu_.context(), gpu_.context());
  EXPECT_EQ(RoundTrip().copied, 0u);
  EXPECT_EQ(gpu_.calls["ModuleLoad"], 2);
}

}  // namespace fingerprints_test
}  // namespace reveza::swap
