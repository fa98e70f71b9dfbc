// NVML, loaded and begun while the program runs: nothing is linked to it, and machines without it
// say so. For the readers of this folder. Thread-safety: as NVML, any thread.
#pragma once

#include <dlfcn.h>
#include <nvml.h>

#include <expected>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "platform/gpu_monitor.h"

namespace reveza::platform {

struct NvmlDevice {
  nvmlDevice_t handle{};
  Uuid uuid{};
};

struct EndNvml {
  decltype(&nvmlShutdown) shutdown = nullptr;  // null: it has not begun
  void operator()(void* library) const;
};

class NvmlLibrary {
 public:
  // kUnavailable where there is none, it is not one that we know, or it does not start.
  static Result<NvmlLibrary> Load(const char* name);

  // The function of that name, or null where the library is older than it. Only the type of the
  // declared one is used, never its address: there is no library to link to.
  template <typename Function>
  Function* Find(const char* function) const {
    return reinterpret_cast<Function*>(dlsym(begun_.get(), function));
  }

  // What a function writes behind its second argument; nothing when it fails or is not there.
  template <typename Value, typename Function>
  std::optional<Value> Get(const char* name, nvmlDevice_t device) const {
    Function* function = Find<Function>(name);
    Value value{};
    if (function == nullptr || function(device, &value) != NVML_SUCCESS) return std::nullopt;
    return value;
  }

  // All devices in NVML's order; in the place of one that does not say who it is, why (it is lost,
  // or forbidden). Nothing at all where even their number is not known.
  std::optional<std::vector<std::expected<NvmlDevice, nvmlReturn_t>>> Devices() const;

 private:
  std::unique_ptr<void, EndNvml> begun_;
  decltype(&nvmlDeviceGetCount_v2) count_ = nullptr;
  decltype(&nvmlDeviceGetHandleByIndex_v2) handle_ = nullptr;
  decltype(&nvmlDeviceGetUUID) uuid_ = nullptr;
};

}  // namespace reveza::platform
