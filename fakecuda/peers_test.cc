// Tests of peer access and interprocess memory.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "fakecuda/driver_fixture.h"

extern char** environ;

namespace fakecuda {
namespace peers_test {

// Two devices; must run before the driver is loaded.
class PeersTest : public DriverTest {
 protected:
  static void SetUpTestSuite() { setenv("FAKECUDA_DEVICES", "2", 1); }
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRetain)(&other_, 1), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuMemAlloc)(&memory_, kGranuleBytes), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(DRIVER(cuDevicePrimaryCtxReset)(1), CUDA_SUCCESS);
    DriverTest::TearDown();
  }
  void UseDevice(int device) {
    ASSERT_EQ(DRIVER(cuCtxSetCurrent)(device == 0 ? context_ : other_), CUDA_SUCCESS);
  }
  // Returns whether a kernel on `device` can write the memory. If not, its context is lost.
  CUresult WriteFrom(int device, CUdeviceptr memory, unsigned value) {
    UseDevice(device);
    const CUresult launched = Fill(memory, 16, value, nullptr);
    return launched == CUDA_SUCCESS ? DRIVER(cuCtxSynchronize)() : launched;
  }

  CUcontext other_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(PeersTest, NoPeerAccessByDefault) {
  EXPECT_EQ(WriteFrom(1, memory_, 5), CUDA_ERROR_ILLEGAL_ADDRESS);
  UseDevice(0);
  EXPECT_EQ(ReadWord(memory_), 0xDBDBDBDBu) << "the owner goes on";
}

