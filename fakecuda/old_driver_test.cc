// Tests of FAKECUDA_DRIVER and FAKECUDA_VMM. The driver reads them when it is loaded: each version
// has a process of its own.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <string>

#include "fakecuda/driver_fixture.h"

namespace fakecuda {
namespace old_driver_test {

struct Since {
  const char* symbol;
  const char* base;  // for cuGetProcAddress
  int version;
};

// From NVIDIA's release notes.
constexpr Since kEntries[] = {
    {"cuMemCreate", "cuMemCreate", 10020},
    {"cuMemAllocAsync", "cuMemAllocAsync", 11020},
    {"cuGetProcAddress", "cuGetProcAddress", 11030},
    {"cuStreamGetCaptureInfo_v2_ptsz", "cuStreamGetCaptureInfo", 11030},
    {"cuDeviceGetUuid_v2", "cuDeviceGetUuid", 11040},
    {"cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 11040},
    {"cuLaunchKernelEx", "cuLaunchKernelEx", 11060},
    {"cuMemGetHandleForAddressRange", "cuMemGetHandleForAddressRange", 11070},
    {"cuGetProcAddress_v2", "cuGetProcAddress", 12000},
    {"cuLibraryLoadData", "cuLibraryLoadData", 12000},
    {"cuKernelGetFunction", "cuKernelGetFunction", 12000},
    {"cuStreamGetCaptureInfo_v3", "cuStreamGetCaptureInfo", 12030},
    {"cuGreenCtxCreate", "cuGreenCtxCreate", 12040},
    {"cuCtxRecordEvent", "cuCtxRecordEvent", 12050},
    {"cuMemcpyBatchAsync", "cuMemcpyBatchAsync", 12080},
    {"cuCtxSynchronize_v2", "cuCtxSynchronize", 13000},
};

bool Expect(bool condition, const std::string& what) {
  if (!condition) std::fprintf(stderr, "%s\n", what.c_str());
  return condition;
}

// Checks a driver of this version, in a process that has not loaded one.
bool HasExactlyItsEntries(const char* text, int version) {
  setenv("FAKECUDA_DRIVER", text, 1);
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto symbol = [&](const char* name) { return dlsym(library, name); };
  int reported = 0;
  const auto get_version =
      reinterpret_cast<decltype(&cuDriverGetVersion)>(symbol("cuDriverGetVersion"));
  bool right = Expect(get_version(&reported) == CUDA_SUCCESS && reported == version, "version");
  const auto resolve = reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t)>(
      symbol("cuGetProcAddress"));
  for (const Since& entry : kEntries) {
    const std::string name = entry.symbol;
    void* const address = symbol(entry.symbol);
    const bool has = entry.version <= version;
    right &= Expect((address != nullptr) == has, name + " by dlsym");
    if (resolve == nullptr) continue;
    void* found = nullptr;
    const auto asks = [&](int newest) {
      return resolve(entry.base, &found, newest, CU_GET_PROC_ADDRESS_DEFAULT);
    };
    if (name == entry.base) {
      right &= Expect((asks(99000) == CUDA_SUCCESS) == has, name + " by cuGetProcAddress");
    }
    if (!has) right &= Expect(found == nullptr || found != address, name + " is older");
  }
  return right;
}

class VersionTest : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(VersionTest, HasTheEntriesOfItsVersionOnly) {
  const auto [text, version] = GetParam();
  EXPECT_EXIT(exit(HasExactlyItsEntries(text, version) ? 0 : 1), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Drivers, VersionTest,
                         testing::Values(std::pair{"10.1", 10010}, std::pair{"11.2", 11020},
                                         std::pair{"11.4", 11040}, std::pair{"11.6", 11060},
                                         std::pair{"11.8", 11080}, std::pair{"12.0", 12000},
                                         std::pair{"12.2", 12020}, std::pair{"12.4", 12040},
                                         std::pair{"12.5", 12050}, std::pair{"12.8", 12080},
                                         std::pair{"13.0", 13000}, std::pair{"13.5", 13050}));

// Of entries with several versions the newest that the driver has.
bool ResolvesToOlderVersion() {
  setenv("FAKECUDA_DRIVER", "11.4", 1);
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* found = nullptr;
  const auto resolve = reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t)>(
      dlsym(library, "cuGetProcAddress"));
  return resolve("cuStreamGetCaptureInfo", &found, 13050, CU_GET_PROC_ADDRESS_DEFAULT) ==
             CUDA_SUCCESS &&
         found == dlsym(library, "cuStreamGetCaptureInfo_v2") &&
         resolve("cuLibraryLoadData", &found, 13050, CU_GET_PROC_ADDRESS_DEFAULT) ==
             CUDA_ERROR_NOT_FOUND;
}

TEST(OldDriverTest, AnswersWithTheNewestEntryThatItHas) {
  EXPECT_EXIT(exit(ResolvesToOlderVersion() ? 0 : 1), testing::ExitedWithCode(0), "");
}

bool RefusesVirtualMemory() {
  setenv("FAKECUDA_VMM", "0", 1);
  int supported = 1;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return DRIVER(cuInit)(0) == CUDA_SUCCESS &&
         DRIVER(cuDeviceGetAttribute)(&supported,
                                      CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                      0) == CUDA_SUCCESS &&
         supported == 0 &&
         DRIVER(cuMemCreate)(&handle, kGranuleBytes, &properties, 0) == CUDA_ERROR_NOT_SUPPORTED &&
         DRIVER(cuMemAddressReserve)(&range, kGranuleBytes, 0, 0, 0) == CUDA_ERROR_NOT_SUPPORTED;
}

TEST(OldDriverTest, DevicesWithoutVirtualMemoryRefuseIt) {
  EXPECT_EXIT(exit(RefusesVirtualMemory() ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace old_driver_test
}  // namespace fakecuda
