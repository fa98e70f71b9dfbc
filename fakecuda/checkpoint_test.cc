// Tests of cuCheckpointProcess...
#include <atomic>
#include <thread>

#include "fakecuda/driver_fixture.h"

namespace fakecuda {
namespace checkpoint_test {

class CheckpointTest : public DriverTest {
 protected:
  static CUresult Lock() { return DRIVER(cuCheckpointProcessLock)(getpid(), nullptr); }
  static CUresult Checkpoint() { return DRIVER(cuCheckpointProcessCheckpoint)(getpid(), nullptr); }
  static CUresult Restore() { return DRIVER(cuCheckpointProcessRestore)(getpid(), nullptr); }
  static CUresult Unlock() { return DRIVER(cuCheckpointProcessUnlock)(getpid(), nullptr); }
  static unsigned long long OnDevice() {
    return reinterpret_cast<unsigned long long (*)(const char*)>(Symbol("fakecudaCounter"))(
        "all.resident");
  }
};

TEST_F(CheckpointTest, TakesAllMemoryAndBringsItBack) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&memory, 4 << 20), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemsetD8)(memory, 7, 4 << 20), CUDA_SUCCESS);
  const auto before = OnDevice();
  ASSERT_GE(before, 6u << 20);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(Lock(), CUDA_SUCCESS);
    ASSERT_EQ(Checkpoint(), CUDA_SUCCESS);
    EXPECT_EQ(OnDevice(), 0u);
    CUcontext current = nullptr;
    EXPECT_EQ(DRIVER(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, context_);
    ASSERT_EQ(Restore(), CUDA_SUCCESS);
    ASSERT_EQ(Unlock(), CUDA_SUCCESS);
    EXPECT_EQ(OnDevice(), before);
  }
  unsigned char byte = 0;
  EXPECT_EQ(DRIVER(cuMemcpyDtoH)(&byte, memory + 12345, 1), CUDA_SUCCESS);
  EXPECT_EQ(byte, 7);
  EXPECT_EQ(DRIVER(cuMemFree)(memory), CUDA_SUCCESS);
}

TEST_F(CheckpointTest, CallsInAnotherStateAreRefused) {
  EXPECT_EQ(Unlock(), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(Checkpoint(), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(Restore(), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(Lock(), CUDA_SUCCESS);
  EXPECT_EQ(Lock(), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(Restore(), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(Checkpoint(), CUDA_SUCCESS);
  EXPECT_EQ(Unlock(), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(Restore(), CUDA_SUCCESS);
  EXPECT_EQ(Unlock(), CUDA_SUCCESS);
}

TEST_F(CheckpointTest, SubmissionsAndAllocationsWait) {
  ASSERT_EQ(Lock(), CUDA_SUCCESS);
  std::atomic<bool> done = false;
  std::thread other([&] {
    DRIVER(cuCtxSetCurrent)(context_);
    CUdeviceptr memory = 0;
    EXPECT_EQ(DRIVER(cuMemAlloc)(&memory, 4096), CUDA_SUCCESS);
    done = true;
    EXPECT_EQ(DRIVER(cuMemFree)(memory), CUDA_SUCCESS);
  });
  usleep(20'000);
  EXPECT_FALSE(done);
  ASSERT_EQ(Checkpoint(), CUDA_SUCCESS);
  ASSERT_EQ(Restore(), CUDA_SUCCESS);
  ASSERT_EQ(Unlock(), CUDA_SUCCESS);
  other.join();
}

TEST_F(CheckpointTest, AnyOtherCallIsFatal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // runs this program again
  EXPECT_DEATH(
      {
        Lock();
        Checkpoint();
        size_t free = 0;
        size_t total = 0;
        DRIVER(cuMemGetInfo)(&free, &total);
      },
      "cuMemGetInfo_v2 while the process is locked");
  EXPECT_DEATH(
      {
        Lock();
        DRIVER(cuEventQuery)(nullptr);
      },
      "cuEventQuery while the process is locked");
}

TEST_F(CheckpointTest, ManagedMemoryIsRefused) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuMemAllocManaged)(&memory, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(Lock(), CUDA_SUCCESS);
  EXPECT_EQ(Checkpoint(), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Unlock(), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemFree)(memory), CUDA_SUCCESS);
}

TEST_F(CheckpointTest, WithoutRoomTheRestoreBreaksTheProcess) {
  ASSERT_EQ(Lock(), CUDA_SUCCESS);
  ASSERT_EQ(Checkpoint(), CUDA_SUCCESS);
  // Another process takes all memory: a copy of this program.
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      self +
      " --gtest_filter=CheckpointTest.DISABLED_HoldsAllMemory --gtest_also_run_disabled_tests";
  FILE* other = popen(command.c_str(), "r");
  ASSERT_NE(other, nullptr);
  char line[256];
  bool holds = false;
  while (!holds && fgets(line, sizeof line, other) != nullptr) {
    holds = std::string(line).starts_with("holds");
  }
  ASSERT_TRUE(holds);
  EXPECT_EQ(Restore(), CUDA_ERROR_OUT_OF_MEMORY);
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(DRIVER(cuMemGetInfo)(&free, &total), CUDA_ERROR_UNKNOWN);
  pclose(other);
  _exit(testing::UnitTest::GetInstance()->Passed() ? 0 : 1);  // the last test: the driver is broken
}

TEST_F(CheckpointTest, DISABLED_HoldsAllMemory) {
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(DRIVER(cuMemGetInfo)(&free, &total), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&memory, free), CUDA_SUCCESS);
  printf("\nholds\n");
  fflush(stdout);
  sleep(2);
}

}  // namespace checkpoint_test
}  // namespace fakecuda