TEST_F(PeersTest, PeerAccessCanBeEnabledAndDisabled) {
  int possible = 0;
  ASSERT_EQ(DRIVER(cuDeviceCanAccessPeer)(&possible, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(possible, 1);
  UseDevice(1);
  EXPECT_EQ(DRIVER(cuCtxDisablePeerAccess)(context_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  ASSERT_EQ(DRIVER(cuCtxEnablePeerAccess)(context_, 0), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuCtxEnablePeerAccess)(context_, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(WriteFrom(1, memory_, 5), CUDA_SUCCESS);
  UseDevice(0);
  EXPECT_EQ(ReadWord(memory_), 5u);
  CUdeviceptr later = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&later, kGranuleBytes), CUDA_SUCCESS);
  EXPECT_EQ(WriteFrom(1, later, 6), CUDA_SUCCESS) << "what is allocated later, too";
  ASSERT_EQ(DRIVER(cuCtxDisablePeerAccess)(context_), CUDA_SUCCESS);
  EXPECT_EQ(WriteFrom(1, memory_, 7), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(PeersTest, MappedMemoryIsAccessibleToNamedDevicesOnly) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = Properties();
  CUmemAccessDesc access = Access();
  access.location.id = 1;
  ASSERT_EQ(DRIVER(cuMemAddressReserve)(&range, kGranuleBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemCreate)(&handle, kGranuleBytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemSetAccess)(range, kGranuleBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(WriteFrom(1, range, 5), CUDA_SUCCESS);
  EXPECT_EQ(WriteFrom(0, range, 6), CUDA_ERROR_ILLEGAL_ADDRESS) << "though it is its memory";
}

TEST_F(PeersTest, PeerCopiesNeedNoPeerAccess) {
  UseDevice(1);
  CUdeviceptr there = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&there, kGranuleBytes), CUDA_SUCCESS);
  ASSERT_EQ(WriteFrom(0, memory_, 8), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemcpyPeer)(there, other_, memory_, context_, 64), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
  UseDevice(1);
  EXPECT_EQ(ReadWord(there + 60), 8u);
}

// As the driver on two H200 does (bench/results/2026-11-28-NVIDIA-H200-x2/peer-copies.log).
TEST_F(PeersTest, OtherCopiesNeedAccessToMappedMemoryAndFillsToAll) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = Properties();
  CUmemAccessDesc access = Access();
  unsigned word = 0;
  ASSERT_EQ(DRIVER(cuMemAddressReserve)(&range, kGranuleBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemCreate)(&handle, kGranuleBytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemSetAccess)(range, kGranuleBytes, &access, 1), CUDA_SUCCESS);
  UseDevice(1);
  EXPECT_EQ(DRIVER(cuMemcpyDtoH)(&word, memory_, 4), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemsetD8)(memory_, 1, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemsetD8)(range, 1, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemcpyDtoH)(&word, range, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemcpyHtoD)(range, &word, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemcpyDtoD)(range + 64, range, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemcpyDtoD)(memory_, range, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemcpyPeer)(memory_, context_, range, context_, 4), CUDA_SUCCESS);
  access.location.id = 1;
  ASSERT_EQ(DRIVER(cuMemSetAccess)(range, kGranuleBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemsetD8)(range, 1, 64), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemcpyDtoH)(&word, range, 4), CUDA_SUCCESS);
  EXPECT_EQ(word, 0x01010101u);
}

// ---- CUDA IPC ----

std::string ToText(const CUipcMemHandle& handle) {
  std::string text;
  for (const char byte : handle.reserved) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

CUipcMemHandle FromText(const char* text) {
  CUipcMemHandle handle = {};
  for (size_t i = 0; i < sizeof handle.reserved; ++i) {
    const char digits[] = {text[2 * i], text[2 * i + 1], '\0'};
    handle.reserved[i] = static_cast<char>(std::strtoul(digits, nullptr, 16));
  }
  return handle;
}

// Child process of IpcHandleOpensSameMemory.
TEST_F(PeersTest, DISABLED_OpenAndWrite) {
  const CUipcMemHandle handle = FromText(getenv("FAKECUDA_TEST_HANDLE"));
  CUdeviceptr shared = 0, twice = 0;
  ASSERT_EQ(DRIVER(cuIpcOpenMemHandle)(&shared, handle, 2), CUDA_ERROR_INVALID_VALUE);
  const unsigned flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
  ASSERT_EQ(DRIVER(cuIpcOpenMemHandle)(&shared, handle, flags), CUDA_SUCCESS);
  EXPECT_NE(DRIVER(cuIpcOpenMemHandle)(&twice, handle, flags), CUDA_SUCCESS);
  EXPECT_EQ(ReadWord(shared), 3u);
  ASSERT_EQ(Fill(shared, 16, 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemFree)(shared), CUDA_ERROR_INVALID_VALUE) << "it is not its own";
  EXPECT_EQ(DRIVER(cuIpcCloseMemHandle)(shared), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuIpcCloseMemHandle)(shared), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PeersTest, IpcHandleOpensSameMemory) {
  ASSERT_EQ(WriteFrom(0, memory_, 3), CUDA_SUCCESS);
  CUipcMemHandle handle = {};
  ASSERT_EQ(DRIVER(cuIpcGetMemHandle)(&handle, memory_), CUDA_SUCCESS);
  CUdeviceptr own = 0;
  EXPECT_EQ(DRIVER(cuIpcOpenMemHandle)(&own, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_CONTEXT);
  setenv("FAKECUDA_TEST_HANDLE", ToText(handle).c_str(), 1);
  char program[] = "/proc/self/exe", disabled[] = "--gtest_also_run_disabled_tests";
  char filter[] = "--gtest_filter=PeersTest.DISABLED_OpenAndWrite";
  char* arguments[] = {program, disabled, filter, nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program, nullptr, nullptr, arguments, environ), 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  UseDevice(0);
  EXPECT_EQ(ReadWord(memory_), 4u);
  EXPECT_EQ(DRIVER(cuMemFree)(memory_), CUDA_SUCCESS);
}

TEST_F(PeersTest, MappedMemoryHasNoIpcHandle) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = Properties();
  ASSERT_EQ(DRIVER(cuMemAddressReserve)(&range, kGranuleBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemCreate)(&handle, kGranuleBytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, 0, handle, 0), CUDA_SUCCESS);
  CUipcMemHandle shared = {};
  EXPECT_EQ(DRIVER(cuIpcGetMemHandle)(&shared, range), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace peers_test
}  // namespace fakecuda
