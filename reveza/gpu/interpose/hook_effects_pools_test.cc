// Stream-ordered pools that the ledger serves: what they keep, who may have it again and when.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "reveza/gpu/interpose/testing/hook_fixture.h"

namespace reveza::interpose {
namespace hook_effects_pools_test {

using testing::HookEffects;
using testing::kBudget;

class PoolEffects : public HookEffects {
 protected:
  void SetUp() override {
    HookEffects::SetUp();
    ASSERT_EQ(Real().cuDeviceGetDefaultMemPool(&pool_, 0), CUDA_SUCCESS);
    SetThreshold(~Bytes{0});
    ASSERT_EQ(Real().cuStreamCreate(&a_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(Real().cuStreamCreate(&b_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    void* flag = nullptr;
    ASSERT_EQ(Real().cuMemHostAlloc(&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
    flag_ = static_cast<unsigned*>(flag);
    *flag_ = 0;
    ASSERT_EQ(Real().cuMemHostGetDevicePointer_v2(&flag_address_, flag, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    Release();
    EXPECT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
    SetFlags(1);
    SetThreshold(0);
    EXPECT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(Usage().Need() - Usage().context, 0u) << "memory leaked by the test";
    EXPECT_EQ(Real().cuMemFreeHost(flag_), CUDA_SUCCESS);
    HookEffects::TearDown();
  }

  void SetThreshold(Bytes threshold) {
    cuuint64_t value = threshold;
    ASSERT_EQ(::cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value),
              CUDA_SUCCESS);
  }
  // Whether another stream may have memory that is not in use any more, or wait for it.
  void SetFlags(int opportunistic, int dependencies = 1) {
    ASSERT_EQ(
        ::cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &opportunistic),
        CUDA_SUCCESS);
    ASSERT_EQ(::cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
                                      &dependencies),
              CUDA_SUCCESS);
  }
  Bytes Get(CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_EQ(::cuMemPoolGetAttribute(pool_, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  static CUdeviceptr AllocateAsync(Bytes bytes, CUstream stream) {
    CUdeviceptr address = 0;
    EXPECT_EQ(::cuMemAllocAsync(&address, bytes, stream), CUDA_SUCCESS);
    return address;
  }
  static void FreeAsync(CUdeviceptr address, CUstream stream) {
    EXPECT_EQ(::cuMemFreeAsync(address, stream), CUDA_SUCCESS);
  }
  // What is submitted to the stream after this waits for Release().
  void Hold(CUstream stream) {
    ASSERT_EQ(Real().cuStreamWaitValue32_v2(stream, flag_address_, 1, CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
  }
  void Release() { __atomic_store_n(flag_, 1, __ATOMIC_RELEASE); }
  static bool AllBytesAre(CUdeviceptr address, Bytes bytes, unsigned char value) {
    std::vector<unsigned char> found(bytes);
    EXPECT_EQ(::cuMemcpyDtoH_v2(found.data(), address, bytes), CUDA_SUCCESS);
    return std::ranges::all_of(found, [&](unsigned char one) { return one == value; });
  }

  CUmemoryPool pool_ = nullptr;
  CUstream a_ = nullptr;
  CUstream b_ = nullptr;
  unsigned* flag_ = nullptr;
  CUdeviceptr flag_address_ = 0;
};

TEST_F(PoolEffects, MemoryIsSwappable) {
  const CUdeviceptr large = AllocateAsync(72 * kMiB, a_);
  const CUdeviceptr small = AllocateAsync(4096, a_);
  Write(large, 72 * kMiB);
  Write(small, 4096);
  EXPECT_EQ(Usage().pinned, 0u);
  SwapOut();
  EXPECT_EQ(Usage().swapped, 74 * kMiB);
  SwapIn();
  ExpectWritten(large, 72 * kMiB);
  ExpectWritten(small, 4096);
  FreeAsync(large, a_);
  FreeAsync(small, a_);
}

TEST_F(PoolEffects, TheSameStreamHasFreedMemoryAgainAtOnce) {
  Hold(a_);
  for (const Bytes size : {Bytes{700}, Bytes{4096}, 8 * kMiB}) {
    const CUdeviceptr first = AllocateAsync(size, a_);
    FreeAsync(first, a_);
    const CUdeviceptr second = AllocateAsync(size, a_);
    EXPECT_EQ(first, second);
    FreeAsync(second, a_);
  }
}

// The work of the first stream would overwrite what the second one writes.
TEST_F(PoolEffects, AnotherStreamDoesNotHaveMemoryThatIsInUse) {
  const CUdeviceptr first = AllocateAsync(8 * kMiB, a_);
  Hold(a_);
  ASSERT_EQ(::cuMemsetD8Async(first, 7, 8 * kMiB, a_), CUDA_SUCCESS);
  FreeAsync(first, a_);
  const CUdeviceptr second = AllocateAsync(8 * kMiB, b_);
  ASSERT_EQ(::cuMemsetD8Async(second, 9, 8 * kMiB, b_), CUDA_SUCCESS);
  ASSERT_EQ(::cuStreamSynchronize(b_), CUDA_SUCCESS);
  Release();
  ASSERT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(AllBytesAre(second, 8 * kMiB, 9));
  FreeAsync(second, b_);
}

TEST_F(PoolEffects, AnotherStreamHasMemoryThatIsNotInUseIfAllowed) {
  for (const bool allowed : {true, false}) {
    SetFlags(allowed ? 1 : 0);
    const CUdeviceptr first = AllocateAsync(8 * kMiB, a_);
    FreeAsync(first, a_);
    ASSERT_EQ(::cuStreamSynchronize(a_), CUDA_SUCCESS);
    const CUdeviceptr second = AllocateAsync(8 * kMiB, b_);
    EXPECT_EQ(first == second, allowed);
    FreeAsync(second, b_);
    SetThreshold(0);
    ASSERT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
    SetThreshold(~Bytes{0});
  }
}

// Where both do not fit, the second stream waits for the first.
TEST_F(PoolEffects, AnotherStreamWaitsForMemoryThatIsInUse) {
  constexpr Bytes kBytes = 100 * kMiB;
  const CUdeviceptr first = AllocateAsync(kBytes, a_);
  Hold(a_);
  ASSERT_EQ(::cuMemsetD8Async(first, 7, kBytes, a_), CUDA_SUCCESS);
  FreeAsync(first, a_);
  const CUdeviceptr second = AllocateAsync(kBytes, b_);
  EXPECT_EQ(second, first);
  ASSERT_EQ(::cuMemsetD8Async(second, 9, kBytes, b_), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuStreamQuery(b_), CUDA_ERROR_NOT_READY);
  Release();
  ASSERT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(AllBytesAre(second, kBytes, 9)) << "the stream did not wait";
  FreeAsync(second, b_);
}

TEST_F(PoolEffects, WithoutDependenciesMemoryInUseIsNotGiven) {
  SetFlags(/*opportunistic=*/1, /*dependencies=*/0);
  const CUdeviceptr first = AllocateAsync(100 * kMiB, a_);
  ASSERT_EQ(::cuStreamWaitValue32_v2(a_, flag_address_, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  FreeAsync(first, a_);
  CUdeviceptr second = 0;
  EXPECT_EQ(::cuMemAllocAsync(&second, 100 * kMiB, b_), CUDA_ERROR_OUT_OF_MEMORY);
  Release();
  ASSERT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(AllocateAsync(100 * kMiB, b_), first);
  FreeAsync(first, b_);
}

// A handle that the driver gives out again does not make the new stream the old one.
TEST_F(PoolEffects, MemoryOfADestroyedStreamIsNotThatOfAnother) {
  SetFlags(/*opportunistic=*/0);
  CUstream stream = nullptr;
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const CUdeviceptr first = AllocateAsync(8 * kMiB, stream);
  FreeAsync(first, stream);
  Client::Get()->stream_pools().OnStreamDestroy(stream);
  const CUdeviceptr second = AllocateAsync(8 * kMiB, stream);
  EXPECT_NE(first, second);
  FreeAsync(second, stream);
  ASSERT_EQ(::cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(PoolEffects, KeptMemoryIsSwappedOutWithoutACopy) {
  const CUdeviceptr kept = AllocateAsync(64 * kMiB, a_);
  const CUdeviceptr live = AllocateAsync(8 * kMiB, a_);
  Write(kept, 64 * kMiB);
  Write(live, 8 * kMiB);
  FreeAsync(kept, a_);
  ASSERT_EQ(::cuStreamSynchronize(a_), CUDA_SUCCESS);
  swap::Mover mover(Client::Get()->swap_driver(), ledger());
  const auto evicted = mover.Evict(0, ~Bytes{0} / 2, [](void*, int, Bytes) {}, nullptr);
  EXPECT_EQ(evicted.copied, 8 * kMiB);
  EXPECT_EQ(evicted.freed, 72 * kMiB);
  SwapIn();
  ExpectWritten(live, 8 * kMiB);
  const CUdeviceptr again = AllocateAsync(64 * kMiB, a_);
  ASSERT_EQ(again, kept);
  Write(again, 64 * kMiB);
  SwapOut();
  SwapIn();
  ExpectWritten(again, 64 * kMiB);
  FreeAsync(again, a_);
  FreeAsync(live, a_);
}

// What is freed while it is swapped out is not copied back.
TEST_F(PoolEffects, MemoryFreedWhileSwappedOutHasNoCopy) {
  const CUdeviceptr address = AllocateAsync(64 * kMiB, a_);
  Write(address, 64 * kMiB);
  SwapOut();
  FreeAsync(address, a_);
  swap::Mover mover(Client::Get()->swap_driver(), ledger());
  ledger().AddCredit(0, mover.MissingCredit(0));
  ASSERT_EQ(mover.SwapInStep(), swap::SwapInState::kDone);
  EXPECT_EQ(mover.TakeCopiedIn(), 0u);
}

TEST_F(PoolEffects, SynchronisationGivesBackWhatExceedsTheThreshold) {
  CUevent event = nullptr;
  ASSERT_EQ(Real().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (int how = 0; how < 3; ++how) {
    SetThreshold(16 * kMiB);
    for (int i = 0; i < 2; ++i) {
      const CUdeviceptr first = AllocateAsync(8 * kMiB, a_);
      const CUdeviceptr second = AllocateAsync(12 * kMiB, a_);
      FreeAsync(first, a_);
      FreeAsync(second, a_);
    }
    EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 20 * kMiB);
    ASSERT_EQ(Real().cuStreamSynchronize(a_), CUDA_SUCCESS);
    ASSERT_EQ(Real().cuEventRecord(event, a_), CUDA_SUCCESS);
    ASSERT_EQ(how == 0   ? ::cuStreamSynchronize(a_)
              : how == 1 ? ::cuEventSynchronize(event)
                         : ::cuCtxSynchronize(),
              CUDA_SUCCESS);
    EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 12 * kMiB) << "the oldest goes first";
    EXPECT_EQ(Usage().resident, 12 * kMiB);
    ASSERT_EQ(::cuMemPoolTrimTo(pool_, 0), CUDA_SUCCESS);
    EXPECT_EQ(Usage().resident, 0u);
  }
  EXPECT_EQ(Real().cuEventDestroy_v2(event), CUDA_SUCCESS);
}

TEST_F(PoolEffects, SynchronisationKeepsWhatIsInUse) {
  SetThreshold(0);
  const CUdeviceptr address = AllocateAsync(8 * kMiB, a_);
  Hold(a_);
  ASSERT_EQ(::cuMemsetD8Async(address, 7, 8 * kMiB, a_), CUDA_SUCCESS);
  FreeAsync(address, a_);
  ASSERT_EQ(::cuStreamSynchronize(b_), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemPoolTrimTo(pool_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 8 * kMiB);
  Release();
  ASSERT_EQ(::cuStreamSynchronize(a_), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
}

TEST_F(PoolEffects, AttributesAreThoseOfThePool) {
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  const CUdeviceptr first = AllocateAsync(3 * kMiB, a_);
  const CUdeviceptr second = AllocateAsync(1000, a_);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 3 * kMiB + 1000);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB + 1024);
  FreeAsync(first, a_);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1000u);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 3 * kMiB + 1000);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB + 1024);
  ASSERT_EQ(::cuStreamSynchronize(a_), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemPoolTrimTo(pool_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 1024u);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 4 * kMiB + 1024);
  cuuint64_t zero = 0;
  ASSERT_EQ(::cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero), CUDA_SUCCESS);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1000u);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 1024u);
  EXPECT_EQ(::cuMemFree_v2(second), CUDA_SUCCESS);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
}

// Any allocation may have what pools keep, before it fails.
TEST_F(PoolEffects, KeptMemoryGivesWayToOtherAllocations) {
  FreeAsync(AllocateAsync(100 * kMiB, a_), a_);
  const CUdeviceptr native = Allocate(120 * kMiB);
  EXPECT_EQ(::cuMemFree_v2(native), CUDA_SUCCESS);
  FreeAsync(AllocateAsync(100 * kMiB, a_), a_);
  const CUdeviceptr other_size = AllocateAsync(140 * kMiB, b_);
  FreeAsync(other_size, b_);
  CUdeviceptr managed = 0;
  EXPECT_EQ(::cuMemAllocManaged(&managed, 140 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(managed), CUDA_SUCCESS);
}

// A pool of many sizes does not keep much more than the program has needed at a time.
TEST_F(PoolEffects, APoolOfManySizesDoesNotGrow) {
  for (Bytes size = 10 * kMiB; size < 40 * kMiB; size += 3 * kMiB) {
    const CUdeviceptr address = AllocateAsync(size, a_);
    FreeAsync(address, a_);
    ASSERT_EQ(::cuStreamSynchronize(a_), CUDA_SUCCESS);
  }
  EXPECT_LE(Usage().resident, 40 * kMiB + 37 * kMiB);
}

TEST_F(PoolEffects, ADestroyedPoolKeepsWhatTheProgramHas) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool pool = nullptr;
  CUdeviceptr kept = 0;
  CUdeviceptr freed = 0;
  ASSERT_EQ(::cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemAllocFromPoolAsync(&kept, 8 * kMiB, pool, a_), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemAllocFromPoolAsync(&freed, 4 * kMiB, pool, a_), CUDA_SUCCESS);
  Write(kept, 8 * kMiB);
  CUmemoryPool found = nullptr;
  EXPECT_EQ(::cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, kept),
            CUDA_SUCCESS);
  EXPECT_EQ(found, pool);
  FreeAsync(freed, a_);
  ASSERT_EQ(Real().cuStreamSynchronize(a_), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 8 * kMiB);
  ExpectWritten(kept, 8 * kMiB);
  FreeAsync(kept, a_);
  ASSERT_EQ(::cuStreamSynchronize(a_), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
}

// As on a real card: the memory belongs to the device.
TEST_F(PoolEffects, MemoryOutlivesTheContextOfItsStream) {
  CUcontext second = nullptr;
  CUstream stream = nullptr;
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const CUdeviceptr live = AllocateAsync(8 * kMiB, stream);
  const CUdeviceptr freed = AllocateAsync(4 * kMiB, stream);
  Write(live, 8 * kMiB);
  FreeAsync(freed, stream);
  ASSERT_EQ(::cuCtxDestroy_v2(second), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ExpectWritten(live, 8 * kMiB);
  EXPECT_EQ(AllocateAsync(4 * kMiB, a_), freed) << "nothing uses it any more";
  FreeAsync(live, a_);
  FreeAsync(freed, a_);
}

TEST_F(PoolEffects, TheLastContextOfADeviceEndsItsMemory) {
  CUcontext other = nullptr;
  ASSERT_EQ(::cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(other), CUDA_SUCCESS);
  AllocateAsync(8 * kMiB, nullptr);
  FreeAsync(AllocateAsync(4 * kMiB, nullptr), nullptr);
  EXPECT_EQ(Usage(1).resident, 12 * kMiB);
  ASSERT_EQ(::cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
  EXPECT_EQ(Usage(1).Need(), 0u);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

// As HookEffects.EndOfAContextForgetsItsDeferredFrees, for memory that outlives other contexts.
TEST_F(PoolEffects, TheLastContextForgetsDeferredFrees) {
  CUcontext other = nullptr;
  CUgraph graph = nullptr;
  ASSERT_EQ(::cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(other), CUDA_SUCCESS);
  const CUdeviceptr address = AllocateAsync(8 * kMiB, nullptr);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_EQ(::cuStreamBeginCapture_v2(a_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(::cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
  const CUdeviceptr again = Allocate(8 * kMiB);
  ASSERT_EQ(again, address) << "the test needs the same address";
  ASSERT_EQ(::cuStreamEndCapture(a_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuGraphDestroy(graph), CUDA_SUCCESS);
  const CUdeviceptr next = Allocate(2 * kMiB);
  EXPECT_EQ(Usage().resident, 10 * kMiB);
  EXPECT_EQ(::cuMemFree_v2(next), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(again), CUDA_SUCCESS);
}

// In a capture only memory of the graph can be freed.
TEST_F(PoolEffects, ACaptureDoesNotFreeMemoryFromOutside) {
  const CUdeviceptr address = AllocateAsync(8 * kMiB, a_);
  CUgraph graph = nullptr;
  ASSERT_EQ(::cuStreamBeginCapture_v2(a_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFreeAsync(address, a_), CUDA_ERROR_INVALID_VALUE);
  FreeAsync(address, b_);
  EXPECT_EQ(AllocateAsync(8 * kMiB, b_), address) << "the other stream goes on";
  FreeAsync(address, b_);
  EXPECT_EQ(::cuStreamEndCapture(a_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuGraphDestroy(graph), CUDA_SUCCESS);
}

// Memory of a pool with a limit of its own is the driver's.
TEST_F(PoolEffects, PoolsThatTheLedgerDoesNotKnowAreCounted) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.maxSize = 64 * kMiB;
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  ASSERT_EQ(::cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemAllocFromPoolAsync(&address, 8 * kMiB, pool, a_), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 8 * kMiB);
  EXPECT_EQ(Usage().resident, 0u);
  FreeAsync(address, a_);
  ASSERT_EQ(::cuStreamSynchronize(a_), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 0u);
}

// fakecuda lacks the call.
TEST_F(PoolEffects, PeersOfAPoolHaveAccess) {
  const DriverCalls calls = internal::driver_calls;
  internal::driver_calls.cuMemPoolSetAccess = [](CUmemoryPool, const CUmemAccessDesc*,
                                                 std::size_t) { return CUDA_SUCCESS; };
  const CUdeviceptr address = AllocateAsync(8 * kMiB, a_);
  EXPECT_EQ(ledger().DevicesWithAccess(address), std::vector<int>{0});
  const CUmemAccessDesc access = testing::ReadWrite(1);
  EXPECT_EQ(::cuMemPoolSetAccess(pool_, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(ledger().DevicesWithAccess(address), (std::vector<int>{0, 1}));
  internal::driver_calls = calls;
  FreeAsync(address, a_);
}

}  // namespace hook_effects_pools_test
}  // namespace reveza::interpose
