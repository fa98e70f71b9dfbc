// The CUDA driver API, loaded at run time with dlopen so that the program also starts on machines
// without it, and RAII owners of driver resources.
//
// Not thread-safe: a GpuDriver and everything created from it belong to one thread.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/platform/shared_library.h"

namespace reveza::phi {

// One GPU and its primary context, which is made current in the thread that calls Open().
class GpuDriver {
 public:
  // Opens GPU `index`. Returns kUnavailable if there is no driver or GPU, or a driver call fails.
  static Result<std::shared_ptr<GpuDriver>> Open(int index, const char* library = "libcuda.so.1");
  ~GpuDriver();
  GpuDriver(const GpuDriver&) = delete;
  GpuDriver& operator=(const GpuDriver&) = delete;

  const std::string& gpu() const { return gpu_; }
  // Number of streaming multiprocessors.
  int processors() const { return processors_; }
  Result<Bytes> FreeMemory() const;
  // Waits for all work of this process on the GPU.
  Status WaitForAll() const;

  // Calls the driver function `name`; an error names it.
  template <typename Function, typename... Arguments>
  Status Call(const char* name, Arguments... arguments) const {
    auto* function = library_.Symbol<Function>(name);
    if (function == nullptr) return Missing(name);
    const CUresult result = function(arguments...);
    return result == CUDA_SUCCESS ? Status{} : Failed(name, result);
  }

 private:
  GpuDriver() = default;
  static Status Missing(const char* name);
  Status Failed(const char* name, CUresult result) const;

  platform::SharedLibrary library_;
  CUdevice device_ = 0;
  bool retained_ = false;
  std::string gpu_;
  int processors_ = 0;
};

// GPU_CALL(driver, cuMemAlloc, &address, bytes) calls the versioned symbol that cuda.h's macros
// select.
#define REVEZA_PHI_NAME_OF(function) #function
#define GPU_CALL(driver, function, ...) \
  (driver).Call<decltype(function)>(REVEZA_PHI_NAME_OF(function), __VA_ARGS__)

using GpuDriverPointer = std::shared_ptr<const GpuDriver>;

// Device memory, freed with its last copy.
class GpuMemory {
 public:
  GpuMemory() = default;
  // Allocates zeroed memory. Returns kExhausted if there is not enough.
  static Result<GpuMemory> Allocate(GpuDriverPointer driver, std::size_t bytes);

  std::size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }

  // Copy all bytes() from or to host memory.
  Status CopyFrom(const void* host) const;
  Status CopyTo(void* host) const;

 private:
  CUdeviceptr Address() const { return reinterpret_cast<CUdeviceptr>(memory_.get()); }

  GpuDriverPointer driver_;
  std::shared_ptr<void> memory_;  // the device address
  std::size_t bytes_ = 0;
};

// Allocates page-locked host memory for asynchronous copies.
Result<std::shared_ptr<void>> AllocatePinned(const GpuDriverPointer& driver, std::size_t bytes);

}  // namespace reveza::phi
