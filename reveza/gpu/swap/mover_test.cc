#include <thread>

#include "reveza/gpu/swap/testing_mover.h"

namespace reveza::swap {
namespace mover_test {

using testing::kBudget;
using testing::MoverTest;

TEST_F(MoverTest, RoundTripKeepsContentsAndAddresses) {
  const CUdeviceptr large = Filled(200 * kMiB, 1);
  const CUdeviceptr other = Filled(10 * kMiB, 7);
  const EvictResult result = Evict(kBudget);
  EXPECT_EQ(result.freed, 210 * kMiB);
  EXPECT_EQ(result.copied, 210 * kMiB);
  EXPECT_EQ(result.failure, EvictFailure::kNone);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).swapped, 210 * kMiB);
  EXPECT_EQ(SwapInWith(210 * kMiB), SwapInState::kDone);
  EXPECT_EQ(ledger_.residency(), Residency::kSettled);
  EXPECT_TRUE(Holds(large, 200 * kMiB, 1));
  EXPECT_TRUE(Holds(other, 10 * kMiB, 7));
  EXPECT_EQ(mover_.TakeCopiedIn(), 210 * kMiB);
}

TEST_F(MoverTest, ReportsEachPieceAsItIsFreed) {
  Filled(256 * kMiB, 1);
  Evict(256 * kMiB);
  EXPECT_EQ(reports_, std::vector<Bytes>(4, 64 * kMiB));
}

TEST_F(MoverTest, EvictsOnlyAsMuchAsRequested) {
  const CUdeviceptr first = Filled(128 * kMiB, 1);
  Filled(128 * kMiB, 2);
  const EvictResult result = Evict(65 * kMiB);
  EXPECT_EQ(result.freed, 128 * kMiB) << "whole pieces, of what was allocated last";
  EXPECT_EQ(gpu_.in_use(), 128 * kMiB);
  EXPECT_TRUE(Holds(first, 128 * kMiB, 1));
}

TEST_F(MoverTest, SpareCreditIsReleasedFirst) {
  Filled(64 * kMiB, 1);
  ledger_.AddCredit(0, 32 * kMiB);
  const EvictResult result = Evict(32 * kMiB);
  EXPECT_EQ(result.freed, 32 * kMiB);
  EXPECT_EQ(result.copied, 0u);
  EXPECT_EQ(gpu_.in_use(), 64 * kMiB);
}

TEST_F(MoverTest, SwapInFollowsCredit) {
  const CUdeviceptr address = Filled(256 * kMiB, 3);
  Evict(kBudget);
  EXPECT_EQ(SwapInWith(0), SwapInState::kNeedCredit);
  EXPECT_EQ(SwapInWith(100 * kMiB), SwapInState::kNeedCredit);
  EXPECT_EQ(gpu_.in_use(), 64 * kMiB);
  EXPECT_EQ(mover_.MissingCredit(0), 256 * kMiB - 100 * kMiB);
  EXPECT_EQ(SwapInWith(156 * kMiB), SwapInState::kDone);
  EXPECT_TRUE(Holds(address, 256 * kMiB, 3));
}

TEST_F(MoverTest, EvictionCancelsSwapInWithoutLoss) {
  const CUdeviceptr address = Filled(256 * kMiB, 3);
  Evict(kBudget);
  EXPECT_EQ(SwapInWith(130 * kMiB), SwapInState::kNeedCredit);
  EXPECT_EQ(Evict(kBudget).freed, 130 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(SwapInWith(256 * kMiB), SwapInState::kDone);
  EXPECT_TRUE(Holds(address, 256 * kMiB, 3));
}

TEST_F(MoverTest, VirtualAllocationSwapsInWithoutCopy) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, 64 * kMiB);
  CUdeviceptr address = 0;
  ASSERT_EQ(ledger_.Allocate(0, gpu_.context(), 64 * kMiB, &address).outcome, Outcome::kDone);
  EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kDone);
  EXPECT_EQ(gpu_.bytes_in, 0u);
  Word(address, 0) = 5;
  EXPECT_EQ(Word(address, 0), 5u);
}

TEST_F(MoverTest, FreedMemoryIsNotSwappedIn) {
  const CUdeviceptr keep = Filled(64 * kMiB, 1);
  const CUdeviceptr drop = Filled(64 * kMiB, 2);
  Evict(kBudget);
  EXPECT_EQ(ledger_.Free(drop).outcome, Outcome::kDone);
  EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kDone);
  EXPECT_EQ(gpu_.bytes_in, 64 * kMiB);
  EXPECT_TRUE(Holds(keep, 64 * kMiB, 1));
}

