#include "platform/nvml_library.h"

#include <fmt/format.h>

namespace reveza::platform {

void EndNvml::operator()(void* library) const {
  if (shutdown != nullptr) shutdown();
  dlclose(library);
}

Result<NvmlLibrary> NvmlLibrary::Load(const char* name) {
  NvmlLibrary nvml;
  nvml.begun_.reset(dlopen(name, RTLD_NOW | RTLD_LOCAL));
  if (!nvml.begun_) {
    return Fail(Error::Code::kUnavailable, fmt::format("cannot load {}: {}", name, dlerror()));
  }
  auto* init = nvml.Find<decltype(nvmlInit_v2)>("nvmlInit_v2");
  auto* shutdown = nvml.Find<decltype(nvmlShutdown)>("nvmlShutdown");
  nvml.count_ = nvml.Find<decltype(nvmlDeviceGetCount_v2)>("nvmlDeviceGetCount_v2");
  nvml.handle_ =
      nvml.Find<decltype(nvmlDeviceGetHandleByIndex_v2)>("nvmlDeviceGetHandleByIndex_v2");
  nvml.uuid_ = nvml.Find<decltype(nvmlDeviceGetUUID)>("nvmlDeviceGetUUID");
  if (init == nullptr || shutdown == nullptr || nvml.count_ == nullptr || nvml.handle_ == nullptr ||
      nvml.uuid_ == nullptr) {
    return Fail(Error::Code::kUnavailable, fmt::format("{} is not an NVML that we know", name));
  }
  const nvmlReturn_t result = init();
  if (result != NVML_SUCCESS) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("NVML does not start: error {}", static_cast<int>(result)));
  }
  nvml.begun_.get_deleter().shutdown = shutdown;
  return nvml;
}

std::optional<std::vector<std::expected<NvmlDevice, nvmlReturn_t>>> NvmlLibrary::Devices() const {
  unsigned count = 0;
  if (count_(&count) != NVML_SUCCESS) return std::nullopt;
  std::vector<std::expected<NvmlDevice, nvmlReturn_t>> devices;
  for (unsigned index = 0; index < count; ++index) {
    nvmlDevice_t handle{};
    char text[96] = {};
    nvmlReturn_t result = handle_(index, &handle);
    if (result == NVML_SUCCESS) result = uuid_(handle, text, sizeof(text));
    const auto uuid = result == NVML_SUCCESS ? ParseUuid(text) : std::nullopt;
    if (uuid) {
      devices.emplace_back(NvmlDevice{handle, *uuid});
    } else {
      devices.emplace_back(std::unexpected(result == NVML_SUCCESS ? NVML_ERROR_UNKNOWN : result));
    }
  }
  return devices;
}

}  // namespace reveza::platform
