// Virtual memory management of host memory: CU_MEM_LOCATION_TYPE_HOST_NUMA.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "fakecuda/driver_fixture.h"

namespace fakecuda {
namespace host_vmm_test {

constexpr auto kHostVirtualMemory = static_cast<CUdevice_attribute>(141);
constexpr std::size_t kBytes = 4 * kGranuleBytes;

CUmemAllocationProp OnNode(int node) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  properties.location.id = node;
  return properties;
}

class HostVmmTest : public DriverTest {
 protected:
  CUresult Create(int node, CUmemGenericAllocationHandle* handle) {
    const CUmemAllocationProp properties = OnNode(node);
    return DRIVER(cuMemCreate)(handle, kBytes, &properties, 0);
  }
  // Maps memory of the host, without access.
  CUdeviceptr Map() {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(Create(0, &handle), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(DRIVER(cuMemAddressReserve)(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemMap)(address, kBytes, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemRelease)(handle), CUDA_SUCCESS);
    return address;
  }
  void Unmap(CUdeviceptr address) {
    EXPECT_EQ(DRIVER(cuMemUnmap)(address, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemAddressFree)(address, kBytes), CUDA_SUCCESS);
  }
};

TEST_F(HostVmmTest, TakesNoDeviceMemoryAndPassesOverTheLink) {
  const std::size_t free = FreeBytes();
  const CUdeviceptr address = Map();
  const CUmemAccessDesc access = Access();
  ASSERT_EQ(DRIVER(cuMemSetAccess)(address, kBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), free);
  EXPECT_EQ(Counter("on_host"), kBytes);
  const unsigned long long written = Counter("bytes_from_device");
  ASSERT_EQ(Fill(address, kBytes / 4, 7, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
  EXPECT_EQ(Counter("bytes_from_device") - written, kBytes);
  EXPECT_EQ(ReadWord(address + kBytes - 4), 7u);
  Unmap(address);
  EXPECT_EQ(Counter("on_host"), 0u);
}

TEST_F(HostVmmTest, DeviceNeedsAccess) {
  const CUdeviceptr address = Map();
  ASSERT_EQ(Fill(address, 1, 7, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(HostVmmTest, HostAccessIsForMemoryOfTheHostOnly) {
  CUmemAccessDesc access = Access();
  access.location = OnNode(0).location;
  const CUdeviceptr address = Map();
  EXPECT_EQ(DRIVER(cuMemSetAccess)(address, kBytes, &access, 1), CUDA_SUCCESS);
  Unmap(address);
  const CUmemAllocationProp properties = Properties();
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(DRIVER(cuMemCreate)(&handle, kBytes, &properties, 0), CUDA_SUCCESS);
  CUdeviceptr on_device = 0;
  ASSERT_EQ(DRIVER(cuMemAddressReserve)(&on_device, kBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemMap)(on_device, kBytes, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemSetAccess)(on_device, kBytes, &access, 1), CUDA_ERROR_INVALID_VALUE);
  Unmap(on_device);
  EXPECT_EQ(DRIVER(cuMemRelease)(handle), CUDA_SUCCESS);
}

TEST_F(HostVmmTest, OtherNodesAreInvalid) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(Create(1, &handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(-1, &handle), CUDA_ERROR_INVALID_VALUE);
}

// In a process that has not loaded a driver: it reads its settings when it is loaded.
struct Drivers {
  const char* name;
  const char* value;
  CUresult attribute;
  int supported;
  CUresult create;
};

void PrintTo(const Drivers& drivers, std::ostream* out) {
  *out << drivers.name << "=" << drivers.value;
}

class HostVmmDriversTest : public testing::TestWithParam<Drivers> {};

TEST_P(HostVmmDriversTest, HaveTheirAttributeAndAnswer) {
  const Drivers& expected = GetParam();
  const auto check = [&] {
    setenv(expected.name, expected.value, 1);
    DRIVER(cuInit)(0);
    CUcontext context = nullptr;
    DRIVER(cuDevicePrimaryCtxRetain)(&context, 0);
    int supported = 0;
    const CUresult attribute = DRIVER(cuDeviceGetAttribute)(&supported, kHostVirtualMemory, 0);
    const CUmemAllocationProp properties = OnNode(0);
    CUmemGenericAllocationHandle handle = 0;
    const CUresult created = DRIVER(cuMemCreate)(&handle, kBytes, &properties, 0);
    return attribute == expected.attribute && supported == expected.supported &&
           created == expected.create;
  };
  EXPECT_EXIT(_exit(check() ? 0 : 1), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(
    Settings, HostVmmDriversTest,
    testing::Values(
        Drivers{"FAKECUDA_DRIVER", "11.8", CUDA_ERROR_INVALID_VALUE, 0, CUDA_ERROR_INVALID_VALUE},
        Drivers{"FAKECUDA_DRIVER", "12.4", CUDA_ERROR_INVALID_VALUE, 0, CUDA_SUCCESS},
        Drivers{"FAKECUDA_DRIVER", "13.0", CUDA_SUCCESS, 1, CUDA_SUCCESS},
        Drivers{"FAKECUDA_HOST_VMM", "0", CUDA_SUCCESS, 0, CUDA_ERROR_NOT_SUPPORTED},
        Drivers{"FAKECUDA_HOST_MEMORY", "6MiB", CUDA_SUCCESS, 1, CUDA_ERROR_OUT_OF_MEMORY}));

}  // namespace host_vmm_test
}  // namespace fakecuda
