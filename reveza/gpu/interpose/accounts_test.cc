// The client's accounts are those of the driver, on every device, whichever is current when memory
// is made or freed. Built twice: for swappable memory, and for `--resident`.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "reveza/gpu/interpose/testing/hook_fixture.h"

namespace reveza::interpose {
namespace accounts_test {

using testing::HookEffects;
using testing::OnCard;

constexpr Bytes kContext = 2 * kMiB;  // of fakecuda

#ifdef REVEZA_TEST_RESIDENT
constexpr bool kResident = true;
#else
constexpr bool kResident = false;
#endif

class Residency : public ::testing::Environment {
 public:
  void SetUp() override { setenv("REVEZA_RESIDENT", kResident ? "1" : "0", 1); }
};
const ::testing::Environment* const residency = ::testing::AddGlobalTestEnvironment(new Residency);

class AccountsTest : public HookEffects {
 protected:
  void SetUp() override {
    HookEffects::SetUp();
    contexts_ = {context_, nullptr};
    ASSERT_EQ(::cuDevicePrimaryCtxRetain(&contexts_[1], 1), CUDA_SUCCESS);
    ASSERT_EQ(Client::Get()->resident(), kResident);
    // As a daemon that has measured a context says.
    for (int device = 0; device < 2; ++device) ledger().SetContextBytes(device, kContext);
    ExpectEqual();
  }
  void TearDown() override {
    EXPECT_EQ(::cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
    HookEffects::TearDown();
  }

  void MakeCurrent(int device) {
    ASSERT_EQ(Real().cuCtxSetCurrent(contexts_[static_cast<std::size_t>(device)]), CUDA_SUCCESS);
  }

  // Compares the accounts with what the driver says of each device. Nobody else uses them.
  void ExpectEqual() {
    for (int device = 0; device < 2; ++device) {
      MakeCurrent(device);
      ASSERT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
    }
    Client::Get()->pools().SettleAll(ledger());
    for (int device = 0; device < 2; ++device) {
      MakeCurrent(device);
      std::size_t free = 0;
      std::size_t total = 0;
      ASSERT_EQ(Real().cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
      ASSERT_EQ(Usage(device).Need(), total - free) << "on device " << device;
    }
  }

  std::vector<CUcontext> contexts_;
};

TEST_F(AccountsTest, FreeIsCreditedToTheDeviceOfTheMemory) {
  for (int round = 0; round < 40; ++round) {
    MakeCurrent(1);
    const CUdeviceptr address = Allocate(16 * kMiB);
    ASSERT_NE(address, 0u);
    MakeCurrent(0);
    ASSERT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
    ASSERT_NO_FATAL_FAILURE(ExpectEqual());
  }
}

TEST_F(AccountsTest, DestroyedGraphsDoNotCount) {
  for (int round = 0; round < 40; ++round) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS memory{};
    memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    memory.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {round % 2}};
    memory.bytesize = 16 * kMiB;
    ASSERT_EQ(Real().cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(::cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &memory), CUDA_SUCCESS);
    ASSERT_EQ(Real().cuGraphDestroy(graph), CUDA_SUCCESS);
  }
  ASSERT_NO_FATAL_FAILURE(ExpectEqual());
  MakeCurrent(0);
  const CUdeviceptr address = Allocate(64 * kMiB);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(AccountsTest, EachFurtherContextCounts) {
  CUcontext second = nullptr;
  CUcontext third = nullptr;
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR flat{1024, 1024, CU_AD_FORMAT_FLOAT, 1};
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(::cuCtxCreate_v2(&third, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(::cuArrayCreate_v2(&array, &flat), CUDA_SUCCESS);
  EXPECT_EQ(Usage(0).Need(), 3 * kContext + 4 * kMiB);
  ASSERT_NO_FATAL_FAILURE(ExpectEqual());
  ASSERT_EQ(::cuCtxDestroy_v2(third), CUDA_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(ExpectEqual());
  ASSERT_EQ(::cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS) << "the first one";
  EXPECT_EQ(Usage(0).Need(), kContext);
  ASSERT_EQ(::cuCtxDestroy_v2(second), CUDA_SUCCESS);
  EXPECT_EQ(Usage(0).Need(), 0u);
  ASSERT_EQ(::cuDevicePrimaryCtxRetain(&contexts_[0], 0), CUDA_SUCCESS);
  ledger().SetContextBytes(0, kContext);
  ASSERT_NO_FATAL_FAILURE(ExpectEqual());
}

// The pool that serves a stream is that of its device, whichever is current.
TEST_F(AccountsTest, AsyncAllocationCountsOnTheDeviceOfItsStream) {
  CUstream stream = nullptr;
  CUdeviceptr address = 0;
  MakeCurrent(1);
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  MakeCurrent(0);
  ASSERT_EQ(::cuMemAllocAsync(&address, 4 * kMiB, stream), CUDA_SUCCESS);
  EXPECT_EQ(Usage(1).Need(), kContext + 4 * kMiB);
  ASSERT_NO_FATAL_FAILURE(ExpectEqual());
  MakeCurrent(0);
  EXPECT_EQ(::cuMemFreeAsync(address, stream), CUDA_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(ExpectEqual());
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

// Random calls of everything that takes memory of a device, most of them with another device
// current than the one concerned.
class RandomCalls {
 public:
  RandomCalls(std::uint64_t seed, int devices, std::vector<CUcontext> contexts)
      : random_(seed), devices_(devices), contexts_(std::move(contexts)) {}

  void Call() {
    MakeCurrent();
    if (!live_.empty() && (live_.size() >= kMaxLive || random_() % 2 == 0)) return EndOne();
    const auto kind = random_() % 100;
    if (kind < 60) return Allocate(1 + random_() % (kMiB / 4));
    if (kind < 70) return Allocate(1 + random_() % (4 * kMiB));
    if (kind < 75) return AllocatePitch();
    if (kind < 87) return AllocateFromPool();
    if (kind < 90) return MakeArray();
    if (kind < 94) return MakeHandle();
    if (kind < 98) return MakeGraph();
    MakeContext();
  }

  void EndAll() {
    while (!live_.empty()) EndOne();
    for (int device = 0; device < devices_; ++device) {
      EXPECT_EQ(Real().cuDeviceGraphMemTrim(device), CUDA_SUCCESS);
    }
  }

 private:
  static constexpr std::size_t kMaxLive = 24;

  int Device() { return static_cast<int>(random_() % static_cast<unsigned>(devices_)); }
  void MakeCurrent() {
    current_ = Device();
    Real().cuCtxSetCurrent(contexts_[static_cast<std::size_t>(current_)]);
  }
  // Records what ends an object, if it was made. A full device is no failure.
  void Made(CUresult result, std::function<CUresult()> end) {
    if (result == CUDA_SUCCESS) return live_.push_back(std::move(end));
    EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
  }
  void EndOne() {
    const auto at = live_.begin() + static_cast<std::ptrdiff_t>(random_() % live_.size());
    const std::function<CUresult()> end = std::move(*at);
    live_.erase(at);
    MakeCurrent();
    EXPECT_EQ(end(), CUDA_SUCCESS);
  }

  void Allocate(Bytes size) {
    CUdeviceptr address = 0;
    const CUresult result = ::cuMemAlloc_v2(&address, size);
    Made(result, [address] { return ::cuMemFree_v2(address); });
  }
  void AllocatePitch() {
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    const CUresult result =
        ::cuMemAllocPitch_v2(&address, &pitch, 1 + random_() % 4096, 1 + random_() % 512, 4);
    Made(result, [address] { return ::cuMemFree_v2(address); });
  }
  // From the default pool, or from a pool of the program's own, of any device.
  void AllocateFromPool() {
    CUdeviceptr address = 0;
    const Bytes size = 1 + random_() % (2 * kMiB);
    if (random_() % 2 == 0) {
      const CUresult result = ::cuMemAllocAsync(&address, size, nullptr);
      return Made(result, [address] { return ::cuMemFreeAsync(address, nullptr); });
    }
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {Device()}};
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(::cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    const CUresult result = ::cuMemAllocFromPoolAsync(&address, size, pool, nullptr);
    if (result != CUDA_SUCCESS) {
      EXPECT_EQ(::cuMemPoolDestroy(pool), CUDA_SUCCESS);
    }
    Made(result, [address, pool] {
      EXPECT_EQ(::cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
      return ::cuMemPoolDestroy(pool);
    });
  }
  void MakeArray() {
    CUDA_ARRAY_DESCRIPTOR flat{1 + random_() % 512, 1 + random_() % 512, CU_AD_FORMAT_FLOAT, 4};
    CUarray array = nullptr;
    const CUresult result = ::cuArrayCreate_v2(&array, &flat);
    Made(result, [array] { return ::cuArrayDestroy(array); });
  }
  // A handle that is mapped, and released while it is.
  void MakeHandle() {
    const Bytes size = (1 + random_() % 2) * swap::kGranularity;
    const CUmemAllocationProp properties = OnCard(Device());
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = ::cuMemCreate(&handle, size, &properties, 0);
    CUdeviceptr address = 0;
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(::cuMemAddressReserve(&address, size, 0, 0, 0), CUDA_SUCCESS);
      EXPECT_EQ(::cuMemMap(address, size, 0, handle, 0), CUDA_SUCCESS);
      EXPECT_EQ(::cuMemRelease(handle), CUDA_SUCCESS);
    }
    Made(result, [address, size] {
      EXPECT_EQ(::cuMemUnmap(address, size), CUDA_SUCCESS);
      return ::cuMemAddressFree(address, size);
    });
  }
  void MakeGraph() {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    CUgraphNode node = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS memory{};
    memory.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {Device()}};
    memory.bytesize = 1 + random_() % (4 * kMiB);
    ASSERT_EQ(Real().cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(::cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &memory), CUDA_SUCCESS);
    ASSERT_EQ(::cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    const CUresult launched =
        random_() % 2 == 0 ? ::cuGraphLaunch(executable, nullptr) : CUDA_SUCCESS;
    EXPECT_TRUE(launched == CUDA_SUCCESS || launched == CUDA_ERROR_OUT_OF_MEMORY) << launched;
    Made(CUDA_SUCCESS, [graph, executable] {
      EXPECT_EQ(Real().cuGraphExecDestroy(executable), CUDA_SUCCESS);
      return Real().cuGraphDestroy(graph);
    });
  }
  // A further context, with memory that goes with it.
  void MakeContext() {
    CUcontext context = nullptr;
    const CUresult result = ::cuCtxCreate_v2(&context, 0, Device());
    if (result == CUDA_SUCCESS) {
      CUdeviceptr address = 0;
      ::cuMemAlloc_v2(&address, 1 + random_() % (2 * kMiB));
      ::cuMemAlloc_v2(&address, 1 + random_() % kMiB);
      EXPECT_EQ(Real().cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS);
    }
    Made(result, [context] { return ::cuCtxDestroy_v2(context); });
  }

  std::mt19937_64 random_;
  const int devices_;
  const std::vector<CUcontext> contexts_;
  int current_ = 0;
  std::vector<std::function<CUresult()>> live_;
};

class RandomAccountsTest : public AccountsTest, public ::testing::WithParamInterface<int> {};

TEST_P(RandomAccountsTest, EqualTheDriversAfterRandomCalls) {
  constexpr int kCalls = 25'000;  // in each of four cases
  RandomCalls calls(/*seed=*/17, /*devices=*/GetParam(), contexts_);
  for (int i = 1; i <= kCalls; ++i) {
    ASSERT_NO_FATAL_FAILURE(calls.Call());
    if (i % 250 == 0) {
      ASSERT_NO_FATAL_FAILURE(ExpectEqual()) << "after " << i << " calls";
    }
    ASSERT_FALSE(HasFailure()) << "at call " << i;
  }
  calls.EndAll();
  ASSERT_NO_FATAL_FAILURE(ExpectEqual());
  for (int device = 0; device < 2; ++device) EXPECT_EQ(Usage(device).Need(), kContext);
}

INSTANTIATE_TEST_SUITE_P(Devices, RandomAccountsTest, ::testing::Values(1, 2));

}  // namespace accounts_test
}  // namespace reveza::interpose
