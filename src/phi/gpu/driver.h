// CUDA's driver, found while the program runs, and what is owned of it. Nothing is linked to it:
// where there is none, opening says so.
//
// Thread-safety: none; one thread works with a GPU and all that came of it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace reveza::phi {

// One GPU with its primary context, which is current in the thread that opened it.
class GpuDriver {
 public:
  // kUnavailable: no driver, no such GPU, or the call that failed.
  static Result<std::shared_ptr<GpuDriver>> Open(int index, const char* library = "libcuda.so.1");
  ~GpuDriver();
  GpuDriver(const GpuDriver&) = delete;
  GpuDriver& operator=(const GpuDriver&) = delete;

  const std::string& gpu() const { return gpu_; }
  int processors() const { return processors_; }
  Result<Bytes> FreeMemory() const;
  // For all work of this process on the GPU.
  Status WaitForAll() const;

  // Calls the driver's function of that name; an error names it.
  template <typename Function, typename... Arguments>
  Status Call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) return Missing(name);
    const CUresult result = function(arguments...);
    return result == CUDA_SUCCESS ? Status{} : Failed(name, result);
  }

 private:
  GpuDriver() = default;
  static Status Missing(const char* name);
  Status Failed(const char* name, CUresult result) const;

  void* library_ = nullptr;  // never closed: the driver leaves threads behind
  CUdevice device_ = 0;
  bool retained_ = false;
  std::string gpu_;
  int processors_ = 0;
};

// GPU_CALL(driver, cuMemAlloc, &address, bytes): by the name that the header's macros give it.
#define REVEZA_PHI_NAME_OF(function) #function
#define GPU_CALL(driver, function, ...) \
  (driver).Call<decltype(function)>(REVEZA_PHI_NAME_OF(function), __VA_ARGS__)

using GpuDriverPointer = std::shared_ptr<const GpuDriver>;

// Memory of the GPU. A move-only owner.
class GpuMemory {
 public:
  GpuMemory() = default;
  // kExhausted where there is not so much. It begins as zeros.
  static Result<GpuMemory> Allocate(GpuDriverPointer driver, std::size_t bytes);
  GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept;
  ~GpuMemory();

  std::size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(address_);
  }

  Status CopyFrom(const void* host) const;  // all of it
  Status CopyTo(void* host) const;

 private:
  GpuDriverPointer driver_;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

// Host memory that the GPU copies into while the processor goes on. A move-only owner.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  static Result<PinnedMemory> Allocate(GpuDriverPointer driver, std::size_t bytes);
  PinnedMemory(PinnedMemory&& other) noexcept { *this = std::move(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();
  void* data() const { return memory_; }

 private:
  GpuDriverPointer driver_;
  void* memory_ = nullptr;
};

}  // namespace reveza::phi
