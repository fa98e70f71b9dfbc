#include "platform/gpu_settings.h"

#include <nvml.h>

#include "platform/nvml_library.h"

namespace reveza::platform {
namespace {

std::optional<ComputeMode> ModeOf(const std::optional<nvmlComputeMode_t>& mode) {
  if (!mode) return std::nullopt;
  switch (*mode) {
    case NVML_COMPUTEMODE_DEFAULT:
      return ComputeMode::kShared;
    case NVML_COMPUTEMODE_EXCLUSIVE_PROCESS:
      return ComputeMode::kExclusiveProcess;
    case NVML_COMPUTEMODE_PROHIBITED:
      return ComputeMode::kProhibited;
    default:
      return std::nullopt;
  }
}

GpuSettings ReadOne(const NvmlLibrary& nvml, nvmlDevice_t device, const Uuid& uuid) {
  GpuSettings gpu;
  gpu.uuid = uuid;
  char name[96] = {};
  auto* get_name = nvml.Find<decltype(nvmlDeviceGetName)>("nvmlDeviceGetName");
  if (get_name != nullptr && get_name(device, name, sizeof(name)) == NVML_SUCCESS) gpu.name = name;
  gpu.compute_mode = ModeOf(nvml.Get<nvmlComputeMode_t, decltype(nvmlDeviceGetComputeMode)>(
      "nvmlDeviceGetComputeMode", device));
  const auto persistence = nvml.Get<nvmlEnableState_t, decltype(nvmlDeviceGetPersistenceMode)>(
      "nvmlDeviceGetPersistenceMode", device);
  if (persistence) gpu.persistent = *persistence == NVML_FEATURE_ENABLED;
  auto* get_division = nvml.Find<decltype(nvmlDeviceGetMigMode)>("nvmlDeviceGetMigMode");
  unsigned now = 0;
  unsigned later = 0;
  if (get_division != nullptr && get_division(device, &now, &later) == NVML_SUCCESS) {
    gpu.divided = now == NVML_DEVICE_MIG_ENABLE;
  }
  using Number = nvmlReturn_t(nvmlDevice_t, unsigned*);
  const auto number = [&](const char* call) { return nvml.Get<unsigned, Number>(call, device); };
  gpu.link_generation = number("nvmlDeviceGetCurrPcieLinkGeneration");
  gpu.best_link_generation = number("nvmlDeviceGetMaxPcieLinkGeneration");
  gpu.link_lanes = number("nvmlDeviceGetCurrPcieLinkWidth");
  gpu.best_link_lanes = number("nvmlDeviceGetMaxPcieLinkWidth");
  return gpu;
}

void ReadPeers(const NvmlLibrary& nvml, const std::vector<NvmlDevice>& devices, GpusSetUp& all) {
  auto* peers = nvml.Find<decltype(nvmlDeviceGetP2PStatus)>("nvmlDeviceGetP2PStatus");
  if (peers == nullptr) return;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      nvmlGpuP2PStatus_t status{};
      if (peers(devices[a].handle, devices[b].handle, NVML_P2P_CAPS_INDEX_READ, &status) !=
          NVML_SUCCESS) {
        continue;
      }
      if (status != NVML_P2P_STATUS_OK) all.strangers.emplace_back(a, b);
    }
  }
}

Result<GpusSetUp> ReadAll(const NvmlLibrary& nvml) {
  GpusSetUp all;
  char version[96] = {};
  auto* driver = nvml.Find<decltype(nvmlSystemGetDriverVersion)>("nvmlSystemGetDriverVersion");
  if (driver != nullptr && driver(version, sizeof(version)) == NVML_SUCCESS) all.driver = version;
  auto* cuda =
      nvml.Find<decltype(nvmlSystemGetCudaDriverVersion_v2)>("nvmlSystemGetCudaDriverVersion_v2");
  int number = 0;
  if (cuda != nullptr && cuda(&number) == NVML_SUCCESS && number > 0) {
    all.cuda = static_cast<unsigned>(number);
  }
  const auto devices = nvml.Devices();
  if (!devices) return Fail(Error::Code::kUnavailable, "NVML cannot count its GPUs");
  std::vector<NvmlDevice> known;
  for (unsigned index = 0; index < devices->size(); ++index) {
    const auto& device = (*devices)[index];
    if (device) {
      known.push_back(*device);
      all.gpus.push_back(ReadOne(nvml, device->handle, device->uuid));
      all.gpus.back().index = index;
    } else if (device.error() != NVML_ERROR_NO_PERMISSION) {
      all.silent.push_back(index);
    }
  }
  ReadPeers(nvml, known, all);
  return all;
}

}  // namespace

Result<GpusSetUp> ReadGpuSettings(const char* name) {
  const auto nvml = NvmlLibrary::Load(name);
  if (!nvml) return std::unexpected(nvml.error());
  return ReadAll(*nvml);
}

}  // namespace reveza::platform
