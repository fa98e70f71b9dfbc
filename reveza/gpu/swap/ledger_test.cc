#include "reveza/gpu/swap/ledger.h"

#include <gtest/gtest.h>

#include <cstring>

#include "reveza/gpu/swap/mover.h"
#include "reveza/gpu/swap/testing_ledger.h"

namespace reveza::swap {
namespace ledger_test {

using testing::LedgerTest;

TEST_F(LedgerTest, AllocationNeedsCreditAndIsUsableAtOnce) {
  CUdeviceptr address = 0;
  const Reply first = ledger_.Allocate(0, gpu_.context(), 100 * kMiB, &address);
  EXPECT_EQ(first.outcome, Outcome::kNeedCredit);
  EXPECT_EQ(first.needed, 100 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 0u);
  ledger_.AddCredit(0, 100 * kMiB);
  address = MustAllocate(100 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 100 * kMiB);
  EXPECT_EQ(gpu_.calls["Create"], 2) << "pieces of 64 MiB and 36 MiB";
  memset(reinterpret_cast<void*>(address), 7, 100 * kMiB);
  EXPECT_EQ(ledger_.Free(address).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).spare, 100 * kMiB);
}

TEST_F(LedgerTest, SmallAllocationsShareAnAlignedSlab) {
  ledger_.AddCredit(0, 64 * kMiB);
  CUdeviceptr previous = 0;
  for (int i = 0; i < 100; ++i) {
    const CUdeviceptr address = MustAllocate(1000);
    EXPECT_EQ(address % 512, 0u);
    EXPECT_NE(address, previous);
    previous = address;
  }
  for (const Bytes size : {1, 100, 256, 700}) EXPECT_EQ(MustAllocate(size) % 512, 0u) << size;
  EXPECT_EQ(gpu_.in_use(), kGranularity);
}

TEST_F(LedgerTest, FindReturnsEnclosingAllocation) {
  ledger_.AddCredit(0, 64 * kMiB);
  const CUdeviceptr small = MustAllocate(1000);
  const CUdeviceptr large = MustAllocate(3 * kMiB + 5);
  AddressInfo info;
  ASSERT_TRUE(ledger_.Find(small + 999, &info));
  EXPECT_EQ(info.base, small);
  EXPECT_EQ(info.size, 1000u);
  ASSERT_TRUE(ledger_.Find(large + 3 * kMiB, &info));
  EXPECT_EQ(info.base, large);
  EXPECT_EQ(info.size, 3 * kMiB + 5);
  EXPECT_FALSE(ledger_.Find(large + 3 * kMiB + 5, &info)) << "beyond the requested size";
  EXPECT_FALSE(ledger_.Find(small + 1024, &info)) << "a hole of the slab";
  EXPECT_FALSE(ledger_.Find(0x1234, &info));
}

TEST_F(LedgerTest, FreeRejectsUnknownAddresses) {
  ledger_.AddCredit(0, 64 * kMiB);
  const CUdeviceptr small = MustAllocate(1000);
  const CUdeviceptr large = MustAllocate(4 * kMiB);
  EXPECT_EQ(ledger_.Free(small + 512).error, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ledger_.Free(large + 512).error, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ledger_.Free(0x1234).outcome, Outcome::kForeign);
  EXPECT_EQ(ledger_.Free(small).outcome, Outcome::kDone);
  EXPECT_EQ(ledger_.Free(small).outcome, Outcome::kForeign) << "its slab was freed";
}

TEST_F(LedgerTest, AllocationIsVirtualWhileSwappedOut) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, 200 * kMiB);
  const CUdeviceptr address = MustAllocate(200 * kMiB);
  EXPECT_NE(address, 0u);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).swapped, 200 * kMiB);
  EXPECT_EQ(ledger_.Free(address).outcome, Outcome::kDone);
  EXPECT_EQ(ledger_.GetUsage(0).Need(), 0u);
}

TEST_F(LedgerTest, VirtualAllocationIsLimitedToPermit) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, 8 * kMiB);
  CUdeviceptr address = 0;
  const Reply reply = ledger_.Allocate(0, gpu_.context(), 12 * kMiB, &address);
  EXPECT_EQ(reply.outcome, Outcome::kNeedCredit);
  EXPECT_EQ(reply.needed, 4 * kMiB);
  MustAllocate(6 * kMiB);
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 4 * kMiB, &address).needed, 2 * kMiB);
  // The permission is reset when the gate opens.
  ledger_.SetResidency(Residency::kIn);
  ledger_.SetResidency(Residency::kOut);
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 4 * kMiB, &address).needed, 4 * kMiB);
}

