// What each hand-written hook is for, seen on fakecuda: what would be wrong if the call went
// straight to the driver. The library is linked in, there is no daemon, and the test itself moves
// the memory.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "interpose/client.h"
#include "interpose/driver_calls.h"
#include "swap/mover.h"

namespace reveza::interpose {
namespace {

constexpr Bytes kBudget = 160 * kMiB;  // of a card of 256 MiB
constexpr Bytes kLarge = 80 * kMiB;    // two pieces

// A card of its own for each process, found before the first call.
class Card : public ::testing::Environment {
 public:
  void SetUp() override {
    char path[] = "/tmp/reveza-hooks-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
    setenv("FAKECUDA_DIR", path, 1);
    setenv("FAKECUDA_MEMORY", "256MiB", 1);
    setenv("FAKECUDA_LINK", "0", 1);
    setenv("FAKECUDA_DEVICES", "2", 1);
    setenv("REVEZA_GPU_BUDGET", std::to_string(kBudget).c_str(), 1);
    setenv("REVEZA_QUIET", "1", 1);
    unsetenv("REVEZA_SOCKET");
    ASSERT_NE(dlopen(REVEZA_TEST_FAKECUDA, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::string folder_;
};

const ::testing::Environment* const card = ::testing::AddGlobalTestEnvironment(new Card);

CUmemAllocationProp OnCard(int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

CUmemAccessDesc ReadWrite(int ordinal) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, {ordinal}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

class HookEffects : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Real().cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(::cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_NE(Client::Get(), nullptr) << "the first context makes the client";
  }
  void TearDown() override { EXPECT_EQ(::cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS); }

  static swap::Ledger& ledger() { return Client::Get()->ledger(); }
  static swap::Books Books(int ordinal = 0) { return ledger().GetBooks(ordinal); }

  // As the agent does behind a closed gate: all goes, at the same addresses nothing is there.
  static void SwapOut() {
    swap::Mover mover(Client::Get()->swap_driver(), ledger());
    const swap::EvictResult result =
        mover.Evict(0, ~Bytes{0} / 2, [](void*, int, Bytes) {}, nullptr);
    ASSERT_EQ(result.failure, swap::EvictFailure::kNone);
    ASSERT_EQ(Books().resident, 0u);
  }
  static void SwapIn() {
    swap::Mover mover(Client::Get()->swap_driver(), ledger());
    ledger().AddCredit(0, mover.MissingCredit(0));
    ASSERT_EQ(mover.SwapInStep(), swap::SwapInState::kDone);
  }

  static CUdeviceptr Allocate(Bytes bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(::cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  static std::vector<unsigned> Pattern(Bytes bytes) {
    std::vector<unsigned> words(bytes / sizeof(unsigned));
    std::iota(words.begin(), words.end(), 17u);
    return words;
  }
  static void Write(CUdeviceptr address, Bytes bytes) {
    EXPECT_EQ(::cuMemcpyHtoD_v2(address, Pattern(bytes).data(), bytes), CUDA_SUCCESS);
  }
  static void ExpectWritten(CUdeviceptr address, Bytes bytes) {
    std::vector<unsigned> words(bytes / sizeof(unsigned));
    EXPECT_EQ(::cuMemcpyDtoH_v2(words.data(), address, bytes), CUDA_SUCCESS);
    EXPECT_TRUE(words == Pattern(bytes)) << "the memory lost its contents";
  }

  // A handle of `bytes` mapped at an address of its own.
  struct Mapped {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
  };
  static Mapped MapOwn(Bytes bytes) {
    Mapped mapped;
    const CUmemAllocationProp properties = OnCard(0);
    const CUmemAccessDesc access = ReadWrite(0);
    EXPECT_EQ(::cuMemCreate(&mapped.handle, bytes, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(Real().cuMemAddressReserve(&mapped.address, bytes, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(::cuMemMap(mapped.address, bytes, 0, mapped.handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(::cuMemSetAccess(mapped.address, bytes, &access, 1), CUDA_SUCCESS);
    return mapped;
  }

  CUcontext context_ = nullptr;
};

// ---- cuMemAlloc and its kin ----

TEST_F(HookEffects, AllocationsAreOursMoveAndAreFreed) {
  const CUdeviceptr large = Allocate(kLarge);
  const CUdeviceptr small = Allocate(1000);
  CUdeviceptr pitched = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(::cuMemAllocPitch_v2(&pitched, &pitch, 3000, 1000, 4), CUDA_SUCCESS);
  EXPECT_GE(Books().resident, kLarge + 1000 + pitch * 1000);
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
  EXPECT_EQ(Books().resident, 0u);
}

TEST_F(HookEffects, WhatIsFreeDependsOnThisProgramAlone) {
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

TEST_F(HookEffects, AllocationsAreKnownWhileTheyAreOut) {
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
  EXPECT_EQ(Books().swapped, 0u);
}

TEST_F(HookEffects, MemoryThatANetworkCardMayReadStaysResident) {
  const CUdeviceptr address = Allocate(kLarge);
  const unsigned on = 1;
  EXPECT_FALSE(Client::Get()->stays_resident());
  ::cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
  EXPECT_TRUE(Client::Get()->stays_resident());
}

TEST_F(HookEffects, LegacySharingOfMemoryThatMovesIsNotSupported) {
  const CUdeviceptr address = Allocate(kLarge);
  CUipcMemHandle handle;
  EXPECT_EQ(::cuIpcGetMemHandle(&handle, address), CUDA_ERROR_NOT_SUPPORTED);
}

// ---- the program's own mappings ----

TEST_F(HookEffects, HandlesAreVirtualAndTheirMemoryMoves) {
  const Mapped mapped = MapOwn(kLarge);
  EXPECT_TRUE(swap::Ledger::IsOurHandle(mapped.handle));
  EXPECT_EQ(Books().resident, kLarge);
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
      << "something is mapped there";
  SwapIn();
  ExpectWritten(mapped.address, kLarge);
  SwapOut();
  EXPECT_EQ(::cuMemUnmap(mapped.address, kLarge), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemRelease(mapped.handle), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemRelease(retained), CUDA_SUCCESS);
  EXPECT_EQ(Books().swapped, 0u);
  EXPECT_EQ(::cuMemAddressFree(mapped.address, kLarge), CUDA_SUCCESS);
}

TEST_F(HookEffects, WhatIsExportedIsRealAndStays) {
  const Mapped mapped = MapOwn(8 * kMiB);
  Write(mapped.address, 8 * kMiB);
  int shared = -1;
  ASSERT_EQ(::cuMemExportToShareableHandle(&shared, mapped.handle,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  EXPECT_GE(shared, 0);
  close(shared);
  EXPECT_EQ(Books().pinned, 8 * kMiB);
  SwapOut();
  ExpectWritten(mapped.address, 8 * kMiB);
  EXPECT_EQ(::cuMemUnmap(mapped.address, 8 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemRelease(mapped.handle), CUDA_SUCCESS);
}

// ---- contexts ----

TEST_F(HookEffects, AContextTakesItsMemoryWithIt) {
  CUcontext second = nullptr;
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  Allocate(kLarge);
  EXPECT_EQ(Books().resident, kLarge);
  EXPECT_EQ(::cuCtxDestroy_v2(second), CUDA_SUCCESS);
  EXPECT_EQ(Books().resident, 0u);
}

TEST_F(HookEffects, AResetTakesTheMemoryWithIt) {
  Allocate(kLarge);
  EXPECT_EQ(::cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(Books().resident, 0u);
}

TEST_F(HookEffects, TheLastReleaseTakesTheMemoryWithIt) {
  Allocate(kLarge);
  CUcontext again = nullptr;
  ASSERT_EQ(::cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(::cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(Books().resident, kLarge) << "it was not the last";
  EXPECT_EQ(::cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(Books().resident, 0u);
}

TEST_F(HookEffects, PeersReachOurMemoryWhileTheyMay) {
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

// ---- captures ----

TEST_F(HookEffects, CapturesAreKnownUntilTheyEnd) {
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
  EXPECT_FALSE(captures.Any()) << "the driver may not be asked about it any more";
}

TEST_F(HookEffects, AFreeDuringACaptureDoesNotDisturbItAndIsDoneLater) {
  const CUdeviceptr address = Allocate(kLarge);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(::cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Books().resident, kLarge);
  EXPECT_EQ(::cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  const CUdeviceptr next = Allocate(2 * kMiB);
  EXPECT_EQ(Books().resident, 2 * kMiB);
  EXPECT_EQ(::cuMemFree_v2(next), CUDA_SUCCESS);
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(HookEffects, AFreeWaitsForWhatWasSubmittedBefore) {
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
  EXPECT_EQ(Real().cuStreamSynchronize(stream), CUDA_SUCCESS) << "it wrote into freed memory";
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

// ---- what only the driver can manage ----

TEST_F(HookEffects, PoolsAreCounted) {
  CUdeviceptr address = 0;
  ASSERT_EQ(::cuMemAllocAsync(&address, 8 * kMiB, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 8 * kMiB);
  ASSERT_EQ(::cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSynchronize(), CUDA_SUCCESS);
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(Real().cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 0u);
}

TEST_F(HookEffects, AProgramsOwnPoolIsCountedUntilItEnds) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  ASSERT_EQ(::cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemAllocFromPoolAsync(&address, 8 * kMiB, pool, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 8 * kMiB);
  ASSERT_EQ(::cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 0u);
}

TEST_F(HookEffects, AnAllocationMayBeFreedInTheOrderOfAStream) {
  const CUdeviceptr address = Allocate(kLarge);
  EXPECT_EQ(::cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Books().resident, 0u);
}

TEST_F(HookEffects, ArraysAndManagedMemoryAreCounted) {
  CUDA_ARRAY_DESCRIPTOR flat{};
  flat.Width = flat.Height = 1024;
  flat.Format = CU_AD_FORMAT_FLOAT;
  flat.NumChannels = 1;
  CUarray array = nullptr;
  ASSERT_EQ(::cuArrayCreate_v2(&array, &flat), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 4 * kMiB);
  ASSERT_EQ(::cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 0u);
  CUDA_ARRAY3D_DESCRIPTOR deep{};
  deep.Width = deep.Height = 512;
  deep.Depth = 8;
  deep.Format = CU_AD_FORMAT_FLOAT;
  deep.NumChannels = 1;
  ASSERT_EQ(::cuArray3DCreate_v2(&array, &deep), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 8 * kMiB);
  ASSERT_EQ(::cuArrayDestroy(array), CUDA_SUCCESS);
  CUdeviceptr managed = 0;
  ASSERT_EQ(::cuMemAllocManaged(&managed, 4 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 4 * kMiB);
  ASSERT_EQ(::cuMemFree_v2(managed), CUDA_SUCCESS);
  EXPECT_EQ(Books().pinned, 0u);
}

}  // namespace
}  // namespace reveza::interpose
