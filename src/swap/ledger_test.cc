#include "swap/ledger.h"

#include <gtest/gtest.h>

#include <cstring>

#include "swap/mover.h"
#include "swap/testing_driver.h"

namespace reveza::swap {
namespace {

constexpr Bytes kBudget = 512 * kMiB;

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() {
    ledger_.AddDevice(0, gpu_.context(), kBudget, 0);
    ledger_.SetResidency(Residency::kIn);
  }

  CUdeviceptr MustAllocate(Bytes size) {
    CUdeviceptr address = 0;
    const Reply reply = ledger_.Allocate(0, gpu_.context(), size, &address);
    EXPECT_EQ(reply.outcome, Outcome::kDone) << reply.error;
    return address;
  }

  static CUmemAllocationProp Properties() {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return properties;
  }

  CUmemGenericAllocationHandle MustCreate(Bytes size) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(ledger_.CreateHandle(size, Properties(), &handle).outcome, Outcome::kDone);
    return handle;
  }

  CUdeviceptr Reserve(Bytes size) {
    CUdeviceptr address = 0;
    EXPECT_EQ(gpu_.driver().AddressReserve(&address, size, kGranularity, 0, 0), CUDA_SUCCESS);
    return address;
  }

  Reply Allow(CUdeviceptr address, Bytes size, CUmemAccess_flags flags) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = flags;
    return ledger_.SetAccess(address, size, &access, 1);
  }

  testing::TestingDriver gpu_{kBudget};
  HostArena arena_{gpu_.driver(), 4 * kGiB};
  Ledger ledger_{gpu_.driver(), arena_};
};

TEST_F(LedgerTest, MemoryNeedsCreditAndIsUsableAtOnce) {
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
  EXPECT_EQ(ledger_.GetBooks(0).spare, 100 * kMiB);
}

TEST_F(LedgerTest, SmallAllocationsShareASlabAndKeepTheirAlignment) {
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

TEST_F(LedgerTest, FindsTheAllocationThatAnAddressLiesIn) {
  ledger_.AddCredit(0, 64 * kMiB);
  const CUdeviceptr small = MustAllocate(1000);
  const CUdeviceptr large = MustAllocate(3 * kMiB + 5);
  Place place;
  ASSERT_TRUE(ledger_.Find(small + 999, &place));
  EXPECT_EQ(place.base, small);
  EXPECT_EQ(place.size, 1000u);
  ASSERT_TRUE(ledger_.Find(large + 3 * kMiB, &place));
  EXPECT_EQ(place.base, large);
  EXPECT_EQ(place.size, 3 * kMiB + 5);
  EXPECT_FALSE(ledger_.Find(large + 3 * kMiB + 5, &place)) << "beyond what was asked for";
  EXPECT_FALSE(ledger_.Find(small + 1024, &place)) << "a hole of the slab";
  EXPECT_FALSE(ledger_.Find(0x1234, &place));
}

TEST_F(LedgerTest, FreeRefusesWhatItDidNotGive) {
  ledger_.AddCredit(0, 64 * kMiB);
  const CUdeviceptr small = MustAllocate(1000);
  const CUdeviceptr large = MustAllocate(4 * kMiB);
  EXPECT_EQ(ledger_.Free(small + 512).error, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ledger_.Free(large + 512).error, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ledger_.Free(0x1234).outcome, Outcome::kForeign);
  EXPECT_EQ(ledger_.Free(small).outcome, Outcome::kDone);
  EXPECT_EQ(ledger_.Free(small).outcome, Outcome::kForeign) << "its slab is gone";
}

TEST_F(LedgerTest, WithAClosedGateMemoryIsVirtual) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, 200 * kMiB);
  const CUdeviceptr address = MustAllocate(200 * kMiB);
  EXPECT_NE(address, 0u);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(ledger_.GetBooks(0).swapped, 200 * kMiB);
  EXPECT_EQ(ledger_.Free(address).outcome, Outcome::kDone);
  EXPECT_EQ(ledger_.GetBooks(0).Need(), 0u);
}

