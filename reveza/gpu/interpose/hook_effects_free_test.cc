// Memory is given back only when no work that was submitted before can still use it, on whichever
// device and in whichever context, and whatever is current where it is freed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "reveza/gpu/interpose/testing/hook_fixture.h"

namespace reveza::interpose {
namespace hook_effects_free_test {

using testing::HookEffects;
using testing::kLarge;
using testing::OnCard;
using testing::ReadWrite;

class FreeEffects : public HookEffects {
 protected:
  void SetUp() override {
    HookEffects::SetUp();
    ASSERT_EQ(::cuDevicePrimaryCtxRetain(&other_, 1), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(::cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
    HookEffects::TearDown();
  }

  // Makes `context` current and returns a new stream in it, with a kernel that runs for a while.
  static CUstream Busy(CUcontext context) {
    EXPECT_EQ(Real().cuCtxSetCurrent(context), CUDA_SUCCESS);
    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    CUstream stream = nullptr;
    EXPECT_EQ(::cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
    EXPECT_EQ(::cuModuleGetFunction(&spin, module, "reveza_spin"), CUDA_SUCCESS);
    EXPECT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    unsigned long long nanoseconds = 100'000'000;
    void* arguments[] = {&nanoseconds};
    EXPECT_EQ(::cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr),
              CUDA_SUCCESS);
    return stream;
  }

  // Frees memory of `owner` while `user` still has to fill it and `current` is current.
  static void ExpectFreeWaits(CUcontext owner, CUcontext user, CUcontext current, Bytes bytes) {
    ASSERT_EQ(Real().cuCtxSetCurrent(owner), CUDA_SUCCESS);
    const CUdeviceptr address = Allocate(bytes);
    const CUstream stream = Busy(user);
    ASSERT_EQ(::cuMemsetD8Async(address, 7, bytes, stream), CUDA_SUCCESS);
    ASSERT_EQ(Real().cuCtxSetCurrent(current), CUDA_SUCCESS);
    EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
    CUcontext still = nullptr;
    EXPECT_EQ(Real().cuCtxGetCurrent(&still), CUDA_SUCCESS);
    EXPECT_EQ(still, current);
    ASSERT_EQ(Real().cuCtxSetCurrent(user), CUDA_SUCCESS);
    EXPECT_EQ(Real().cuStreamQuery(stream), CUDA_SUCCESS) << "the work was not waited for";
    EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  }

  CUcontext other_ = nullptr;  // of the second device
};

TEST_F(FreeEffects, WaitsForTheDeviceOfTheMemory) {
  ExpectFreeWaits(other_, other_, context_, kLarge);
  ExpectFreeWaits(other_, other_, context_, 1000);
}

TEST_F(FreeEffects, WaitsForAnotherContextOfTheDevice) {
  CUcontext second = nullptr;
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  ExpectFreeWaits(context_, context_, second, kLarge);
  ExpectFreeWaits(context_, second, context_, 1000);
  ExpectFreeWaits(second, second, other_, kLarge);
  EXPECT_EQ(::cuCtxDestroy_v2(second), CUDA_SUCCESS);
}

TEST_F(FreeEffects, WaitsForPeersWithAccess) {
  ASSERT_EQ(Real().cuCtxSetCurrent(other_), CUDA_SUCCESS);
  ASSERT_EQ(::cuCtxEnablePeerAccess(context_, 0), CUDA_SUCCESS);
  ExpectFreeWaits(context_, other_, context_, kLarge);
}

// The driver would not wait for the peer: the memory is freed later.
TEST_F(FreeEffects, DoesNotWaitForAPeerThatWaitsForTheHost) {
  void* flag = nullptr;
  CUdeviceptr flag_address = 0;
  CUstream stream = nullptr;
  ASSERT_EQ(Real().cuMemHostAlloc(&flag, 4096, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  *static_cast<unsigned*>(flag) = 0;
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  const CUdeviceptr address = Allocate(kLarge);
  ASSERT_EQ(Real().cuCtxSetCurrent(other_), CUDA_SUCCESS);
  ASSERT_EQ(::cuCtxEnablePeerAccess(context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuMemHostGetDevicePointer_v2(&flag_address, flag, 0), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(::cuStreamWaitValue32_v2(stream, flag_address, 1, CU_STREAM_WAIT_VALUE_EQ),
            CUDA_SUCCESS);
  ASSERT_EQ(::cuMemsetD8Async(address, 7, kLarge, stream), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, kLarge) << "the peer still writes";
  __atomic_store_n(static_cast<unsigned*>(flag), 1, __ATOMIC_RELEASE);
  ASSERT_EQ(Real().cuCtxSetCurrent(other_), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(Allocate(2 * kMiB)), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
  EXPECT_EQ(Real().cuMemFreeHost(flag), CUDA_SUCCESS);
}

TEST_F(FreeEffects, AsyncFreeOfAnAllocationWaitsForItsDevice) {
  ASSERT_EQ(Real().cuCtxSetCurrent(other_), CUDA_SUCCESS);
  const CUdeviceptr address = Allocate(kLarge);
  const CUstream stream = Busy(other_);
  ASSERT_EQ(::cuMemsetD8Async(address, 7, kLarge, stream), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(other_), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuStreamQuery(stream), CUDA_SUCCESS);
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

// The driver waits for the work of a context that it destroys, before its memory goes.
TEST_F(FreeEffects, EndOfAContextWaitsForItsWork) {
  void* host = nullptr;
  ASSERT_EQ(Real().cuMemHostAlloc(&host, kLarge, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  CUcontext second = nullptr;
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 1), CUDA_SUCCESS);
  const CUdeviceptr address = Allocate(kLarge);
  Write(address, kLarge);
  const CUstream stream = Busy(second);
  ASSERT_EQ(::cuMemcpyDtoHAsync_v2(host, address, kLarge, stream), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(::cuCtxDestroy_v2(second), CUDA_SUCCESS);
  const auto* words = static_cast<const unsigned*>(host);
  EXPECT_TRUE(std::ranges::equal(Pattern(kLarge), std::span(words, kLarge / sizeof(unsigned))));
  EXPECT_EQ(Real().cuMemFreeHost(host), CUDA_SUCCESS);
}

// What was freed during a capture goes with its context, and is not freed once more when the
// address belongs to another allocation.
TEST_F(FreeEffects, EndOfAContextForgetsItsDeferredFrees) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUcontext second = nullptr;
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr address = Allocate(kLarge);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_EQ(::cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  ASSERT_EQ(::cuCtxDestroy_v2(second), CUDA_SUCCESS);
  const CUdeviceptr again = Allocate(kLarge);
  ASSERT_EQ(again, address) << "the test needs the same address";
  ASSERT_EQ(::cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  const CUdeviceptr next = Allocate(2 * kMiB);
  EXPECT_EQ(Usage().resident, kLarge + 2 * kMiB);
  EXPECT_EQ(::cuMemFree_v2(next), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(again), CUDA_SUCCESS);
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

// Pinning copies the contents, so everything that writes them must have finished.
TEST_F(FreeEffects, ExportWaitsForTheDeviceOfTheMemory) {
  constexpr Bytes kBytes = 66 * kMiB;  // two pieces
  const CUmemAllocationProp properties = OnCard(1);
  const CUmemAccessDesc access = ReadWrite(1);
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  ASSERT_EQ(::cuMemCreate(&handle, kBytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuMemAddressReserve(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemMap(address, kBytes, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemSetAccess(address, kBytes, &access, 1), CUDA_SUCCESS);
  const CUstream stream = Busy(other_);
  ASSERT_EQ(::cuMemsetD8Async(address, 7, kBytes, stream), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  int shared = -1;
  ASSERT_EQ(
      ::cuMemExportToShareableHandle(&shared, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      CUDA_SUCCESS);
  close(shared);
  ASSERT_EQ(Real().cuCtxSetCurrent(other_), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuStreamQuery(stream), CUDA_SUCCESS);
  unsigned char last = 0;
  EXPECT_EQ(::cuMemcpyDtoH_v2(&last, address + kBytes - 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(last, 7);
  EXPECT_EQ(::cuMemUnmap(address, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

}  // namespace hook_effects_free_test
}  // namespace reveza::interpose
