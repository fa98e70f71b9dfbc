// Test fixture: libcuda.so.1 as the loader finds it, or REVEZA_TEST_LIBCUDA, with a temporary
// FAKECUDA_DIR.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace fakecuda {

// Resolves an entry by the (versioned) name that cuda.h maps it to.
#define DRIVER_TEXT_OF(name) #name
#define DRIVER_TEXT(name) DRIVER_TEXT_OF(name)
#define DRIVER(name) reinterpret_cast<decltype(&name)>(::fakecuda::Symbol(DRIVER_TEXT(name)))

inline void* Symbol(const char* name) {
  static void* library = [] {
    const char* path = getenv("REVEZA_TEST_LIBCUDA");
    return dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_NOW);
  }();
  void* symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) ADD_FAILURE() << "no " << name << " in the driver";
  return symbol;
}

class FolderEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    if (getenv("FAKECUDA_DIR") != nullptr) return;  // started by a test
    char path[] = "/tmp/fakecuda-test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
    setenv("FAKECUDA_DIR", path, 1);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

 private:
  std::string folder_;
};

inline const testing::Environment* const folder_environment =
    testing::AddGlobalTestEnvironment(new FolderEnvironment);

inline constexpr size_t kGranuleBytes = 2 << 20;

// Returns a counter of fakecuda/counters.h.
inline unsigned long long Counter(const char* name) {
  return reinterpret_cast<unsigned long long (*)(const char*)>(Symbol("fakecudaCounter"))(name);
}

// Retains the primary context and makes it current.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(DRIVER(cuInit)(0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRetain)(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(DRIVER(cuDevicePrimaryCtxReset)(0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
  }

  CUmemAllocationProp Properties() const {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return properties;
  }
  CUmemAccessDesc Access() const {
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return access;
  }
  CUfunction Kernel(const char* name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(DRIVER(cuModuleLoadData)(&module, "image"), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuModuleGetFunction)(&function, module, name), CUDA_SUCCESS);
    return function;
  }
  CUresult Fill(CUdeviceptr start, size_t words, unsigned value, CUstream stream) {
    void* parameters[] = {&start, &words, &value};
    return DRIVER(cuLaunchKernel)(Kernel("reveza_fill"), 1, 1, 1, 32, 1, 1, 0, stream, parameters,
                                  nullptr);
  }
  unsigned ReadWord(CUdeviceptr address) {
    unsigned word = 0;
    EXPECT_EQ(DRIVER(cuMemcpyDtoH)(&word, address, sizeof word), CUDA_SUCCESS);
    return word;
  }
  size_t FreeBytes() {
    size_t free = 0, total = 0;
    EXPECT_EQ(DRIVER(cuMemGetInfo)(&free, &total), CUDA_SUCCESS);
    return free;
  }

  CUcontext context_ = nullptr;
};

}  // namespace fakecuda