TEST_F(LedgerTest, WithAClosedGateNoMoreIsGivenThanWasPermitted) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, 8 * kMiB);
  CUdeviceptr address = 0;
  const Reply reply = ledger_.Allocate(0, gpu_.context(), 12 * kMiB, &address);
  EXPECT_EQ(reply.outcome, Outcome::kNeedCredit);
  EXPECT_EQ(reply.needed, 4 * kMiB);
  MustAllocate(6 * kMiB);
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 4 * kMiB, &address).needed, 2 * kMiB);
  // A permission does not outlast the closed gate.
  ledger_.SetResidency(Residency::kIn);
  ledger_.SetResidency(Residency::kOut);
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 4 * kMiB, &address).needed, 4 * kMiB);
}

TEST_F(LedgerTest, MoreThanTheBudgetIsOutOfMemoryWhereverItIs) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, 512 * kMiB);
  MustAllocate(500 * kMiB);
  CUdeviceptr address = 0;
  const Reply reply = ledger_.Allocate(0, gpu_.context(), 13 * kMiB, &address);
  EXPECT_EQ(reply.outcome, Outcome::kFailed);
  EXPECT_EQ(reply.error, CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(LedgerTest, WhileAboutToOpenWhoeverWantsMemoryWaits) {
  ledger_.SetResidency(Residency::kSettled);
  CUdeviceptr address = 0;
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), kMiB, &address).outcome, Outcome::kWait);
}

TEST_F(LedgerTest, ADriverWithoutMemoryDespiteCreditIsAskedAgain) {
  ledger_.AddCredit(0, 64 * kMiB);
  gpu_.FailCall("Create", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr address = 0;
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 64 * kMiB, &address).outcome, Outcome::kRetry);
  EXPECT_EQ(ledger_.GetBooks(0).spare, 64 * kMiB);
  EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 64 * kMiB, &address).outcome, Outcome::kDone);
}

TEST_F(LedgerTest, AFailedAllocationLeavesNothing) {
  for (const char* call : {"AddressReserve", "Create", "Map", "SetAccess"}) {
    for (int nth = 1; nth <= 2; ++nth) {
      ledger_.AddCredit(0, 100 * kMiB - ledger_.GetBooks(0).spare);
      gpu_.FailCall(call, nth, CUDA_ERROR_UNKNOWN);
      CUdeviceptr address = 0;
      const Reply reply = ledger_.Allocate(0, gpu_.context(), 100 * kMiB, &address);
      if (reply.outcome == Outcome::kDone) {  // AddressReserve is called once
        ledger_.Free(address);
        continue;
      }
      EXPECT_EQ(reply.error, CUDA_ERROR_UNKNOWN) << call;
      EXPECT_EQ(gpu_.in_use(), 0u) << call << nth;
      EXPECT_EQ(ledger_.GetBooks(0).spare, 100 * kMiB) << call << nth;
      EXPECT_EQ(ledger_.GetBooks(0).Need(), 0u) << call << nth;
    }
  }
}

TEST_F(LedgerTest, AContextTakesItsAllocationsWithItButNotTheHandles) {
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
  Place place;
  EXPECT_FALSE(ledger_.Find(of_other, &place));
  EXPECT_FALSE(ledger_.Find(small_of_other, &place));
  EXPECT_TRUE(ledger_.Find(mine, &place));
  EXPECT_TRUE(ledger_.Find(my_small, &place));
  EXPECT_EQ(ledger_.GetBooks(0).resident, 8 * kMiB);
}

TEST_F(LedgerTest, AStreamForMovingIsMadeAnewWhenItsContextHasEnded) {
  Mover mover(gpu_.driver(), ledger_);
  const auto move_out_and_in = [&] {
    ledger_.SetResidency(Residency::kOut);
    mover.Evict(0, 4 * kMiB, [](void*, int, Bytes) {}, nullptr);
    ledger_.AddCredit(0, 4 * kMiB);
    EXPECT_EQ(mover.SwapInStep(), SwapInState::kDone);
    mover.EndSwapIn();
  };
  ledger_.AddCredit(0, 4 * kMiB);
  MustAllocate(4 * kMiB);
  move_out_and_in();
  move_out_and_in();
  EXPECT_EQ(gpu_.calls["StreamCreate"], 1);
  ledger_.ContextEnds(0, gpu_.context(), reinterpret_cast<CUcontext>(0x9000));
  move_out_and_in();
  EXPECT_EQ(gpu_.calls["StreamCreate"], 2);
}

