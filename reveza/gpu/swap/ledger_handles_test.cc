// The ledger's virtual handles: creation, mapping, access and pinning.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "reveza/gpu/swap/ledger.h"
#include "reveza/gpu/swap/testing_ledger.h"

namespace reveza::swap {
namespace ledger_handles_test {

using testing::LedgerTest;

TEST_F(LedgerTest, CreateHandleBeyondBudgetIsOutOfMemory) {
  ledger_.AddCredit(0, testing::kLedgerBudget);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(
      ledger_.CreateHandle(testing::kLedgerBudget + kGranularity, Properties(), &handle).error,
      CUDA_ERROR_OUT_OF_MEMORY);
  MustCreate(testing::kLedgerBudget);
  EXPECT_EQ(ledger_.CreateHandle(kGranularity, Properties(), &handle).error,
            CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(LedgerTest, CreateHandleReportsUnsupportedProperties) {
  ledger_.AddCredit(0, 64 * kMiB);
  gpu_.FailCall("Create", 1, CUDA_ERROR_NOT_PERMITTED);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(ledger_.CreateHandle(4 * kMiB, Properties(), &handle).error, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(ledger_.GetUsage(0).resident, 0u);
}

TEST_F(LedgerTest, PinWaitsWhileSwappedOut) {
  ledger_.AddCredit(0, 64 * kMiB);
  const auto handle = MustCreate(4 * kMiB);
  CUmemGenericAllocationHandle real = 0;
  for (const Residency residency : {Residency::kOut, Residency::kSettled}) {
    ledger_.SetResidency(residency);
    EXPECT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kWait);
  }
  EXPECT_EQ(gpu_.in_use(), 0u);
}

TEST_F(LedgerTest, HandleTakesBudgetOnCreateAndMemoryOnMap) {
  ledger_.AddCredit(0, 200 * kMiB);
  const auto handle = MustCreate(200 * kMiB);
  EXPECT_TRUE(Ledger::IsOurHandle(handle));
  EXPECT_EQ(ledger_.GetUsage(0).resident, 200 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 0u);
  const CUdeviceptr address = Reserve(200 * kMiB);
  ASSERT_EQ(ledger_.MapHandle(address, 200 * kMiB, 0, handle, 0).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.in_use(), 200 * kMiB);
  ASSERT_EQ(Allow(address, 200 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READWRITE).outcome, Outcome::kDone);
  memset(reinterpret_cast<void*>(address), 1, 200 * kMiB);
  unsigned long long flags = 0;
  CUmemLocation here{};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_EQ(ledger_.GetAccess(address + kMiB, here, &flags).outcome, Outcome::kDone);
  EXPECT_EQ(flags, unsigned{CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
}

TEST_F(LedgerTest, ContentsSurviveUnmapAndReleaseWhileMapped) {
  ledger_.AddCredit(0, 64 * kMiB);
  const auto handle = MustCreate(4 * kMiB);
  const CUdeviceptr first = Reserve(4 * kMiB);
  const CUdeviceptr second = Reserve(4 * kMiB);
  ASSERT_EQ(ledger_.MapHandle(first, 4 * kMiB, 0, handle, 0).outcome, Outcome::kDone);
  Allow(first, 4 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  *reinterpret_cast<int*>(first) = 42;
  ASSERT_EQ(ledger_.MapHandle(second, 4 * kMiB, 0, handle, 0).outcome, Outcome::kDone);
  ASSERT_EQ(ledger_.Unmap(first, 4 * kMiB).outcome, Outcome::kDone);
  Allow(second, 4 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(*reinterpret_cast<int*>(second), 42);
  ASSERT_EQ(ledger_.ReleaseHandle(handle).outcome, Outcome::kDone);
  EXPECT_EQ(*reinterpret_cast<int*>(second), 42) << "mapped memory outlives its handle";
  EXPECT_EQ(ledger_.ReleaseHandle(handle).error, CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(ledger_.Unmap(second, 4 * kMiB).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).spare, 64 * kMiB);
}

TEST_F(LedgerTest, UnmapCoversWholeMappingsOnly) {
  ledger_.AddCredit(0, 64 * kMiB);
  const CUdeviceptr range = Reserve(16 * kMiB);
  for (int i = 0; i < 4; ++i) {
    const auto handle = MustCreate(4 * kMiB);
    ASSERT_EQ(ledger_.MapHandle(range + 4 * kMiB * i, 4 * kMiB, 0, handle, 0).outcome,
              Outcome::kDone);
    ASSERT_EQ(ledger_.ReleaseHandle(handle).outcome, Outcome::kDone);
  }
  EXPECT_EQ(ledger_.Unmap(range, 6 * kMiB).error, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(gpu_.in_use(), 16 * kMiB);
  EXPECT_EQ(ledger_.Unmap(range, 16 * kMiB).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(ledger_.Unmap(range, 16 * kMiB).outcome, Outcome::kForeign);
}

TEST_F(LedgerTest, RetainReturnsSameHandle) {
  ledger_.AddCredit(0, 64 * kMiB);
  const auto handle = MustCreate(4 * kMiB);
  const CUdeviceptr address = Reserve(4 * kMiB);
  ledger_.MapHandle(address, 4 * kMiB, 0, handle, 0);
  CUmemGenericAllocationHandle again = 0;
  ASSERT_EQ(ledger_.RetainHandle(address + 100, &again).outcome, Outcome::kDone);
  EXPECT_EQ(again, handle);
  EXPECT_EQ(ledger_.ReleaseHandle(handle).outcome, Outcome::kDone);
  EXPECT_EQ(ledger_.ReleaseHandle(handle).outcome, Outcome::kDone) << "retained once more";
  EXPECT_EQ(ledger_.ReleaseHandle(handle).error, CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr plain = MustAllocate(4 * kMiB);
  EXPECT_EQ(ledger_.RetainHandle(plain, &again).error, CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LedgerTest, PinKeepsContentsAndNeedsCreditForCopy) {
  ledger_.AddCredit(0, 100 * kMiB);
  const auto handle = MustCreate(100 * kMiB);
  const CUdeviceptr address = Reserve(100 * kMiB);
  ledger_.MapHandle(address, 100 * kMiB, 0, handle, 0);
  Allow(address, 100 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  for (Bytes at = 0; at < 100 * kMiB; at += kMiB) {
    *reinterpret_cast<Bytes*>(address + at) = at * 31;
  }
  CUmemGenericAllocationHandle real = 0;
  EXPECT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kNeedCredit);
  ledger_.AddCredit(0, 100 * kMiB);
  ASSERT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kDone);
  EXPECT_FALSE(Ledger::IsOurHandle(real));
  EXPECT_EQ(gpu_.in_use(), 100 * kMiB) << "one handle replaces the pieces";
  for (Bytes at = 0; at < 100 * kMiB; at += kMiB) {
    ASSERT_EQ(*reinterpret_cast<Bytes*>(address + at), at * 31);
  }
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 100 * kMiB);
  CUmemGenericAllocationHandle same = 0;
  EXPECT_EQ(ledger_.Pin(handle, &same).outcome, Outcome::kDone);
  EXPECT_EQ(same, real);
}

TEST_F(LedgerTest, PinOfOnePieceKeepsItInPlace) {
  ledger_.AddCredit(0, 4 * kMiB);
  const auto handle = MustCreate(4 * kMiB);
  const CUdeviceptr address = Reserve(4 * kMiB);
  ledger_.MapHandle(address, 4 * kMiB, 0, handle, 0);
  Allow(address, 4 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  *reinterpret_cast<Bytes*>(address) = 77;
  CUmemGenericAllocationHandle real = 0;
  ASSERT_EQ(ledger_.Pin(handle, &real, /*idle=*/false).outcome, Outcome::kDone);
  EXPECT_FALSE(Ledger::IsOurHandle(real));
  EXPECT_EQ(*reinterpret_cast<Bytes*>(address), 77u);
  EXPECT_EQ(gpu_.in_use(), 4 * kMiB);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 4 * kMiB);
}

TEST_F(LedgerTest, PinOfSeveralPiecesNeedsAnIdleGpu) {
  constexpr Bytes kSize = 66 * kMiB;
  ledger_.AddCredit(0, 2 * kSize);
  const auto handle = MustCreate(kSize);
  const CUdeviceptr address = Reserve(kSize);
  ledger_.MapHandle(address, kSize, 0, handle, 0);
  Allow(address, kSize, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemGenericAllocationHandle real = 0;
  const Reply busy = ledger_.Pin(handle, &real, /*idle=*/false);
  EXPECT_EQ(busy.outcome, Outcome::kFailed);
  EXPECT_EQ(busy.error, CUDA_ERROR_NOT_READY);
  const CUdeviceptr part = Reserve(kSize);
  EXPECT_EQ(ledger_.MapHandle(part, 2 * kMiB, 0, handle, 0, /*idle=*/false).error,
            CUDA_ERROR_NOT_READY);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 0u);
  EXPECT_EQ(ledger_.Pin(handle, &real, /*idle=*/true).outcome, Outcome::kDone);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, kSize);
}

// Fails each call at each position: the retry finds all contents.
TEST_F(LedgerTest, FailedPinLosesNothing) {
  constexpr Bytes kSize = 66 * kMiB;  // two pieces
  constexpr int kNever = 1'000'000;
  ledger_.AddCredit(0, 2 * kSize);
  int failed = 0;
  for (const char* call : {"Create", "AddressReserve", "Map", "SetAccess", "CopyOnDevice",
                           "StreamSynchronize", "Unmap", "Release"}) {
    for (int nth = 1; nth <= 4; ++nth) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(nth));
      const CUresult error = nth % 2 == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
      const auto handle = MustCreate(kSize);
      const CUdeviceptr address = Reserve(kSize);
      ASSERT_EQ(ledger_.MapHandle(address, kSize, 0, handle, 0).outcome, Outcome::kDone);
      Allow(address, kSize, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
      for (Bytes at = 0; at < kSize; at += kMiB) *reinterpret_cast<Bytes*>(address + at) = at * 7;
      gpu_.FailCall(call, nth, error);
      CUmemGenericAllocationHandle real = 0;
      if (ledger_.Pin(handle, &real).outcome != Outcome::kDone) {
        ++failed;
        EXPECT_EQ(gpu_.in_use(), kSize) << "leaked memory";

        for (Bytes at = 0; at < kSize; at += kMiB) {
          ASSERT_EQ(*reinterpret_cast<Bytes*>(address + at), at * 7);
        }
        ASSERT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kDone);
      }
      gpu_.FailCall(call, kNever, error);
      for (Bytes at = 0; at < kSize; at += kMiB) {
        ASSERT_EQ(*reinterpret_cast<Bytes*>(address + at), at * 7);
      }
      ASSERT_EQ(ledger_.Unmap(address, kSize).outcome, Outcome::kDone);
      ASSERT_EQ(ledger_.ReleaseHandle(handle).outcome, Outcome::kDone);
      ASSERT_EQ(gpu_.in_use(), 0u);
    }
  }
  EXPECT_GT(failed, 10);
}

TEST_F(LedgerTest, PinOfUnmappedHandleDoesNotCopy) {
  ledger_.AddCredit(0, 100 * kMiB);
  const auto handle = MustCreate(100 * kMiB);
  CUmemGenericAllocationHandle real = 0;
  ASSERT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.calls["Create"], 2) << "the probe of the properties and the handle";
  EXPECT_EQ(gpu_.calls["CopyOnDevice"], 0);
}

}  // namespace ledger_handles_test
}  // namespace reveza::swap
