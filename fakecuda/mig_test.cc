// MIG instances (FAKECUDA_MIG) as the driver and NVML show them.
#include <nvml.h>

#include <cstring>
#include <string>

#include "fakecuda/driver_fixture.h"

namespace fakecuda {
namespace mig_test {

// Must run before the driver is loaded, which reads the variable once.
class MigTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("FAKECUDA_MIG", "16MiB,32MiB", 1); }
  void SetUp() override { ASSERT_EQ(DRIVER(cuInit)(0), CUDA_SUCCESS); }

  template <typename Get>
  static std::string Uuid(Get get, CUdevice device) {
    CUuuid uuid{};
    EXPECT_EQ(get(&uuid, device), CUDA_SUCCESS);
    return {uuid.bytes, sizeof uuid.bytes};
  }
};

TEST_F(MigTest, InstancesHaveOwnSizesAndUuids) {
  int count = 0;
  ASSERT_EQ(DRIVER(cuDeviceGetCount)(&count), CUDA_SUCCESS);
  ASSERT_EQ(count, 2);
  size_t small = 0, large = 0;
  ASSERT_EQ(DRIVER(cuDeviceTotalMem)(&small, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuDeviceTotalMem)(&large, 1), CUDA_SUCCESS);
  EXPECT_EQ(small, size_t{16} << 20);
  EXPECT_EQ(large, size_t{32} << 20);
  const auto card = reinterpret_cast<CUresult (*)(CUuuid*, CUdevice)>(Symbol("cuDeviceGetUuid"));
  const auto own = reinterpret_cast<CUresult (*)(CUuuid*, CUdevice)>(Symbol("cuDeviceGetUuid_v2"));
  EXPECT_EQ(Uuid(card, 0), Uuid(card, 1));
  EXPECT_NE(Uuid(own, 0), Uuid(own, 1));
  EXPECT_NE(Uuid(own, 0), Uuid(card, 0));
}

TEST_F(MigTest, MemoryIsLimitedPerInstance) {
  for (const CUdevice device : {0, 1}) {
    CUcontext context = nullptr;
    ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRetain)(&context, device), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuCtxSetCurrent)(context), CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    EXPECT_EQ(DRIVER(cuMemAlloc)(&memory, 20 << 20),
              device == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuDevicePrimaryCtxReset)(device), CUDA_SUCCESS);
  }
  int can = 1;
  EXPECT_EQ(DRIVER(cuDeviceCanAccessPeer)(&can, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(can, 0);
}

TEST_F(MigTest, NvmlKnowsOneCardAndNotTheMemoryOfItsProcesses) {
  CUcontext context = nullptr;
  ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRetain)(&context, 1), CUDA_SUCCESS);
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  ASSERT_NE(library, nullptr);
#define NVML(name) reinterpret_cast<decltype(&name)>(dlsym(library, #name))
  unsigned count = 0;
  ASSERT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 1u);
  nvmlDevice_t device{};
  ASSERT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
  nvmlMemory_t memory{};
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, 48ull << 20);
  EXPECT_GT(memory.used, 0u);
  nvmlProcessInfo_t processes[4];
  count = 4;
  ASSERT_EQ(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(device, &count, processes), NVML_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(processes[0].usedGpuMemory, static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE));
#undef NVML
  EXPECT_EQ(DRIVER(cuDevicePrimaryCtxReset)(1), CUDA_SUCCESS);
}

}  // namespace mig_test
}  // namespace fakecuda
