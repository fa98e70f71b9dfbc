// Managed memory takes memory of a device while its granules are there.
#include <cuda.h>
#include <gtest/gtest.h>

#include "fakecuda/driver_fixture.h"

namespace fakecuda {
namespace managed_test {

constexpr size_t kBytes = 4 * kGranuleBytes;

class ManagedTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(DRIVER(cuMemAllocManaged)(&memory_, kBytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  }
  CUresult Prefetch(CUdeviceptr address, size_t bytes, CUdevice target) {
    using Function = CUresult (*)(CUdeviceptr, size_t, CUdevice, CUstream);
    const auto prefetch = reinterpret_cast<Function>(Symbol("cuMemPrefetchAsync"));
    const CUresult result = prefetch(address, bytes, target, nullptr);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
    return result;
  }
  void Touch(CUdeviceptr address, size_t bytes) {
    ASSERT_EQ(DRIVER(cuMemsetD8)(address, 1, bytes), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
  }

  CUdeviceptr memory_ = 0;
};

TEST_F(ManagedTest, ComesWithItsFirstUseAndIsFreed) {
  EXPECT_EQ(Counter("managed"), 0u);
  const unsigned long long faults = Counter("faults");
  Touch(memory_ + 1, kGranuleBytes);
  EXPECT_EQ(Counter("managed"), 2 * kGranuleBytes);
  EXPECT_EQ(Counter("faults") - faults, 2u);
  Touch(memory_, kBytes);
  EXPECT_EQ(Counter("managed"), kBytes);
  EXPECT_EQ(Counter("faults") - faults, 4u);
  EXPECT_EQ(DRIVER(cuMemFree)(memory_), CUDA_SUCCESS);
  EXPECT_EQ(Counter("managed"), 0u);
}

TEST_F(ManagedTest, PrefetchesMoveItOverTheLink) {
  const unsigned long long to = Counter("bytes_to_device"), from = Counter("bytes_from_device");
  const unsigned long long faults = Counter("faults");
  EXPECT_EQ(Prefetch(memory_, kBytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(Counter("managed"), kBytes);
  EXPECT_EQ(Counter("bytes_to_device") - to, kBytes);
  Touch(memory_, kBytes);
  EXPECT_EQ(Counter("faults"), faults);
  EXPECT_EQ(Prefetch(memory_ + kGranuleBytes, kGranuleBytes, CU_DEVICE_CPU), CUDA_SUCCESS);
  EXPECT_EQ(Counter("managed"), kBytes - kGranuleBytes);
  EXPECT_EQ(Counter("bytes_from_device") - from, kGranuleBytes);
}

TEST_F(ManagedTest, RefusesWhatIsNotManaged) {
  CUdeviceptr other = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&other, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(Prefetch(other, kBytes, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Prefetch(memory_, kBytes + 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Prefetch(memory_, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Prefetch(memory_, kBytes, 9), CUDA_ERROR_INVALID_DEVICE);
}

// It is used where it is.
TEST_F(ManagedTest, StaysOnTheHostIfTheDeviceIsFull) {
  std::size_t free = 0, total = 0;
  ASSERT_EQ(DRIVER(cuMemGetInfo)(&free, &total), CUDA_SUCCESS);
  CUdeviceptr rest = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&rest, free - kGranuleBytes), CUDA_SUCCESS);
  Touch(memory_, kBytes);
  EXPECT_EQ(Counter("managed"), kGranuleBytes);
}

}  // namespace managed_test
}  // namespace fakecuda
