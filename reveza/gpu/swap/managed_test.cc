// Managed memory is prefetched, chunk by chunk, within its credit.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "reveza/gpu/swap/testing_mover.h"

namespace reveza::swap {
namespace managed_test {

using testing::kBudget;
using Prefetched = testing::TestingDriver::Prefetched;

class ManagedTest : public testing::MoverTest {
 protected:
  // Records memory at a made-up address: the mover only names it to the driver.
  ManagedRange Add(CUdeviceptr address, Bytes size) {
    ManagedRange range{.address = address, .requested = size, .owner = gpu_.context()};
    range.resident = range.size();
    ledger_.AddCredit(0, range.size());
    EXPECT_EQ(ledger_.ReserveManaged(0, size).outcome, Outcome::kDone);
    ledger_.AddManaged(range);
    return range;
  }
};

constexpr CUdeviceptr kFirst = Bytes{1} << 40;
constexpr CUdeviceptr kSecond = Bytes{1} << 41;

TEST_F(ManagedTest, NeedsCreditAndAnOpenGate) {
  ledger_.AddCredit(0, 4 * kMiB);
  const Reply more = ledger_.ReserveManaged(0, 5 * kMiB);
  EXPECT_EQ(more.outcome, Outcome::kNeedCredit);
  EXPECT_EQ(more.needed, 2 * kMiB);
  EXPECT_EQ(ledger_.ReserveManaged(0, kBudget + 1).error, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(ledger_.ReserveManaged(0, ~Bytes{0}).error, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(ledger_.ReserveManaged(0, 3 * kMiB).outcome, Outcome::kDone);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 4 * kMiB) << "until the driver has made it";
  EXPECT_EQ(ledger_.GetUsage(0).spare, 0u);
  ledger_.SetResidency(Residency::kOut);
  EXPECT_EQ(ledger_.ReserveManaged(0, kMiB).outcome, Outcome::kWait);
}

TEST_F(ManagedTest, LeavesFromItsEndAndComesBackToIt) {
  Add(kFirst, 150 * kMiB - 4096);
  EXPECT_EQ(Evict(30 * kMiB).freed, 86 * kMiB) << "whole chunks";
  EXPECT_EQ(gpu_.prefetches,
            (std::vector<Prefetched>{{kFirst + 128 * kMiB, 22 * kMiB - 4096, CU_DEVICE_CPU},
                                     {kFirst + 64 * kMiB, 64 * kMiB, CU_DEVICE_CPU}}));
  EXPECT_EQ(ledger_.GetUsage(0).resident, 64 * kMiB);
  EXPECT_EQ(ledger_.GetUsage(0).swapped, 86 * kMiB);
  gpu_.prefetches.clear();
  EXPECT_EQ(SwapInWith(70 * kMiB), SwapInState::kNeedCredit);
  EXPECT_EQ(mover_.MissingCredit(0), 16 * kMiB);
  EXPECT_EQ(SwapInWith(16 * kMiB), SwapInState::kDone);
  EXPECT_EQ(gpu_.prefetches, (std::vector<Prefetched>{{kFirst + 64 * kMiB, 64 * kMiB, 0},
                                                      {kFirst + 128 * kMiB, 22 * kMiB - 4096, 0}}));
  EXPECT_EQ(mover_.TakeCopiedIn(), 86 * kMiB);
}

TEST_F(ManagedTest, LeavesAfterOtherMemoryAndTheNewestFirst) {
  const CUdeviceptr block = Filled(64 * kMiB, 3);
  Add(kFirst, 64 * kMiB);
  Add(kSecond, 64 * kMiB);
  EXPECT_EQ(Evict(65 * kMiB).freed, 128 * kMiB);
  EXPECT_EQ(gpu_.prefetches, (std::vector<Prefetched>{{kSecond, 64 * kMiB, CU_DEVICE_CPU}}));
  EXPECT_EQ(SwapInWith(128 * kMiB), SwapInState::kDone);
  EXPECT_TRUE(Holds(block, 64 * kMiB, 3));
}

TEST_F(ManagedTest, FixedMemoryStays) {
  Add(kFirst, 64 * kMiB);
  ledger_.FixManaged(kFirst + 32 * kMiB, 4096);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 64 * kMiB);
  EXPECT_EQ(Evict(kBudget).freed, 0u);
  EXPECT_TRUE(gpu_.prefetches.empty());
}

TEST_F(ManagedTest, AFailedPrefetchKeepsTheCredit) {
  Add(kFirst, 128 * kMiB);
  gpu_.FailCall("Prefetch", 2, CUDA_ERROR_UNKNOWN);
  const EvictResult result = Evict(kBudget);
  EXPECT_EQ(result.failure, EvictFailure::kDriver);
  EXPECT_EQ(result.freed, 64 * kMiB);
  EXPECT_EQ(ledger_.GetUsage(0).resident, 64 * kMiB);
}

// The GPU then fetches the pages itself.
TEST_F(ManagedTest, AFailedPrefetchBackIsNoFailure) {
  Add(kFirst, 64 * kMiB);
  Evict(kBudget);
  gpu_.FailCall("Prefetch", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kDone);
  EXPECT_EQ(mover_.TakeCopiedIn(), 0u);
}

TEST_F(ManagedTest, RemovedMemoryIsCountedUntilTheDriverHasFreedIt) {
  Add(kFirst, 64 * kMiB);
  EXPECT_FALSE(ledger_.RemoveManaged(kFirst + 1));
  const auto removed = ledger_.RemoveManaged(kFirst);
  ASSERT_TRUE(removed);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 64 * kMiB);
  EXPECT_EQ(Evict(kBudget).freed, 0u);
  ledger_.AddManaged(*removed);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 0u);
  EXPECT_EQ(ledger_.ManagedBytes(0), 64 * kMiB);
}

TEST_F(ManagedTest, EndsWithTheContextThatOwnsIt) {
  Add(kFirst, 64 * kMiB);
  ledger_.FreeOwned(gpu_.context());
  EXPECT_EQ(ledger_.GetUsage(0).Need(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).spare, 64 * kMiB);
}

TEST(ManagedHeadroomTest, StaysIfTheHostHasNoRoom) {
  char name[] = "/tmp/reveza-managed-XXXXXX";
  const std::filesystem::path root = mkdtemp(name);
  std::filesystem::create_directories(root / "proc/self");
  std::ofstream(root / "proc/meminfo") << "MemAvailable:   300000 kB\n";
  testing::TestingDriver gpu(kBudget);
  const std::string root_text = root.string();
  HostArena arena(gpu.driver(), kGiB, root_text.c_str());
  Ledger ledger(gpu.driver(), arena);
  Mover mover(gpu.driver(), ledger);
  ledger.AddDevice(0, gpu.context(), kBudget, 0);
  ManagedRange range{.address = kFirst, .requested = 64 * kMiB, .owner = gpu.context()};
  range.resident = range.size();
  ASSERT_EQ(ledger.ReserveManaged(0, range.size()).outcome, Outcome::kDone);
  ledger.AddManaged(range);
  ledger.SetResidency(Residency::kOut);
  const auto ignore = [](void*, int, Bytes) {};
  EXPECT_EQ(mover.Evict(0, kMiB, ignore, nullptr).failure, EvictFailure::kHostMemory);
  EXPECT_TRUE(gpu.prefetches.empty());
  std::ofstream(root / "proc/meminfo") << "MemAvailable:   400000 kB\n";
  EXPECT_EQ(mover.Evict(0, kMiB, ignore, nullptr).freed, 64 * kMiB);
  std::filesystem::remove_all(root);
}

}  // namespace managed_test
}  // namespace reveza::swap
