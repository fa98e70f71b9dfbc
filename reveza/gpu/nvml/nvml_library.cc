#include "reveza/gpu/nvml/nvml_library.h"

#include <fmt/format.h>

namespace reveza::nvml {

Result<NvmlLibrary> NvmlLibrary::Load(const char* name) {
  auto library = platform::SharedLibrary::Open(name);
  if (!library) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("cannot load {}: {}", name, library.error().message));
  }
  NvmlLibrary nvml;
  nvml.library_ = *std::move(library);
  auto* init = REVEZA_NVML(nvml, nvmlInit_v2);
  auto* shutdown = REVEZA_NVML(nvml, nvmlShutdown);
  nvml.count_ = REVEZA_NVML(nvml, nvmlDeviceGetCount_v2);
  nvml.handle_ = REVEZA_NVML(nvml, nvmlDeviceGetHandleByIndex_v2);
  nvml.uuid_ = REVEZA_NVML(nvml, nvmlDeviceGetUUID);
  if (init == nullptr || shutdown == nullptr || nvml.count_ == nullptr || nvml.handle_ == nullptr ||
      nvml.uuid_ == nullptr) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("{} is not an NVML library of a supported version", name));
  }
  const nvmlReturn_t result = init();
  if (result != NVML_SUCCESS) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("NVML failed to initialise: error {}", static_cast<int>(result)));
  }
  nvml.initialised_ = std::shared_ptr<void>(nullptr, [shutdown](void*) { shutdown(); });
  return nvml;
}

std::string NvmlLibrary::Name(nvmlDevice_t device) const {
  char name[96] = {};
  auto* get_name = REVEZA_NVML(*this, nvmlDeviceGetName);
  const bool known = get_name != nullptr && get_name(device, name, sizeof(name)) == NVML_SUCCESS;
  return known ? name : "";
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

}  // namespace reveza::nvml
