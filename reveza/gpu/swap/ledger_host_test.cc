// Memory beyond the GPU, backed by that of the host.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "reveza/gpu/swap/physical.h"
#include "reveza/gpu/swap/testing_ledger.h"

namespace reveza::swap {
namespace ledger_host_test {

using testing::kLedgerBudget;
using testing::LedgerTest;

class LedgerHostTest : public LedgerTest {
 protected:
  LedgerHostTest() { ledger_.BackByHost(0, 0); }
  Reply Allocate(Bytes size, CUdeviceptr* address) {
    return ledger_.Allocate(0, gpu_.context(), size, address);
  }
};

TEST_F(LedgerHostTest, FirstPiecesAreOnTheGpuAndOnlyTheyNeedCredit) {
  CUdeviceptr address = 0;
  const Reply reply = Allocate(kLedgerBudget + 100 * kMiB, &address);
  EXPECT_EQ(reply.outcome, Outcome::kNeedCredit);
  EXPECT_EQ(reply.needed, kLedgerBudget);
  EXPECT_EQ(gpu_.on_host(), 0u);
  ledger_.AddCredit(0, kLedgerBudget);
  address = MustAllocate(kLedgerBudget + 100 * kMiB);
  EXPECT_EQ(gpu_.in_use(), kLedgerBudget);
  EXPECT_EQ(gpu_.on_host(), 100 * kMiB);
  const MemoryUsage usage = ledger_.GetUsage(0);
  EXPECT_EQ(usage.resident, kLedgerBudget);
  EXPECT_EQ(usage.on_host, 100 * kMiB);
  EXPECT_EQ(usage.swapped, 0u);
  memset(reinterpret_cast<void*>(address), 7, kLedgerBudget + 100 * kMiB);
  EXPECT_EQ(ledger_.Free(address).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.in_use() + gpu_.on_host(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).spare, kLedgerBudget);
}

TEST_F(LedgerHostTest, OnlyWhatFitsInWholePiecesIsOnTheGpu) {
  ledger_.AddCredit(0, kLedgerBudget);
  MustAllocate(kLedgerBudget - 100 * kMiB);
  MustAllocate(128 * kMiB);
  EXPECT_EQ(gpu_.in_use(), kLedgerBudget - 100 * kMiB + kPieceSize);
  EXPECT_EQ(gpu_.on_host(), kPieceSize);
}

TEST_F(LedgerHostTest, SmallAllocationsGoThereToo) {
  ledger_.AddCredit(0, kLedgerBudget);
  MustAllocate(kLedgerBudget);
  const CUdeviceptr small = MustAllocate(1000);
  memset(reinterpret_cast<void*>(small), 7, 1000);
  EXPECT_EQ(gpu_.on_host(), kGranularity);
}

TEST_F(LedgerHostTest, ExhaustedHostIsOutOfMemoryAndTakesNothing) {
  ledger_.AddCredit(0, kLedgerBudget);
  gpu_.host_capacity = 100 * kMiB;
  CUdeviceptr address = 0;
  const Reply reply = Allocate(kLedgerBudget + 128 * kMiB, &address);
  EXPECT_EQ(reply.outcome, Outcome::kFailed);
  EXPECT_EQ(reply.error, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(gpu_.in_use() + gpu_.on_host(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).spare, kLedgerBudget);
  EXPECT_EQ(ledger_.GetUsage(0).on_host, 0u);
  EXPECT_EQ(Allocate(~Bytes{0} - 1, &address).error, CUDA_ERROR_OUT_OF_MEMORY);
}

TEST(LedgerHostHeadroomTest, HeadroomOfTheHostIsKept) {
  char name[] = "/tmp/reveza-ledger-XXXXXX";
  const std::filesystem::path root = mkdtemp(name);
  std::filesystem::create_directories(root / "proc/self");
  std::ofstream(root / "proc/meminfo") << "MemAvailable:   300000 kB\n";
  testing::TestingDriver gpu(kLedgerBudget);
  const std::string root_text = root.string();
  HostArena arena(gpu.driver(), kGiB, root_text.c_str());
  Ledger ledger(gpu.driver(), arena);
  ledger.AddDevice(0, gpu.context(), kLedgerBudget, 0);
  ledger.BackByHost(0, 0);
  CUdeviceptr address = 0;
  EXPECT_EQ(ledger.Allocate(0, gpu.context(), kLedgerBudget + 64 * kMiB, &address).error,
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(gpu.on_host(), 0u);
  std::ofstream(root / "proc/meminfo") << "MemAvailable:   400000 kB\n";
  EXPECT_EQ(ledger.Allocate(0, gpu.context(), kLedgerBudget + 64 * kMiB, &address).outcome,
            Outcome::kDone);
  std::filesystem::remove_all(root);
}

TEST_F(LedgerHostTest, RefusedByTheDaemonTheNextAllocationIsWhollyThere) {
  CUdeviceptr address = 0;
  ASSERT_EQ(Allocate(64 * kMiB, &address).outcome, Outcome::kNeedCredit);
  ASSERT_TRUE(ledger_.PlaceNextOnHost(0));
  MustAllocate(64 * kMiB);
  EXPECT_EQ(gpu_.on_host(), 64 * kMiB);
  EXPECT_EQ(Allocate(64 * kMiB, &address).outcome, Outcome::kNeedCredit) << "only the next";
  EXPECT_FALSE(ledger_.PlaceNextOnHost(1));
}

TEST_F(LedgerHostTest, WithoutADaemonAFullGpuLeadsThere) {
  ledger_.SetResidency(Residency::kUnmanaged);
  gpu_.capacity = 128 * kMiB;
  CUdeviceptr address = 0;
  EXPECT_EQ(Allocate(256 * kMiB, &address).outcome, Outcome::kRetry);
  EXPECT_EQ(Allocate(256 * kMiB, &address).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.on_host(), 256 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 0u);
}

TEST_F(LedgerHostTest, BehindAClosedGateItIsUsableAtOnce) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, kLedgerBudget);
  const CUdeviceptr address = MustAllocate(kLedgerBudget + 64 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(gpu_.on_host(), 64 * kMiB);
  memset(reinterpret_cast<void*>(address + kLedgerBudget), 7, 64 * kMiB);
  EXPECT_EQ(ledger_.GetUsage(0).swapped, kLedgerBudget);
  CUdeviceptr more = 0;
  EXPECT_EQ(Allocate(64 * kMiB, &more).outcome, Outcome::kDone) << "needs no permission";
}

TEST_F(LedgerHostTest, HandlesTakeTheirMemoryWhenTheyAreCreated) {
  ledger_.AddCredit(0, kLedgerBudget);
  const CUmemGenericAllocationHandle handle = MustCreate(kLedgerBudget + 128 * kMiB);
  EXPECT_EQ(gpu_.on_host(), 128 * kMiB);
  gpu_.host_capacity = gpu_.on_host();
  CUmemGenericAllocationHandle none = 0;
  EXPECT_EQ(ledger_.CreateHandle(64 * kMiB, Properties(), &none).error, CUDA_ERROR_OUT_OF_MEMORY);
  const Bytes size = kLedgerBudget + 128 * kMiB;
  const CUdeviceptr address = Reserve(size);
  ASSERT_EQ(ledger_.MapHandle(address, size, 0, handle, 0).outcome, Outcome::kDone);
  ASSERT_EQ(Allow(address, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE).outcome, Outcome::kDone);
  memset(reinterpret_cast<void*>(address), 7, size);
  // Mapped elsewhere, it has its contents.
  ASSERT_EQ(ledger_.Unmap(address, size).outcome, Outcome::kDone);
  const CUdeviceptr again = Reserve(size);
  ASSERT_EQ(ledger_.MapHandle(again, size, 0, handle, 0).outcome, Outcome::kDone);
  ASSERT_EQ(Allow(again, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE).outcome, Outcome::kDone);
  EXPECT_EQ(reinterpret_cast<char*>(again)[size - 1], 7);
  ASSERT_EQ(ledger_.Unmap(again, size).outcome, Outcome::kDone);
  ASSERT_EQ(ledger_.ReleaseHandle(handle).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.in_use() + gpu_.on_host(), 0u);
}

// An export needs one handle on the GPU.
TEST_F(LedgerHostTest, PinningBringsItToTheGpuIfItFits) {
  ASSERT_TRUE(ledger_.PlaceNextOnHost(0));
  const CUdeviceptr address = MustAllocate(64 * kMiB);
  memset(reinterpret_cast<void*>(address), 7, 64 * kMiB);
  CUmemGenericAllocationHandle real = 0;
  EXPECT_EQ(ledger_.PinAddress(address, &real).outcome, Outcome::kNeedCredit);
  ledger_.AddCredit(0, 64 * kMiB);
  ASSERT_EQ(ledger_.PinAddress(address, &real).outcome, Outcome::kDone);
  EXPECT_EQ(gpu_.on_host(), 0u);
  EXPECT_EQ(gpu_.in_use(), 64 * kMiB);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 64 * kMiB);
  EXPECT_EQ(ledger_.GetUsage(0).spare, 0u);
  EXPECT_EQ(reinterpret_cast<char*>(address)[kGranularity], 7);
  ledger_.AddCredit(0, kLedgerBudget - 64 * kMiB);
  const CUdeviceptr large = MustAllocate(kLedgerBudget);
  EXPECT_EQ(ledger_.PinAddress(large, &real).error, CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(LedgerHostTest, TryFindsOutWhetherTheDriverCan) {
  EXPECT_EQ(TryHostMemory(gpu_.driver(), 0, 0), CUDA_SUCCESS);
  for (const char* call : {"AddressReserve", "Create", "Map"}) {
    gpu_.FailCall(call, 1, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(TryHostMemory(gpu_.driver(), 0, 0), CUDA_ERROR_INVALID_VALUE) << call;
  }
  gpu_.FailCall("SetAccess", 2, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(TryHostMemory(gpu_.driver(), 0, 0), CUDA_ERROR_INVALID_VALUE) << "access of the host";
  EXPECT_EQ(gpu_.on_host(), 0u);
}

}  // namespace ledger_host_test
}  // namespace reveza::swap
