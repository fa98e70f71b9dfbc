// Tests of FAKECUDA_FAIL and FAKECUDA_LAZY_BYTES.
#include "fakecuda/driver_fixture.h"

namespace fakecuda {
namespace failure_test {

// Must run before the driver is loaded, which reads them once.
class FailureTest : public DriverTest {
 protected:
  static void SetUpTestSuite() {
    setenv("FAKECUDA_FAIL", "cuMemCreate:2:2", 1);
    setenv("FAKECUDA_LAZY_BYTES", "4MiB", 1);
  }
};

TEST_F(FailureTest, OnlyTheInjectedCallFails) {
  const CUmemAllocationProp properties = Properties();
  CUmemGenericAllocationHandle handles[3] = {};
  const auto create = DRIVER(cuMemCreate);
  EXPECT_EQ(create(&handles[0], kGranuleBytes, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(create(&handles[1], kGranuleBytes, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(create(&handles[2], kGranuleBytes, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemRelease)(handles[0]), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemRelease)(handles[2]), CUDA_SUCCESS);
}

TEST_F(FailureTest, FirstLaunchTakesCodeMemoryOnce) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&memory, 4096), CUDA_SUCCESS);
  const size_t before = FreeBytes();
  ASSERT_EQ(Fill(memory, 16, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), before - (4 << 20));
  ASSERT_EQ(Fill(memory, 16, 2, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), before - (4 << 20));
  EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
}

}  // namespace failure_test
}  // namespace fakecuda
