// Fixture for tests of the hooks: a client in this process on fakecuda, without a daemon; the test
// itself swaps the memory.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/swap/mover.h"

namespace reveza::interpose::testing {

inline constexpr Bytes kBudget = 160 * kMiB;  // of 256 MiB
inline constexpr Bytes kLarge = 80 * kMiB;    // two pieces

// Sets up fake GPUs private to this process before the first call.
class FakeGpu : public ::testing::Environment {
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

inline const ::testing::Environment* const fake_gpu =
    ::testing::AddGlobalTestEnvironment(new FakeGpu);

inline CUmemAllocationProp OnCard(int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

inline CUmemAccessDesc ReadWrite(int ordinal) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, {ordinal}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

class HookEffects : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Real().cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(::cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_NE(Client::Get(), nullptr) << "the first context creates the client";
  }
  void TearDown() override { EXPECT_EQ(::cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS); }

  static swap::Ledger& ledger() { return Client::Get()->ledger(); }
  static swap::MemoryUsage Usage(int ordinal = 0) { return ledger().GetUsage(ordinal); }

  // Swaps out everything, as the agent does behind a closed gate.
  static void SwapOut() {
    swap::Mover mover(Client::Get()->swap_driver(), ledger());
    const swap::EvictResult result =
        mover.Evict(0, ~Bytes{0} / 2, [](void*, int, Bytes) {}, nullptr);
    ASSERT_EQ(result.failure, swap::EvictFailure::kNone);
    ASSERT_EQ(Usage().resident, 0u);
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
    EXPECT_TRUE(words == Pattern(bytes)) << "contents lost";
  }

  // A handle of `bytes`, mapped at a new address.
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

}  // namespace reveza::interpose::testing
