// Hooks of stream-ordered allocation: same results with and without the library.
#include <gtest/gtest.h>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_pools_test {

using HooksPoolsTest = DifferentialTest;

CUmemoryPool MakePool(Pass& pass) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  pass.Note("create", pass.cuda.cuMemPoolCreate(&pool, &properties));
  return pool;
}

TEST_F(HooksPoolsTest, PoolsFollowTheDriversRules) {
  Compare([](Pass& pass) {
    CUdeviceptr memory = 0;
    pass.Note("size 0", pass.cuda.cuMemAllocAsync(&memory, 0, nullptr));
    pass.Note("its address", memory);
    pass.Note("free of nothing", pass.cuda.cuMemFreeAsync(0, nullptr));
    pass.Note("nowhere to write", pass.cuda.cuMemAllocAsync(nullptr, 4096, nullptr));
    pass.Note("no pool", pass.cuda.cuMemAllocFromPoolAsync(&memory, 4096, nullptr, nullptr));
    const auto wrong = reinterpret_cast<CUstream>(0x12340);
    pass.Note("no stream", pass.cuda.cuMemAllocAsync(&memory, 4096, wrong));
    pass.Note("more than any card", pass.cuda.cuMemAllocAsync(&memory, Bytes{1} << 50, nullptr));
    pass.Note("more than a message may say",
              pass.cuda.cuMemAllocAsync(&memory, Bytes{1} << 60, nullptr));
    pass.Note("good", pass.cuda.cuMemAllocAsync(&memory, 4 * kMiB, nullptr));
    pass.Note("fill", pass.cuda.cuMemsetD32Async(memory, 3, kMiB, nullptr));
    pass.SwapOut();
    pass.NoteWord("contents", memory + 4 * kMiB - 4);
    pass.Note("free in the middle", pass.cuda.cuMemFreeAsync(memory + 512, nullptr));
    pass.Note("free with no stream", pass.cuda.cuMemFreeAsync(memory, wrong));
    pass.Note("free", pass.cuda.cuMemFreeAsync(memory, nullptr));
    pass.Note("again", pass.cuda.cuMemFreeAsync(memory, nullptr));
    pass.Note("again, at once", pass.cuda.cuMemFree_v2(memory));
    pass.Note("nothing", pass.cuda.cuMemFreeAsync(0x1234'5000, nullptr));
    pass.Note("synchronise", pass.cuda.cuCtxSynchronize());
    CUmemoryPool pool = nullptr;
    pass.Note("the pool", pass.cuda.cuDeviceGetMemPool(&pool, 0));
    pass.Note("trim", pass.cuda.cuMemPoolTrimTo(pool, 0));
    pass.Note("trim none", pass.cuda.cuMemPoolTrimTo(nullptr, 0));
  });
}

TEST_F(HooksPoolsTest, AllocationsAndFreesWhileSwappedOut) {
  Compare([](Pass& pass) {
    const CUdeviceptr other = pass.Allocate(4 * kMiB);
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    pass.Note("first", pass.cuda.cuMemAllocAsync(&first, 4 * kMiB, nullptr));
    pass.SwapOut();
    pass.Note("second", pass.cuda.cuMemAllocAsync(&second, 3000, nullptr));
    pass.Note("free", pass.cuda.cuMemFreeAsync(first, nullptr));
    pass.Note("first again", pass.cuda.cuMemAllocAsync(&first, 4 * kMiB, nullptr));
    pass.Note("fill", pass.cuda.cuMemsetD32Async(first, 5, kMiB, nullptr));
    pass.Note("fill", pass.cuda.cuMemsetD32Async(second, 6, 750, nullptr));
    pass.SwapOut();
    pass.NoteWord("first", first + kMiB);
    pass.NoteWord("second", second + 2996);
    pass.SwapOut();
    pass.Note("free at once", pass.cuda.cuMemFree_v2(first));
    pass.Note("free", pass.cuda.cuMemFreeAsync(second, nullptr));
    pass.Note("free of an allocation", pass.cuda.cuMemFreeAsync(other, nullptr));
    pass.Note("synchronise", pass.cuda.cuCtxSynchronize());
  });
}

TEST_F(HooksPoolsTest, PointersSayTheirPool) {
  Compare([](Pass& pass) {
    const CUmemoryPool pool = MakePool(pass);
    CUdeviceptr memory = 0;
    pass.Note("good", pass.cuda.cuMemAllocFromPoolAsync(&memory, 3000, pool, nullptr));
    pass.SwapOut();
    pass.AddKnownRange(memory, 3000);
    for (const CUdeviceptr address : {memory, memory + 8}) {
      CUmemoryPool found = nullptr;
      pass.Note("pool", pass.cuda.cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                                        address));
      pass.Note("the pool", found == pool);
      CUcontext context = nullptr;
      pass.Note("context",
                pass.cuda.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address));
      pass.Note("no context", context == nullptr);
      CUdeviceptr base = 0;
      std::size_t size = 0;
      pass.Note("range", pass.cuda.cuMemGetAddressRange_v2(&base, &size, address));
      pass.NoteAddress("base", base);
      pass.Note("size", size);
      pass.Note("start", pass.cuda.cuPointerGetAttribute(
                             &base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address));
      pass.NoteAddress("start", base);
    }
    CUipcMemHandle handle{};
    pass.Note("share", pass.cuda.cuIpcGetMemHandle(&handle, memory));
    pass.Note("free", pass.cuda.cuMemFreeAsync(memory, nullptr));
    CUmemoryPool found = nullptr;
    pass.Note("of freed memory",
              pass.cuda.cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
    pass.Note("synchronise", pass.cuda.cuCtxSynchronize());
    pass.Note("destroy", pass.cuda.cuMemPoolDestroy(pool));
    pass.Note("twice", pass.cuda.cuMemPoolDestroy(pool));
    CUmemoryPool standard = nullptr;
    pass.Note("default", pass.cuda.cuDeviceGetDefaultMemPool(&standard, 0));
    pass.Note("destroy the default one", pass.cuda.cuMemPoolDestroy(standard));
  });
}

TEST_F(HooksPoolsTest, UsedBytesAreThoseAskedFor) {
  Compare([](Pass& pass) {
    const CUmemoryPool pool = MakePool(pass);
    const auto used = [&](CUmemPool_attribute attribute) {
      cuuint64_t value = 0;
      pass.Note("attribute", pass.cuda.cuMemPoolGetAttribute(pool, attribute, &value));
      pass.Note("used", value);
    };
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    pass.Note("first", pass.cuda.cuMemAllocFromPoolAsync(&first, 3 * kMiB, pool, nullptr));
    pass.Note("second", pass.cuda.cuMemAllocFromPoolAsync(&second, 1000, pool, nullptr));
    used(CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    pass.Note("free", pass.cuda.cuMemFreeAsync(first, nullptr));
    used(CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    used(CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    cuuint64_t zero = 0;
    pass.Note("reset", pass.cuda.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    used(CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    pass.Note("free", pass.cuda.cuMemFreeAsync(second, nullptr));
    pass.Note("synchronise", pass.cuda.cuCtxSynchronize());
    cuuint64_t reserved = 1;
    pass.Note("reserved", pass.cuda.cuMemPoolGetAttribute(
                              pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    pass.Note("all given back", reserved);
    pass.Note("destroy", pass.cuda.cuMemPoolDestroy(pool));
  });
}

TEST_F(HooksPoolsTest, CapturesFollowTheDriversRules) {
  Compare([](Pass& pass) {
    CUstream stream = nullptr;
    ASSERT_EQ(pass.cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                            CU_STREAM_CAPTURE_MODE_RELAXED}) {
      const auto during = [&](const char* what, auto call) {
        CUgraph graph = nullptr;
        ASSERT_EQ(pass.cuda.cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
        pass.Note(what, call());
        if (pass.Note("end", pass.cuda.cuStreamEndCapture(stream, &graph)) == CUDA_SUCCESS) {
          pass.cuda.cuGraphDestroy(graph);
        }
      };
      CUdeviceptr memory = 0;
      CUdeviceptr made = 0;
      CUstream other = nullptr;
      ASSERT_EQ(pass.cuda.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      pass.Note("before", pass.cuda.cuMemAllocAsync(&memory, 4 * kMiB, other));
      const auto allocate_and_free = [&] {
        const CUresult result = pass.cuda.cuMemAllocAsync(&made, 4 * kMiB, other);
        return result == CUDA_SUCCESS ? pass.cuda.cuMemFreeAsync(made, other) : result;
      };
      during("allocate in another stream", allocate_and_free);
      during("free in another stream", [&] { return pass.cuda.cuMemFreeAsync(memory, other); });
      pass.Note("free", pass.cuda.cuMemFreeAsync(memory, other));
      pass.Note("synchronise", pass.cuda.cuStreamSynchronize(other));
      ASSERT_EQ(pass.cuda.cuStreamDestroy_v2(other), CUDA_SUCCESS);
    }
    EXPECT_EQ(pass.cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  });
}

// ---- growth ----

TEST_F(HooksPoolsTest, DaemonRefusalIsOutOfMemory) {
  daemon().AnswerGrowth(wire::Growth::kRefused);
  client().ledger().TakeSpare(0, 0);
  CUdeviceptr memory = 0;
  EXPECT_EQ(Through().cuMemAllocAsync(&memory, 4 * kMiB, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(usage().resident, 0u);
}

TEST_F(HooksPoolsTest, ThePoolThatIsCurrentServes) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(Through().cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuDeviceSetMemPool(0, pool), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAllocAsync(&memory, 16 * kMiB, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 16 * kMiB);
  EXPECT_EQ(usage().pinned, 0u);
  cuuint64_t reserved = 0;
  Through().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
  EXPECT_EQ(reserved, 16 * kMiB);
  EXPECT_EQ(Through().cuMemFreeAsync(memory, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuMemPoolDestroy(pool), CUDA_SUCCESS);
  CUmemoryPool current = nullptr;
  CUmemoryPool standard = nullptr;
  ASSERT_EQ(Through().cuDeviceGetMemPool(&current, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuDeviceGetDefaultMemPool(&standard, 0), CUDA_SUCCESS);
  EXPECT_EQ(current, standard);
}

}  // namespace hooks_pools_test
}  // namespace reveza::interpose::testing