// The last allocation of a slab is freed while the slab is being copied; an allocation made before
// that has finished must not land in the same slab.
TEST_F(MoverTest, SlabBeingFreedIsNotReused) {
  ledger_.AddCredit(0, kGranularity - 4096);
  const CUdeviceptr old = Filled(4096, 1);
  CUdeviceptr fresh = 0;
  std::thread freeing;
  gpu_.while_copying = [&] {
    freeing = std::thread([&] { EXPECT_EQ(ledger_.Free(old).outcome, Outcome::kDone); });
    AddressInfo info;
    while (ledger_.Find(old, &info)) std::this_thread::yield();
    ledger_.Permit(0, kGranularity);
    EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), 4096, &fresh).outcome, Outcome::kDone);
  };
  Evict(kBudget);
  freeing.join();
  AddressInfo info;
  ASSERT_TRUE(ledger_.Find(fresh, &info));
  EXPECT_EQ(SwapInWith(kGranularity), SwapInState::kDone);
  Word(fresh, 0) = 5;
  EXPECT_EQ(Word(fresh, 0), 5u);
  EXPECT_EQ(gpu_.in_use(), kGranularity) << "one slab";
}

TEST_F(MoverTest, BlockBeingFreedIsFreedOnce) {
  const CUdeviceptr address = Filled(64 * kMiB, 1);
  std::thread freeing;
  gpu_.while_copying = [&] {
    freeing = std::thread([&] { EXPECT_EQ(ledger_.Free(address).outcome, Outcome::kDone); });
    AddressInfo info;
    while (ledger_.Find(address, &info)) std::this_thread::yield();
    EXPECT_EQ(ledger_.Free(address).outcome, Outcome::kForeign);
    ledger_.FreeOwned(gpu_.context());
  };
  Evict(kBudget);
  freeing.join();
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).Need(), 0u);
}

TEST_F(MoverTest, EvictionStopsWithoutHostMemory) {
  HostArena tight{gpu_.driver(), 64 * kMiB};
  Ledger ledger{gpu_.driver(), tight};
  Mover mover{gpu_.driver(), ledger};
  ledger.AddDevice(0, gpu_.context(), kBudget, 0);
  ledger.SetResidency(Residency::kIn);
  ledger.AddCredit(0, 192 * kMiB);
  CUdeviceptr address = 0;
  ASSERT_EQ(ledger.Allocate(0, gpu_.context(), 192 * kMiB, &address).outcome, Outcome::kDone);
  for (Bytes at = 0; at < 192 * kMiB; at += 4096) Word(address, at) = unsigned(at >> 12);
  ledger.SetResidency(Residency::kOut);
  const EvictResult result = mover.Evict(0, kBudget, [](void*, int, Bytes) {}, nullptr);
  EXPECT_EQ(result.failure, EvictFailure::kHostMemory);
  EXPECT_EQ(result.freed, 64 * kMiB);
  ledger.AddCredit(0, 64 * kMiB);
  EXPECT_EQ(mover.SwapInStep(), SwapInState::kDone);
  EXPECT_TRUE(Holds(address, 192 * kMiB, 0));
}

// The copy of what has come back only saves a copy if it has not changed.
TEST_F(MoverTest, CopiesOfWhatIsOnTheGpuMakeWay) {
  constexpr Bytes kSize = 64 * kMiB;
  HostArena tight{gpu_.driver(), kSize};
  Ledger ledger{gpu_.driver(), tight};
  Mover mover{gpu_.driver(), ledger};
  ledger.AddDevice(0, gpu_.context(), kBudget, 0);
  const auto allocate = [&](unsigned seed) {
    ledger.SetResidency(Residency::kIn);
    ledger.AddCredit(0, kSize);
    CUdeviceptr address = 0;
    EXPECT_EQ(ledger.Allocate(0, gpu_.context(), kSize, &address).outcome, Outcome::kDone);
    Fill(address, kSize, seed);
    return address;
  };
  const auto evict = [&](Bytes bytes) {
    ledger.SetResidency(Residency::kOut);
    return mover.Evict(0, bytes, [](void*, int, Bytes) {}, nullptr);
  };
  const auto swap_in = [&] {
    ledger.AddCredit(0, kSize);
    EXPECT_EQ(mover.SwapInStep(), SwapInState::kDone);
  };
  const CUdeviceptr first = allocate(1);
  EXPECT_EQ(evict(kSize).freed, kSize);
  swap_in();
  const CUdeviceptr second = allocate(7);
  EvictResult result = evict(kSize);
  EXPECT_EQ(result.failure, EvictFailure::kNone);
  EXPECT_EQ(result.freed, kSize);
  EXPECT_EQ(result.copied, kSize);
  swap_in();
  EXPECT_TRUE(Holds(first, kSize, 1));
  EXPECT_TRUE(Holds(second, kSize, 7));
  // There is still no room for both.
  result = evict(2 * kSize);
  EXPECT_EQ(result.failure, EvictFailure::kHostMemory);
  EXPECT_EQ(result.freed, kSize);
  swap_in();
  EXPECT_TRUE(Holds(first, kSize, 1));
  EXPECT_TRUE(Holds(second, kSize, 7));
}

