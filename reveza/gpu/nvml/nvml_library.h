// NVML, loaded and initialised at run time, so that programs also start on machines without it.
// Internal to this folder. Thread-safe, as NVML is.
#pragma once

#include <nvml.h>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/platform/shared_library.h"
#include "reveza/gpu/nvml/gpu_monitor.h"

namespace reveza::nvml {

struct NvmlDevice {
  nvmlDevice_t handle{};
  Uuid uuid{};
};

class NvmlLibrary {
 public:
  // Loads and initialises; kUnavailable if it is missing, lacks a required function or fails.
  static Result<NvmlLibrary> Load(const char* name);

  // Returns the function of that name; null if this NVML version lacks it. Only the type of the
  // declaration is used, never its address: nothing is linked against NVML.
  template <typename Function>
  Function* Find(const char* function) const {
    return library_.Symbol<Function>(function);
  }

  // Calls `function`(device, &value), if it is not null, and returns the value; nullopt if it
  // fails.
  template <typename Value>
  static std::optional<Value> Get(nvmlReturn_t (*function)(nvmlDevice_t, Value*),
                                  nvmlDevice_t device) {
    Value value{};
    if (function == nullptr || function(device, &value) != NVML_SUCCESS) return std::nullopt;
    return value;
  }

  // Returns the product name; empty if unknown.
  std::string Name(nvmlDevice_t device) const;

  // Returns all devices in NVML order, with the error for a device that cannot be opened (lost, or
  // no permission); nullopt if the devices cannot be counted.
  std::optional<std::vector<std::expected<NvmlDevice, nvmlReturn_t>>> Devices() const;

 private:
  platform::SharedLibrary library_;
  std::shared_ptr<void> initialised_;  // shuts NVML down, before the library is closed
  decltype(&nvmlDeviceGetCount_v2) count_ = nullptr;
  decltype(&nvmlDeviceGetHandleByIndex_v2) handle_ = nullptr;
  decltype(&nvmlDeviceGetUUID) uuid_ = nullptr;
};

// Returns the function declared as `function`, as NvmlLibrary::Find().
#define REVEZA_NVML(library, function) (library).Find<decltype(function)>(#function)

}  // namespace reveza::nvml