TEST_F(LedgerTest, ExceedingBudgetIsOutOfMemory) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, 512 * kMiB);
  MustAllocate(500 * kMiB);
  CUdeviceptr address = 0;
  const Reply reply = ledger_.Allocate(0, gpu_.context(), 13 * kMiB, &address);
  EXPECT_EQ(reply.outcome, Outcome::kFailed);
  EXPECT_EQ(reply.error, CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(LedgerTest, AllocationWaitsWhileSettled) {
  ledger_.SetResidency(Residency::kSettled);
  CUdeviceptr address = 0;
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), kMiB, &address).outcome, Outcome::kWait);
}

TEST_F(LedgerTest, DriverOutOfMemoryDespiteCreditIsRetried) {
  ledger_.AddCredit(0, 64 * kMiB);
  gpu_.FailCall("Create", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr address = 0;
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 64 * kMiB, &address).outcome, Outcome::kRetry);
  EXPECT_EQ(ledger_.GetUsage(0).spare, 64 * kMiB);
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 64 * kMiB, &address).outcome, Outcome::kDone);
}

TEST_F(LedgerTest, FailedAllocationLeavesNothing) {
  for (const char* call : {"AddressReserve", "Create", "Map", "SetAccess"}) {
    for (int nth = 1; nth <= 2; ++nth) {
      ledger_.AddCredit(0, 100 * kMiB - ledger_.GetUsage(0).spare);
      gpu_.FailCall(call, nth, CUDA_ERROR_UNKNOWN);
      CUdeviceptr address = 0;
      const Reply reply = ledger_.Allocate(0, gpu_.context(), 100 * kMiB, &address);
      if (reply.outcome == Outcome::kDone) {  // AddressReserve is called once
        ledger_.Free(address);
        continue;
      }
      EXPECT_EQ(reply.error, CUDA_ERROR_UNKNOWN) << call;
      EXPECT_EQ(gpu_.in_use(), 0u) << call << nth;
      EXPECT_EQ(ledger_.GetUsage(0).spare, 100 * kMiB) << call << nth;
      EXPECT_EQ(ledger_.GetUsage(0).Need(), 0u) << call << nth;
    }
  }
}

TEST_F(LedgerTest, FreeOwnedFreesAllocationsButNotHandles) {
  ledger_.AddCredit(0, 64 * kMiB);
  const auto other = reinterpret_cast<CUcontext>(0x9000);
  CUdeviceptr of_other = 0;
  ASSERT_EQ(ledger_.Allocate(0, other, 4 * kMiB, &of_other).outcome, Outcome::kDone);
  CUdeviceptr small_of_other = 0;
  ASSERT_EQ(ledger_.Allocate(0, other, 1000, &small_of_other).outcome, Outcome::kDone);
  const CUdeviceptr mine = MustAllocate(4 * kMiB);
  const CUdeviceptr my_small = MustAllocate(1000);
  MustCreate(2 * kMiB);
  ledger_.FreeOwned(other);
  AddressInfo info;
  EXPECT_FALSE(ledger_.Find(of_other, &info));
  EXPECT_FALSE(ledger_.Find(small_of_other, &info));
  EXPECT_TRUE(ledger_.Find(mine, &info));
  EXPECT_TRUE(ledger_.Find(my_small, &info));
  EXPECT_EQ(ledger_.GetUsage(0).resident, 8 * kMiB);
}

TEST_F(LedgerTest, CopyStreamIsRecreatedAfterContextDestroy) {
  Mover mover(gpu_.driver(), ledger_);
  const auto move_out_and_in = [&] {
    ledger_.SetResidency(Residency::kOut);
    mover.Evict(0, 4 * kMiB, [](void*, int, Bytes) {}, nullptr);
    ledger_.AddCredit(0, 4 * kMiB);
    EXPECT_EQ(mover.SwapInStep(), SwapInState::kDone);
    mover.CancelSwapIn();
  };
  ledger_.AddCredit(0, 4 * kMiB);
  MustAllocate(4 * kMiB);
  move_out_and_in();
  move_out_and_in();
  EXPECT_EQ(gpu_.calls["StreamCreate"], 2) << "one for copies, one for fingerprints";
  ledger_.OnContextDestroy(0, gpu_.context(), reinterpret_cast<CUcontext>(0x9000));
  move_out_and_in();
  EXPECT_EQ(gpu_.calls["StreamCreate"], 4);
}

TEST_F(LedgerTest, PeersGetAccessToExistingAndNewAllocations) {
  ledger_.AddCredit(0, 64 * kMiB);
  MustAllocate(4 * kMiB);
  const int before = gpu_.calls["SetAccess"];
  EXPECT_EQ(ledger_.SetPeer(0, 1, true), CUDA_SUCCESS);
  EXPECT_EQ(gpu_.calls["SetAccess"], before + 1);
  MustAllocate(4 * kMiB);
  EXPECT_EQ(gpu_.calls["SetAccess"], before + 3) << "own access and peer access";
}

}  // namespace ledger_test
}  // namespace reveza::swap