TEST_F(MoverTest, UnmappedHandleKeepsContents) {
  const auto handle = Created(64 * kMiB);
  const CUdeviceptr address = Mapped(handle, 64 * kMiB);
  Fill(address, 64 * kMiB, 9);
  ASSERT_EQ(ledger_.Unmap(address, 64 * kMiB).outcome, Outcome::kDone);
  EXPECT_EQ(Evict(kBudget).copied, 64 * kMiB);
  EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kDone);
  ledger_.SetResidency(Residency::kIn);
  ASSERT_EQ(ledger_.MapHandle(address, 64 * kMiB, 0, handle, 0).outcome, Outcome::kDone);
  const CUmemAccessDesc access = ReadWrite();
  ledger_.SetAccess(address, 64 * kMiB, &access, 1);
  EXPECT_TRUE(Holds(address, 64 * kMiB, 9));
}

// One handle mapped at two addresses: both show the same contents, before and after.
TEST_F(MoverTest, AllMappingsOfAHandleAreRestored) {
  const auto handle = Created(70 * kMiB);
  const CUdeviceptr first = Mapped(handle, 70 * kMiB);
  const CUdeviceptr second = Mapped(handle, 70 * kMiB);
  Fill(first, 70 * kMiB, 4);
  EXPECT_EQ(Evict(kBudget).freed, 70 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(SwapInWith(70 * kMiB), SwapInState::kDone);
  EXPECT_TRUE(Holds(first, 70 * kMiB, 4));
  EXPECT_TRUE(Holds(second, 70 * kMiB, 4));
}

// Read-only mappings are copied through a private address, piece by piece.
TEST_F(MoverTest, ReadOnlyMappingIsCopiedThroughPrivateAddress) {
  const auto handle = Created(130 * kMiB);
  const CUdeviceptr address = Mapped(handle, 130 * kMiB);
  Fill(address, 130 * kMiB, 8);
  CUmemAccessDesc access = ReadWrite();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  ASSERT_EQ(ledger_.SetAccess(address, 130 * kMiB, &access, 1).outcome, Outcome::kDone);
  EXPECT_EQ(Evict(kBudget).copied, 130 * kMiB);
  EXPECT_EQ(SwapInWith(130 * kMiB), SwapInState::kDone);
  EXPECT_TRUE(Holds(address, 130 * kMiB, 8));
}

TEST_F(MoverTest, NeverWritableMemoryIsNotCopied) {
  const auto handle = Created(64 * kMiB);
  CUdeviceptr address = 0;
  gpu_.driver().AddressReserve(&address, 64 * kMiB, kGranularity, 0, 0);
  ASSERT_EQ(ledger_.MapHandle(address, 64 * kMiB, 0, handle, 0).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.in_use(), 64 * kMiB);
  const EvictResult result = Evict(kBudget);
  EXPECT_EQ(result.freed, 64 * kMiB);
  EXPECT_EQ(result.copied, 0u);
}

TEST_F(MoverTest, PinnedMemoryIsNotEvicted) {
  const CUdeviceptr movable = Filled(64 * kMiB, 1);
  const auto handle = Created(64 * kMiB);
  const CUdeviceptr address = Mapped(handle, 64 * kMiB);
  Fill(address, 64 * kMiB, 2);
  ledger_.AddCredit(0, 64 * kMiB);
  CUmemGenericAllocationHandle real = 0;
  ASSERT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kDone);
  ledger_.TakeSpare(0, 0);
  EXPECT_EQ(Evict(kBudget).freed, 64 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 64 * kMiB);
  EXPECT_TRUE(Holds(address, 64 * kMiB, 2));
  EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kDone);
  EXPECT_TRUE(Holds(movable, 64 * kMiB, 1));
}

}  // namespace mover_test
}  // namespace reveza::swap
