// Tests of CUDA semantics: memory, streams, captures, processes.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "fakecuda/driver_fixture.h"

extern char** environ;

namespace fakecuda {
namespace driver_test {

TEST_F(DriverTest, NewMemoryIsPoisonedAndWritable) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&memory, 4096), CUDA_SUCCESS);
  EXPECT_EQ(ReadWord(memory), 0xDBDBDBDBu);
  ASSERT_EQ(Fill(memory, 1024, 7, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ReadWord(memory + 4092), 7u);
  EXPECT_EQ(DRIVER(cuMemFree)(memory), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemFree)(memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, AllocationsCannotExceedDeviceMemory) {
  CUdeviceptr first = 0, second = 0;
  const size_t most = FreeBytes();
  ASSERT_EQ(DRIVER(cuMemAlloc)(&first, most), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemAlloc)(&second, 1), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(DRIVER(cuMemFree)(first), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), most);
}

TEST_F(DriverTest, UnmappedAccessFailsContextPermanently) {
  CUdeviceptr range = 0;
  ASSERT_EQ(DRIVER(cuMemAddressReserve)(&range, kGranuleBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(Fill(range, 16, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr memory = 0;
  EXPECT_EQ(DRIVER(cuMemAlloc)(&memory, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(DRIVER(cuMemAddressFree)(range, kGranuleBytes), CUDA_SUCCESS);
}

TEST_F(DriverTest, MappedMemoryNeedsAccessAndKeepsContents) {
  const CUmemAllocationProp properties = Properties();
  const CUmemAccessDesc access = Access();
  CUmemGenericAllocationHandle a = 0, b = 0;
  CUdeviceptr range = 0;
  ASSERT_EQ(DRIVER(cuMemCreate)(&a, kGranuleBytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemCreate)(&b, kGranuleBytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemAddressReserve)(&range, 2 * kGranuleBytes, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, 4096, a, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, kGranuleBytes, a, 0), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, 0, a, 0), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, 0, b, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(DRIVER(cuMemMap)(range + kGranuleBytes, kGranuleBytes, 0, b, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemSetAccess)(range, 2 * kGranuleBytes, &access, 1), CUDA_SUCCESS);
  ASSERT_EQ(Fill(range, kGranuleBytes / 2, 9, nullptr), CUDA_SUCCESS);  // over both
  ASSERT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemUnmap)(range, kGranuleBytes / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemAddressFree)(range, 2 * kGranuleBytes), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(DRIVER(cuMemUnmap)(range, 2 * kGranuleBytes), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, 0, b, 0), CUDA_SUCCESS);
  unsigned long long flags = 77;
  const CUmemLocation device = access.location;
  EXPECT_EQ(DRIVER(cuMemGetAccess)(&flags, &device, range), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);  // access is lost with the mapping
  ASSERT_EQ(DRIVER(cuMemSetAccess)(range, kGranuleBytes, &access, 1), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemRelease)(b), CUDA_SUCCESS);
  EXPECT_EQ(ReadWord(range), 9u);  // memory released while mapped stays valid
  ASSERT_EQ(DRIVER(cuMemUnmap)(range, kGranuleBytes), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemRelease)(b), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemRelease)(a), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemAddressFree)(range, 2 * kGranuleBytes), CUDA_SUCCESS);
}

TEST_F(DriverTest, ExportedDescriptorKeepsMemory) {
  const CUmemAllocationProp properties = Properties();
  const CUmemAccessDesc access = Access();
  const size_t before = FreeBytes();
  CUmemGenericAllocationHandle handle = 0, imported = 0;
  CUdeviceptr range = 0;
  int file = -1;
  ASSERT_EQ(DRIVER(cuMemCreate)(&handle, kGranuleBytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemExportToShareableHandle)(&file, handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemRelease)(handle), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), before - kGranuleBytes);
  ASSERT_EQ(DRIVER(cuMemImportFromShareableHandle)(
                &imported, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  ASSERT_EQ(close(file), 0);
  ASSERT_EQ(DRIVER(cuMemAddressReserve)(&range, kGranuleBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemMap)(range, kGranuleBytes, 0, imported, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemSetAccess)(range, kGranuleBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(ReadWord(range), 0xDBDBDBDBu);
  ASSERT_EQ(DRIVER(cuMemUnmap)(range, kGranuleBytes), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemRelease)(imported), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemAddressFree)(range, kGranuleBytes), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), before);
}

