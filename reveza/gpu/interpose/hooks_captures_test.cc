// What a program may call during a stream capture does not invalidate the capture, although the
// library makes calls of its own meanwhile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_captures_test {

using Handle = CUmemGenericAllocationHandle;

class HooksCapturesTest : public DifferentialTest {
 protected:
  void SetUp() override {
    DifferentialTest::SetUp();
    ASSERT_EQ(Through().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    DifferentialTest::TearDown();
  }

  void Begin(const DriverCalls& calls, CUstreamCaptureMode mode) {
    ASSERT_EQ(calls.cuStreamBeginCapture_v2(stream_, mode), CUDA_SUCCESS);
  }
  void ExpectValid(const DriverCalls& calls) {
    CUgraph graph = nullptr;
    EXPECT_EQ(calls.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    calls.cuGraphDestroy(graph);
  }
  // Memory of a handle, mapped and written.
  void Map(Bytes size) {
    const CUmemAllocationProp properties = Pass::Properties();
    const CUmemAccessDesc access = Pass::ReadWrite();
    size_ = size;
    ASSERT_EQ(Through().cuMemCreate(&handle_, size, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuMemAddressReserve(&address_, size, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuMemMap(address_, size, 0, handle_, 0), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuMemSetAccess(address_, size, &access, 1), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuMemsetD32_v2(address_, 7, size / 4), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuCtxSynchronize(), CUDA_SUCCESS);  // stream_ does not wait for it
  }
  CUresult Export() {
    int file = -1;
    const CUresult result = Through().cuMemExportToShareableHandle(
        &file, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result == CUDA_SUCCESS) close(file);
    return result;
  }
  unsigned LastWord() {
    unsigned word = 0;
    EXPECT_EQ(Through().cuMemcpyDtoH_v2(&word, address_ + size_ - 4, 4), CUDA_SUCCESS);
    return word;
  }
  void Unmap() {
    EXPECT_EQ(Through().cuMemUnmap(address_, size_), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuMemAddressFree(address_, size_), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuMemRelease(handle_), CUDA_SUCCESS);
  }

  CUstream stream_ = nullptr;
  Handle handle_ = 0;
  CUdeviceptr address_ = 0;
  Bytes size_ = 0;
};

TEST_F(HooksCapturesTest, ExportKeepsCapturesValid) {
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    Map(4 * kMiB);
    Begin(Through(), mode);
    EXPECT_EQ(Export(), CUDA_SUCCESS);
    EXPECT_EQ(usage().pinned, 4 * kMiB);
    ExpectValid(Through());
    EXPECT_EQ(LastWord(), 7u);
    Unmap();
  }
}

// Exported without a copy, so it needs no idle GPU, and the program may go on using the memory.
TEST_F(HooksCapturesTest, ExportOfOnePieceDoesNotWaitForTheGpu) {
  void* flag = nullptr;
  CUdeviceptr flag_address = 0;
  ASSERT_EQ(Through().cuMemHostAlloc(&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
  *static_cast<unsigned*>(flag) = 0;
  ASSERT_EQ(Through().cuMemHostGetDevicePointer_v2(&flag_address, flag, 0), CUDA_SUCCESS);
  Map(4 * kMiB);
  ASSERT_EQ(Through().cuStreamWaitValue32_v2(stream_, flag_address, 1, CU_STREAM_WAIT_VALUE_EQ),
            CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemsetD32Async(address_, 8, kMiB, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Export(), CUDA_SUCCESS);
  __atomic_store_n(static_cast<unsigned*>(flag), 1, __ATOMIC_RELEASE);
  ASSERT_EQ(Through().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(LastWord(), 8u);
  Unmap();
  EXPECT_EQ(Through().cuMemFreeHost(flag), CUDA_SUCCESS);
}

TEST_F(HooksCapturesTest, ExportThatMustCopyFailsDuringACapture) {
  Map(66 * kMiB);
  Begin(Through(), CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(Export(), CUDA_ERROR_NOT_SUPPORTED);
  ExpectValid(Through());
  EXPECT_EQ(Export(), CUDA_SUCCESS);
  EXPECT_EQ(LastWord(), 7u);
  Unmap();
}

// A capture unknown to the library, as if it began at the worst moment.
TEST_F(HooksCapturesTest, ExportThatCopiesKeepsACaptureOfAnotherContextValid) {
  Map(66 * kMiB);
  CUcontext other = nullptr;
  ASSERT_EQ(Direct().cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  CUstream capturing = nullptr;
  ASSERT_EQ(Direct().cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(Direct().cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  std::thread([&] {
    ASSERT_EQ(Direct().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(Export(), CUDA_SUCCESS);
  }).join();
  CUgraph graph = nullptr;
  EXPECT_EQ(Direct().cuStreamEndCapture(capturing, &graph), CUDA_SUCCESS);
  EXPECT_EQ(Direct().cuCtxDestroy_v2(other), CUDA_SUCCESS);
  ASSERT_EQ(Direct().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  Unmap();
}

TEST_F(HooksCapturesTest, FreeAsyncKeepsCapturesValid) {
  CUdeviceptr address = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&address, 4 * kMiB), CUDA_SUCCESS);
  CUstream other = nullptr;
  ASSERT_EQ(Through().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  Begin(Through(), CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(Through().cuMemFreeAsync(address, other), CUDA_SUCCESS);
  ExpectValid(Through());
  ASSERT_EQ(Through().cuMemAlloc_v2(&address, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 4 * kMiB) << "the deferred free was made";
  EXPECT_EQ(Through().cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuStreamDestroy_v2(other), CUDA_SUCCESS);
}

TEST_F(HooksCapturesTest, EndByAnotherThreadKeepsTheCapture) {
  Begin(Through(), CU_STREAM_CAPTURE_MODE_GLOBAL);
  std::thread([&] {
    CUgraph graph = nullptr;
    ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuStreamEndCapture(stream_, &graph),
              CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  EXPECT_EQ(daemon().CloseGate(), wire::DrainFailure::kCapture);
  ExpectValid(Through());
}

// Calls that a capture forbids fail and invalidate it, as they do without the library.
TEST_F(HooksCapturesTest, StrictCapturesForbidWhatTheDriverForbids) {
  Compare([](Pass& pass) {
    CUstream stream = nullptr;
    ASSERT_EQ(pass.cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUdeviceptr pooled = 0;  // so that a pool is counted
    ASSERT_EQ(pass.cuda.cuMemAllocAsync(&pooled, 2 * kMiB, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(pass.cuda.cuMemFreeAsync(pooled, nullptr), CUDA_SUCCESS);
    for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                            CU_STREAM_CAPTURE_MODE_RELAXED}) {
      const auto during = [&](const char* what, auto call) {
        for (const bool own_thread : {true, false}) {
          CUgraph graph = nullptr;
          CUcontext context = nullptr;
          ASSERT_EQ(pass.cuda.cuCtxGetCurrent(&context), CUDA_SUCCESS);
          ASSERT_EQ(pass.cuda.cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
          CUresult result = CUDA_ERROR_UNKNOWN;
          if (own_thread) {
            result = call();
          } else {
            std::thread([&] {
              EXPECT_EQ(pass.cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
              result = call();
            }).join();
          }
          pass.Note(what, result);
          if (pass.Note("end", pass.cuda.cuStreamEndCapture(stream, &graph)) == CUDA_SUCCESS) {
            pass.cuda.cuGraphDestroy(graph);
          }
        }
      };
      const CUdeviceptr large = pass.Allocate(4 * kMiB);
      const CUdeviceptr other = pass.Allocate(4 * kMiB);
      const CUdeviceptr small = pass.Allocate(1000);
      CUdeviceptr made = 0;
      CUmemGenericAllocationHandle handle = 0;
      const CUmemAllocationProp properties = Pass::Properties();
      during("free in the middle", [&] { return pass.cuda.cuMemFree_v2(large + kMiB); });
      during("free of nothing", [&] { return pass.cuda.cuMemFree_v2(0); });
      during("info", [&] { return pass.cuda.cuMemGetInfo_v2(nullptr, nullptr); });
      during("range", [&] { return pass.cuda.cuMemGetAddressRange_v2(&made, nullptr, large); });
      during("allocate", [&] {
        const CUresult result = pass.cuda.cuMemAlloc_v2(&made, 4 * kMiB);
        return result == CUDA_SUCCESS ? pass.cuda.cuMemFree_v2(made) : result;
      });
      during("allocate 0", [&] { return pass.cuda.cuMemAlloc_v2(&made, 0); });
      during("handle", [&] {
        const CUresult result = pass.cuda.cuMemCreate(&handle, 2 * kMiB, &properties, 0);
        return result == CUDA_SUCCESS ? pass.cuda.cuMemRelease(handle) : result;
      });
      during("free of little", [&] { return pass.cuda.cuMemFree_v2(small); });
      during("free", [&] { return pass.cuda.cuMemFree_v2(large); });
      // What a capture forbade is still there.
      pass.cuda.cuMemFree_v2(large);
      pass.cuda.cuMemFree_v2(small);
      EXPECT_EQ(pass.cuda.cuMemFree_v2(other), CUDA_SUCCESS);
    }
    EXPECT_EQ(pass.cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  });
}

}  // namespace hooks_captures_test
}  // namespace reveza::interpose::testing
