// Effects of the hooks of counted memory, and of calls that fakecuda lacks: each test fails if the
// call is passed to the driver.
#include <gtest/gtest.h>

#include "reveza/gpu/interpose/testing/hook_fixture.h"

namespace reveza::interpose {
namespace hook_effects_counted_test {

using testing::HookEffects;
using testing::kLarge;

// ---- memory that only the driver can manage ----

// The library has not seen how the pool was made.
TEST_F(HookEffects, UnknownPoolIsCountedUntilDestroyed) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  ASSERT_EQ(Real().cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemAllocFromPoolAsync(&address, 8 * kMiB, pool, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 8 * kMiB);
  ASSERT_EQ(::cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 0u);
}

TEST_F(HookEffects, FreeAsyncOfAnAllocationIsStreamOrdered) {
  const CUdeviceptr address = Allocate(kLarge);
  EXPECT_EQ(::cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
}

TEST_F(HookEffects, ArraysAreCounted) {
  CUDA_ARRAY_DESCRIPTOR flat{};
  flat.Width = flat.Height = 1024;
  flat.Format = CU_AD_FORMAT_FLOAT;
  flat.NumChannels = 1;
  CUarray array = nullptr;
  ASSERT_EQ(::cuArrayCreate_v2(&array, &flat), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 4 * kMiB);
  ASSERT_EQ(::cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 0u);
  CUDA_ARRAY3D_DESCRIPTOR deep{};
  deep.Width = deep.Height = 512;
  deep.Depth = 8;
  deep.Format = CU_AD_FORMAT_FLOAT;
  deep.NumChannels = 1;
  ASSERT_EQ(::cuArray3DCreate_v2(&array, &deep), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 8 * kMiB);
  ASSERT_EQ(::cuArrayDestroy(array), CUDA_SUCCESS);
}

// ---- managed memory ----

class ManagedMemory : public HookEffects {
 protected:
  static unsigned long long Counter(const char* name) {
    using Function = unsigned long long (*)(const char*);
    static const auto counter = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "fakecudaCounter"));
    return counter(name);
  }
  static CUdeviceptr AllocateManaged(Bytes bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(::cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    return address;
  }
  // In a kernel of the GPU.
  static void Set(CUdeviceptr address, unsigned value, Bytes bytes) {
    EXPECT_EQ(::cuMemsetD32_v2(address, value, bytes / 4), CUDA_SUCCESS);
    EXPECT_EQ(Real().cuCtxSynchronize(), CUDA_SUCCESS);
  }
};

TEST_F(ManagedMemory, IsPrefetchedOutAndIn) {
  const CUdeviceptr address = AllocateManaged(kLarge);
  Set(address, 7, kLarge);
  EXPECT_EQ(Counter("managed"), kLarge);
  EXPECT_EQ(Usage().resident, kLarge);
  EXPECT_EQ(Usage().pinned, 0u);
  const unsigned long long faults = Counter("faults");
  SwapOut();
  EXPECT_EQ(Counter("managed"), 0u);
  EXPECT_EQ(Usage().swapped, kLarge);
  // The host may use it at any time.
  const auto* words = reinterpret_cast<const unsigned*>(address);
  EXPECT_EQ(words[0], 7u);
  EXPECT_EQ(words[kLarge / 4 - 1], 7u);
  SwapIn();
  EXPECT_EQ(Counter("managed"), kLarge);
  Set(address, 8, kLarge);
  EXPECT_EQ(Counter("faults"), faults) << "it came back before it was used";
  ASSERT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Usage().Need(), Usage().context);
  EXPECT_EQ(Counter("managed"), 0u);
}

TEST_F(ManagedMemory, IsFreedWhileItIsOut) {
  const CUdeviceptr address = AllocateManaged(kLarge);
  SwapOut();
  EXPECT_NE(::cuMemFree_v2(address + 8), CUDA_SUCCESS);
  EXPECT_EQ(Usage().swapped, kLarge) << "a failed free changes nothing";
  ASSERT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Usage().swapped, 0u);
}