TEST_F(DriverTest, LegacyWorkInvalidatesCaptureOfBlockingStream) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&memory, 4096), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemsetD8Async)(memory, 0, 16, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(DRIVER(cuStreamEndCapture)(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(DriverTest, PoolMemoryIsReleasedAtSynchronisation) {
  const size_t before = FreeBytes();
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemAllocAsync)(&memory, kGranuleBytes, stream), CUDA_SUCCESS);
  ASSERT_EQ(Fill(memory, 16, 5, stream), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemFreeAsync)(memory, stream), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), before);
}

void SetFlag(void* flag) { static_cast<std::atomic<int>*>(flag)->store(1); }

TEST_F(DriverTest, StreamRunsInOrder) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  std::atomic<int> flag = 0;
  ASSERT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuEventCreate)(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuEventQuery)(event), CUDA_SUCCESS);  // never recorded
  ASSERT_EQ(DRIVER(cuLaunchHostFunc)(stream, SetFlag, &flag), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuEventRecord)(event, stream), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuEventSynchronize)(event), CUDA_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(DRIVER(cuStreamDestroy)(stream), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, CapturedGraphCanBeRelaunched) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemAlloc)(&memory, 4096), CUDA_SUCCESS);
  const CUfunction fill = Kernel("reveza_fill");
  ASSERT_EQ(DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  size_t words = 1024;
  unsigned value = 3;
  void* parameters[] = {&memory, &words, &value};
  ASSERT_EQ(DRIVER(cuLaunchKernel)(fill, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(ReadWord(memory), 0xDBDBDBDBu);  // captured, not executed
  ASSERT_EQ(DRIVER(cuGraphInstantiate)(&executable, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuGraphLaunch)(executable, stream), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(ReadWord(memory), 3u);
}

TEST_F(DriverTest, ContextSynchroniseInvalidatesCapture) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  ASSERT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(DRIVER(cuStreamEndCapture)(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(DriverTest, GetProcAddressSelectsVersion) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const auto resolve = DRIVER(cuGetProcAddress);
  ASSERT_EQ(resolve("cuMemAlloc", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, Symbol("cuMemAlloc_v2"));
  ASSERT_EQ(resolve("cuCtxCreate", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, Symbol("cuCtxCreate_v3"));
  ASSERT_EQ(resolve("cuLaunchKernel", &function, 12000,
                    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
            CUDA_SUCCESS);
  EXPECT_EQ(function, Symbol("cuLaunchKernel_ptsz"));
  resolve("cuMemCreate", &function, 9000, 0, &status);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(function, nullptr);
}

// Child process of KilledProcessFreesMemory.
TEST_F(DriverTest, DISABLED_HoldMemory) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&memory, 64 << 20), CUDA_SUCCESS);
  ASSERT_EQ(write(STDOUT_FILENO, "!", 1), 1);
  while (true) pause();
}

TEST_F(DriverTest, KilledProcessFreesMemory) {
  const size_t before = FreeBytes();
  int output[2];
  ASSERT_EQ(pipe(output), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  char program[] = "/proc/self/exe", disabled[] = "--gtest_also_run_disabled_tests";
  char filter[] = "--gtest_filter=DriverTest.DISABLED_HoldMemory";
  char* arguments[] = {program, disabled, filter, nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program, &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(output[1]);
  char byte = 0;
  while (byte != '!') ASSERT_EQ(read(output[0], &byte, 1), 1);
  EXPECT_LE(FreeBytes(), before - (64 << 20));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(output[0]);
  EXPECT_EQ(FreeBytes(), before);
}

TEST_F(DriverTest, ForkedChildIsNotInitialised) {
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr memory = 0;
    _exit(DRIVER(cuMemAlloc)(&memory, 16) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace driver_test
}  // namespace fakecuda