// ---- the application's own handles ----

TEST_F(LedgerTest, AHandleBeyondTheBudgetIsRefusedWhenItIsMade) {
  ledger_.AddCredit(0, kBudget);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(ledger_.CreateHandle(kBudget + kGranularity, Properties(), &handle).error,
            CUDA_ERROR_OUT_OF_MEMORY);
  MustCreate(kBudget);
  EXPECT_EQ(ledger_.CreateHandle(kGranularity, Properties(), &handle).error,
            CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(LedgerTest, AKindOfHandleThatTheDriverRefusesIsRefused) {
  ledger_.AddCredit(0, 64 * kMiB);
  gpu_.FailCall("Create", 1, CUDA_ERROR_NOT_PERMITTED);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(ledger_.CreateHandle(4 * kMiB, Properties(), &handle).error, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(ledger_.GetBooks(0).resident, 0u);
}

TEST_F(LedgerTest, PinningWaitsForTheGateToOpen) {
  ledger_.AddCredit(0, 64 * kMiB);
  const auto handle = MustCreate(4 * kMiB);
  CUmemGenericAllocationHandle real = 0;
  for (const Residency residency : {Residency::kOut, Residency::kSettled}) {
    ledger_.SetResidency(residency);
    EXPECT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kWait);
  }
  EXPECT_EQ(gpu_.in_use(), 0u);
}

TEST_F(LedgerTest, AHandleTakesTheBudgetWhenCreatedAndMemoryWhenMapped) {
  ledger_.AddCredit(0, 200 * kMiB);
  const auto handle = MustCreate(200 * kMiB);
  EXPECT_TRUE(Ledger::IsOurHandle(handle));
  EXPECT_EQ(ledger_.GetBooks(0).resident, 200 * kMiB);
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

TEST_F(LedgerTest, DataOutlivesUnmapAndReleaseWhileMapped) {
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
  EXPECT_EQ(ledger_.GetBooks(0).spare, 64 * kMiB);
}

TEST_F(LedgerTest, OneUnmapCoversManyMappingsAndCutsNone) {
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

TEST_F(LedgerTest, RetainGivesTheSameHandleAgain) {
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

TEST_F(LedgerTest, PinningKeepsTheContentsAndNeedsRoomForACopy) {
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
  EXPECT_EQ(gpu_.in_use(), 100 * kMiB) << "one handle now, the pieces are gone";
  for (Bytes at = 0; at < 100 * kMiB; at += kMiB) {
    ASSERT_EQ(*reinterpret_cast<Bytes*>(address + at), at * 31);
  }
  EXPECT_EQ(ledger_.GetBooks(0).pinned, 100 * kMiB);
  CUmemGenericAllocationHandle same = 0;
  EXPECT_EQ(ledger_.Pin(handle, &same).outcome, Outcome::kDone);
  EXPECT_EQ(same, real);
}

// Whatever call fails, and whenever: the next try finds all that was written.
TEST_F(LedgerTest, PinningThatFailsLosesNothing) {
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
        EXPECT_EQ(gpu_.in_use(), kSize) << "nothing of a try is left";
        // The program goes on with it, whatever its answer is.
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

TEST_F(LedgerTest, AHandleThatWasNeverMappedIsPinnedWithoutACopy) {
  ledger_.AddCredit(0, 100 * kMiB);
  const auto handle = MustCreate(100 * kMiB);
  CUmemGenericAllocationHandle real = 0;
  ASSERT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.calls["Create"], 2) << "whether the kind is allowed, and the handle itself";
  EXPECT_EQ(gpu_.calls["CopyOnDevice"], 0);
}

TEST_F(LedgerTest, PeersGetAccessToOldAndNewAllocations) {
  ledger_.AddCredit(0, 64 * kMiB);
  MustAllocate(4 * kMiB);
  const int before = gpu_.calls["SetAccess"];
  EXPECT_EQ(ledger_.SetPeer(0, 1, true), CUDA_SUCCESS);
  EXPECT_EQ(gpu_.calls["SetAccess"], before + 1);
  MustAllocate(4 * kMiB);
  EXPECT_EQ(gpu_.calls["SetAccess"], before + 3) << "its own access and the peer's";
}

}  // namespace
}  // namespace reveza::swap