TEST_F(ManagedMemory, EndsWithItsContext) {
  AllocateManaged(kLarge);
  ASSERT_EQ(::cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().Need(), 0u);
  ASSERT_EQ(::cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

// The driver keeps copies of it on the GPU.
TEST_F(ManagedMemory, ThatIsReadMostlyStays) {
  const CUdeviceptr address = AllocateManaged(8 * kMiB);
  ASSERT_EQ(::cuMemAdvise(address, 8 * kMiB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 8 * kMiB);
  ASSERT_EQ(::cuMemAdvise(address + 4 * kMiB, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
  EXPECT_EQ(Usage().pinned, 8 * kMiB);
  ASSERT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 0u);
}

TEST_F(ManagedMemory, MoreThanTheBudgetIsOutOfMemory) {
  CUdeviceptr address = 0;
  EXPECT_EQ(::cuMemAllocManaged(&address, testing::kBudget + 1, CU_MEM_ATTACH_GLOBAL),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(::cuMemAllocManaged(&address, ~std::size_t{0}, CU_MEM_ATTACH_GLOBAL),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Usage().pinned, 0u);
}

// ---- calls that fakecuda lacks, replaced by fakes ----

class HookEffectsOfOtherCalls : public HookEffects {
 protected:
  void SetUp() override {
    HookEffects::SetUp();
    calls_ = internal::driver_calls;
  }
  void TearDown() override {
    internal::driver_calls = calls_;
    HookEffects::TearDown();
  }
  static DriverCalls& Doubles() { return internal::driver_calls; }

 private:
  DriverCalls calls_;
};

CUmemGenericAllocationHandle handle_seen = 0;
Bytes graph_memory[4] = {};  // by device

TEST_F(HookEffectsOfOtherCalls, ManagedMemoryThatCannotBePrefetchedIsCounted) {
  Doubles().cuDeviceGetAttribute = [](int* value, CUdevice_attribute, CUdevice) {
    *value = 0;
    return CUDA_SUCCESS;
  };
  CUdeviceptr managed = 0;
  ASSERT_EQ(::cuMemAllocManaged(&managed, 3 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 4 * kMiB);
  ASSERT_EQ(::cuMemFree_v2(managed), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 0u);
}

TEST_F(HookEffectsOfOtherCalls, MipmappedArraysAreCounted) {
  Doubles().cuMipmappedArrayCreate = [](CUmipmappedArray* made, const CUDA_ARRAY3D_DESCRIPTOR*,
                                        unsigned) {
    *made = reinterpret_cast<CUmipmappedArray>(0x10);
    return CUDA_SUCCESS;
  };
  Doubles().cuMipmappedArrayDestroy = [](CUmipmappedArray) { return CUDA_SUCCESS; };
  CUDA_ARRAY3D_DESCRIPTOR flat{};
  flat.Width = flat.Height = 1024;
  flat.Format = CU_AD_FORMAT_FLOAT;
  flat.NumChannels = 1;
  CUmipmappedArray array = nullptr;
  ASSERT_EQ(::cuMipmappedArrayCreate(&array, &flat, 3), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 8 * kMiB);
  ASSERT_EQ(::cuMipmappedArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 0u);
}

// Each call that may add an allocation node starts the counting of its device's graph memory.
TEST_F(HookEffectsOfOtherCalls, GraphMemoryIsCountedAtWhatTheDriverReports) {
  Doubles().cuGraphAddMemAllocNode = [](CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                                        CUDA_MEM_ALLOC_NODE_PARAMS*) { return CUDA_SUCCESS; };
  Doubles().cuGraphAddNode = [](CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                                CUgraphNodeParams*) { return CUDA_SUCCESS; };
  Doubles().cuGraphAddNode_v2 = [](CUgraphNode*, CUgraph, const CUgraphNode*,
                                   const CUgraphEdgeData*, std::size_t,
                                   CUgraphNodeParams*) { return CUDA_SUCCESS; };
  Doubles().cuDeviceGetGraphMemAttribute = [](CUdevice device, CUgraphMem_attribute, void* value) {
    *static_cast<cuuint64_t*>(value) = graph_memory[device];
    return CUDA_SUCCESS;
  };
  PoolAccounts& pools = Client::Get()->pools();
  CUgraphNodeParams node{};
  const auto expect_counted = [&](int device) {
    graph_memory[device] = 4 * kMiB;
    pools.SettleAll(ledger());
    EXPECT_EQ(Usage(device).pinned, 4 * kMiB);
    graph_memory[device] = 0;
    pools.SettleAll(ledger());
    EXPECT_EQ(Usage(device).pinned, 0u);
  };
  const auto on = [](int device) { return CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, {device}}; };
  for (int device = 0; device < 4; ++device)
    ledger().AddDevice(device, nullptr, testing::kBudget, 0);
  CUDA_MEM_ALLOC_NODE_PARAMS memory{};
  memory.poolProps.location = on(1);
  ASSERT_EQ(::cuGraphAddMemAllocNode(nullptr, nullptr, nullptr, 0, &memory), CUDA_SUCCESS);
  expect_counted(1);
  node.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  node.alloc.poolProps.location = on(2);
  ASSERT_EQ(::cuGraphAddNode(nullptr, nullptr, nullptr, 0, &node), CUDA_SUCCESS);
  expect_counted(2);
  node.alloc.poolProps.location = on(3);
  ASSERT_EQ(::cuGraphAddNode_v2(nullptr, nullptr, nullptr, nullptr, 0, &node), CUDA_SUCCESS);
  expect_counted(3);
}

TEST_F(HookEffectsOfOtherCalls, MemoryAccessedFromOutsideIsPinned) {
  Doubles().cuMemGetHandleForAddressRange = [](void*, CUdeviceptr, std::size_t,
                                               CUmemRangeHandleType,
                                               unsigned long long) { return CUDA_SUCCESS; };
  Doubles().cuMulticastBindAddr = [](CUmemGenericAllocationHandle, std::size_t, CUdeviceptr,
                                     std::size_t, unsigned long long) { return CUDA_SUCCESS; };
  const Mapped first = MapOwn(4 * kMiB);
  const Mapped second = MapOwn(6 * kMiB);
  int shared = 0;
  ASSERT_EQ(::cuMemGetHandleForAddressRange(&shared, first.address, 4 * kMiB,
                                            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 4 * kMiB);
  ASSERT_EQ(::cuMulticastBindAddr(1, 0, second.address, 6 * kMiB, 0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 10 * kMiB);
  for (const Mapped& mapped : {first, second}) {
    EXPECT_EQ(::cuMemRelease(mapped.handle), CUDA_SUCCESS);
  }
  EXPECT_EQ(::cuMemUnmap(first.address, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemUnmap(second.address, 6 * kMiB), CUDA_SUCCESS);
}

TEST_F(HookEffectsOfOtherCalls, MemoryBoundToDevicesAndEndpointsIsPinned) {
  Doubles().cuMulticastBindAddr_v2 = [](CUmemGenericAllocationHandle, CUdevice, std::size_t,
                                        CUdeviceptr, std::size_t,
                                        unsigned long long) { return CUDA_SUCCESS; };
  Doubles().cuLogicalEndpointBindAddr = [](CUlogicalEndpointId, CUdevice, cuuint64_t, void*,
                                           cuuint64_t, unsigned long long) { return CUDA_SUCCESS; };
  Doubles().cuMulticastBindMem_v2 = [](CUmemGenericAllocationHandle, CUdevice, std::size_t,
                                       CUmemGenericAllocationHandle memory, std::size_t,
                                       std::size_t, unsigned long long) {
    handle_seen = memory;
    return CUDA_SUCCESS;
  };
  Doubles().cuLogicalEndpointBindMem = [](CUlogicalEndpointId, CUdevice, cuuint64_t,
                                          CUmemGenericAllocationHandle memory, cuuint64_t,
                                          cuuint64_t, unsigned long long) {
    handle_seen = memory;
    return CUDA_SUCCESS;
  };
  const Mapped mapped[] = {MapOwn(2 * kMiB), MapOwn(2 * kMiB), MapOwn(2 * kMiB), MapOwn(2 * kMiB)};
  ASSERT_EQ(::cuMulticastBindAddr_v2(1, 0, 0, mapped[0].address, 2 * kMiB, 0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 2 * kMiB);
  ASSERT_EQ(
      ::cuLogicalEndpointBindAddr(1, 0, 0, reinterpret_cast<void*>(mapped[1].address), 2 * kMiB, 0),
      CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 4 * kMiB);
  ASSERT_EQ(::cuMulticastBindMem_v2(1, 0, 0, mapped[2].handle, 0, 2 * kMiB, 0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 6 * kMiB);
  EXPECT_FALSE(swap::Ledger::IsOurHandle(handle_seen));
  handle_seen = mapped[3].handle;
  ASSERT_EQ(::cuLogicalEndpointBindMem(1, 0, 0, mapped[3].handle, 0, 2 * kMiB, 0), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 8 * kMiB);
  EXPECT_FALSE(swap::Ledger::IsOurHandle(handle_seen));
  for (const Mapped& one : mapped) {
    EXPECT_EQ(::cuMemRelease(one.handle), CUDA_SUCCESS);
    EXPECT_EQ(::cuMemUnmap(one.address, 2 * kMiB), CUDA_SUCCESS);
  }
}

TEST_F(HookEffectsOfOtherCalls, VirtualHandlesAreNeverPassedToTheDriver) {
  Doubles().cuMulticastBindMem = [](CUmemGenericAllocationHandle, std::size_t,
                                    CUmemGenericAllocationHandle memory, std::size_t, std::size_t,
                                    unsigned long long) {
    handle_seen = memory;
    return CUDA_SUCCESS;
  };
  Doubles().cuMemMapArrayAsync = [](CUarrayMapInfo* maps, unsigned, CUstream) {
    handle_seen = maps[0].memHandle.memHandle;
    return CUDA_SUCCESS;
  };
  const Mapped first = MapOwn(4 * kMiB);
  ASSERT_EQ(::cuMulticastBindMem(1, 0, first.handle, 0, 4 * kMiB, 0), CUDA_SUCCESS);
  EXPECT_NE(handle_seen, 0u);
  EXPECT_FALSE(swap::Ledger::IsOurHandle(handle_seen));
  const Mapped second = MapOwn(4 * kMiB);
  CUarrayMapInfo map{};
  map.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  map.memHandle.memHandle = second.handle;
  handle_seen = 0;
  ASSERT_EQ(::cuMemMapArrayAsync(&map, 1, nullptr), CUDA_SUCCESS);
  EXPECT_NE(handle_seen, 0u);
  EXPECT_FALSE(swap::Ledger::IsOurHandle(handle_seen));
  EXPECT_EQ(Usage().pinned, 8 * kMiB);
  for (const Mapped& mapped : {first, second}) {
    EXPECT_EQ(::cuMemUnmap(mapped.address, 4 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(::cuMemRelease(mapped.handle), CUDA_SUCCESS);
  }
}

TEST_F(HookEffectsOfOtherCalls, DetachFreesTheMemoryOfTheContext) {
  Doubles().cuCtxDetach = Real().cuCtxDestroy_v2;
  CUcontext second = nullptr;
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  Allocate(kLarge);
  EXPECT_EQ(::cuCtxDetach(second), CUDA_SUCCESS);
  EXPECT_EQ(Usage().resident, 0u);
}

}  // namespace hook_effects_counted_test
}  // namespace reveza::interpose
