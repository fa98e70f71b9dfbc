// Effects of each hand-written hook, on fakecuda: each test fails if the call is passed to the
// driver.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "reveza/gpu/interpose/testing/hook_fixture.h"

namespace reveza::interpose {
namespace hook_effects_test {

using testing::HookEffects;
using testing::kBudget;
using testing::kLarge;

// ---- cuMemAlloc family ----

TEST_F(HookEffects, AllocationsAreSwappableAndFreed) {
  const CUdeviceptr large = Allocate(kLarge);
  const CUdeviceptr small = Allocate(1000);
  CUdeviceptr pitched = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(::cuMemAllocPitch_v2(&pitched, &pitch, 3000, 1000, 4), CUDA_SUCCESS);
  EXPECT_GE(Usage().resident, kLarge + 1000 + pitch * 1000);
  Write(large, kLarge);
  Write(small, 1000);
  Write(pitched, pitch * 1000);
  SwapOut();
  SwapIn();
  ExpectWritten(large, kLarge);
  ExpectWritten(small, 1000);
  ExpectWritten(pitched, pitch * 1000);
  for (const CUdeviceptr address : {large, small, pitched}) {
    EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  }
  EXPECT_EQ(Usage().resident, 0u);
}

TEST_F(HookEffects, FreeMemoryDependsOnThisProgramAlone) {
  std::size_t free_before = 0;
  std::size_t free_after = 0;
  std::size_t total = 0;
  const CUdeviceptr address = Allocate(kLarge);
  ASSERT_EQ(::cuMemGetInfo_v2(&free_before, &total), CUDA_SUCCESS);
  EXPECT_EQ(total, kBudget);
  EXPECT_LE(free_before, kBudget - kLarge);
  SwapOut();
  ASSERT_EQ(::cuMemGetInfo_v2(&free_after, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_after, free_before);
  ASSERT_EQ(::cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
  EXPECT_EQ(total, kBudget);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(HookEffects, AllocationsAreKnownWhileSwappedOut) {
  const CUdeviceptr address = Allocate(kLarge);
  SwapOut();
  CUdeviceptr base = 0;
  std::size_t size = 0;
  EXPECT_EQ(::cuMemGetAddressRange_v2(&base, &size, address + 5000), CUDA_SUCCESS);
  EXPECT_EQ(base, address);
  EXPECT_EQ(size, kLarge);
  size = 0;
  EXPECT_EQ(::cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + 5000),
            CUDA_SUCCESS);
  EXPECT_EQ(size, kLarge);
  CUcontext owner = nullptr;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
                                      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void* answers[] = {&owner, &base};
  base = 0;
  EXPECT_EQ(::cuPointerGetAttributes(2, attributes, answers, address + 5000), CUDA_SUCCESS);
  EXPECT_EQ(owner, context_);
  EXPECT_EQ(base, address);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Usage().swapped, 0u);
}

TEST_F(HookEffects, SyncMemopsDisablesSwapping) {
  const CUdeviceptr address = Allocate(kLarge);
  const unsigned on = 1;
  EXPECT_FALSE(Client::Get()->swapping_disabled());
  ::cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
  EXPECT_TRUE(Client::Get()->swapping_disabled());
}

// ---- mappings made by the program ----

TEST_F(HookEffects, HandlesAreVirtualAndSwappable) {
  const Mapped mapped = MapOwn(kLarge);
  EXPECT_TRUE(swap::Ledger::IsOurHandle(mapped.handle));
  EXPECT_EQ(Usage().resident, kLarge);
  Write(mapped.address, kLarge);
  SwapOut();
  CUmemAllocationProp properties{};
  EXPECT_EQ(::cuMemGetAllocationPropertiesFromHandle(&properties, mapped.handle), CUDA_SUCCESS);
  EXPECT_EQ(properties.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUmemGenericAllocationHandle retained = 0;
  EXPECT_EQ(::cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(mapped.address)),
            CUDA_SUCCESS);
  EXPECT_EQ(retained, mapped.handle);
  unsigned long long flags = 0;
  const CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  EXPECT_EQ(::cuMemGetAccess(&flags, &location, mapped.address), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<unsigned>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  EXPECT_EQ(::cuMemAddressFree(mapped.address, kLarge), CUDA_ERROR_INVALID_VALUE)
      << "the range contains a mapping";
  SwapIn();
  ExpectWritten(mapped.address, kLarge);
  SwapOut();
  EXPECT_EQ(::cuMemUnmap(mapped.address, kLarge), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemRelease(mapped.handle), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemRelease(retained), CUDA_SUCCESS);
  EXPECT_EQ(Usage().swapped, 0u);
  EXPECT_EQ(::cuMemAddressFree(mapped.address, kLarge), CUDA_SUCCESS);
}

TEST_F(HookEffects, ExportedMemoryIsPinned) {
  const Mapped mapped = MapOwn(8 * kMiB);
  Write(mapped.address, 8 * kMiB);
  int shared = -1;
  ASSERT_EQ(::cuMemExportToShareableHandle(&shared, mapped.handle,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  EXPECT_GE(shared, 0);
  close(shared);
  EXPECT_EQ(Usage().pinned, 8 * kMiB);
  SwapOut();
  ExpectWritten(mapped.address, 8 * kMiB);
  EXPECT_EQ(::cuMemUnmap(mapped.address, 8 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemRelease(mapped.handle), CUDA_SUCCESS);
}

// ---- contexts ----

// All other threads must block all signals, which are for the program's own threads.
TEST_F(HookEffects, OurThreadsBlockAllSignals) {
  int others = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(getpid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigBlk:")) continue;
      const auto blocked = std::stoull(line.substr(7), nullptr, 16);
      for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) {
        EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << signal;
      }
      ++others;
    }
  }
  EXPECT_GE(others, 1);
}

TEST_F(HookEffects, DestroyFreesTheMemoryOfTheContext) {
  CUcontext second = nullptr;
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  Allocate(kLarge);
  EXPECT_EQ(Usage().resident, kLarge);
  EXPECT_EQ(::cuCtxDestroy_v2(second), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
}

TEST_F(HookEffects, ResetFreesTheMemoryOfTheContext) {
  Allocate(kLarge);
  EXPECT_EQ(::cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
}

TEST_F(HookEffects, LastReleaseFreesTheMemoryOfTheContext) {
  Allocate(kLarge);
  CUcontext again = nullptr;
  ASSERT_EQ(::cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(::cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, kLarge) << "not the last reference";
  EXPECT_EQ(::cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
}

TEST_F(HookEffects, PeerAccessFollowsEnableAndDisable) {
  const CUdeviceptr address = Allocate(kLarge);
  CUcontext other = nullptr;
  ASSERT_EQ(::cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(other), CUDA_SUCCESS);
  const CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  unsigned long long flags = 0;
  ASSERT_EQ(::cuCtxEnablePeerAccess(context_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuMemGetAccess(&flags, &location, address), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<unsigned>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  ASSERT_EQ(::cuCtxDisablePeerAccess(context_), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuMemGetAccess(&flags, &location, address), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<unsigned>(CU_MEM_ACCESS_FLAGS_PROT_NONE));
  EXPECT_EQ(::cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

// The memory is mapped, and the driver copies only what is mapped for the current device.
TEST_F(HookEffects, CopiesNeedNoPeerAccess) {
  const CUdeviceptr here = Allocate(kLarge);
  ASSERT_EQ(::cuMemsetD8_v2(here, 7, kLarge), CUDA_SUCCESS);
  CUcontext other = nullptr;
  CUdeviceptr there = 0;
  ASSERT_EQ(::cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(other), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemAlloc_v2(&there, kLarge), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemcpyDtoD_v2(there, here, kLarge), CUDA_SUCCESS);
  unsigned word = 0;
  EXPECT_EQ(::cuMemcpyDtoH_v2(&word, there + kLarge - 4, 4), CUDA_SUCCESS);
  EXPECT_EQ(word, 0x07070707u);
  EXPECT_EQ(::cuMemcpyDtoH_v2(&word, 16, 4), CUDA_ERROR_INVALID_VALUE) << "still refused";
  const CUdeviceptr later = Allocate(kLarge);
  EXPECT_EQ(::cuMemcpyHtoDAsync_v2(later, &word, 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(::cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemcpyDtoH_v2(&word, here, 4), CUDA_SUCCESS);
  EXPECT_EQ(word, 0x07070707u);
}

// ---- captures ----

TEST_F(HookEffects, CapturesAreRecordedUntilTheyEnd) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  Captures& captures = Client::Get()->captures();
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(::cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_TRUE(captures.Any());
  ASSERT_EQ(::cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_FALSE(captures.Any());
  ASSERT_EQ(::cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0,
                                          CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_TRUE(captures.Any());
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  EXPECT_FALSE(captures.Any()) << "the stream must not be queried any more";
}

TEST_F(HookEffects, RecapturesAreRecordedUntilTheyEnd) {
  internal::driver_calls.cuStreamBeginRecaptureToGraph =
      [](CUstream stream, CUstreamCaptureMode mode, CUgraph, CUgraphRecaptureCallback, void*) {
        return Real().cuStreamBeginCapture_v2(stream, mode);
      };
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  Captures& captures = Client::Get()->captures();
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(::cuStreamBeginRecaptureToGraph(stream, CU_STREAM_CAPTURE_MODE_RELAXED, nullptr,
                                            nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_TRUE(captures.Any());
  EXPECT_FALSE(Client::Get()->swapping_disabled());
  ASSERT_EQ(::cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_FALSE(captures.Any());
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(HookEffects, CapturesForGraphicsKeepMemoryAndCountUntilTheyEnd) {
  internal::driver_calls.cuStreamBeginCaptureToCig = [](CUstream, CUstreamCigCaptureParams*) {
    return CUDA_SUCCESS;
  };
  internal::driver_calls.cuStreamEndCaptureToCig = [](CUstream) { return CUDA_SUCCESS; };
  CUstream stream = nullptr;
  Captures& captures = Client::Get()->captures();
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_FALSE(Client::Get()->swapping_disabled());
  ASSERT_EQ(::cuStreamBeginCaptureToCig(stream, nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(Client::Get()->swapping_disabled());
  EXPECT_TRUE(captures.InProgress(Real().cuStreamIsCapturing)) << "the driver does not report it";
  ASSERT_EQ(::cuStreamEndCaptureToCig(stream), CUDA_SUCCESS);
  EXPECT_FALSE(captures.Any());
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(HookEffects, FreeDuringACaptureIsDeferred) {
  const CUdeviceptr address = Allocate(kLarge);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(::cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, kLarge);
  EXPECT_EQ(::cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  const CUdeviceptr next = Allocate(2 * kMiB);
  EXPECT_EQ(Usage().resident, 2 * kMiB);
  EXPECT_EQ(::cuMemFree_v2(next), CUDA_SUCCESS);
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(HookEffects, FreeWaitsForSubmittedWork) {
  const CUdeviceptr address = Allocate(kLarge);
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  ASSERT_EQ(::cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
  ASSERT_EQ(::cuModuleGetFunction(&spin, module, "reveza_spin"), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  unsigned long long nanoseconds = 50'000'000;
  void* arguments[] = {&nanoseconds};
  ASSERT_EQ(::cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemsetD8Async(address, 1, kLarge, stream), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuStreamSynchronize(stream), CUDA_SUCCESS) << "wrote into freed memory";
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

}  // namespace hook_effects_test
}  // namespace reveza::interpose
