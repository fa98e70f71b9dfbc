#include "reveza/gpu/nvml/gpu_settings.h"

#include <nvml.h>

#include "reveza/gpu/nvml/nvml_library.h"

namespace reveza::nvml {
namespace {

std::optional<ComputeMode> ToComputeMode(const std::optional<nvmlComputeMode_t>& mode) {
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

GpuSettings ReadGpu(const NvmlLibrary& nvml, nvmlDevice_t device, const Uuid& uuid) {
  GpuSettings gpu;
  gpu.uuid = uuid;
  gpu.name = nvml.Name(device);
  gpu.compute_mode = ToComputeMode(nvml.Get(REVEZA_NVML(nvml, nvmlDeviceGetComputeMode), device));
  if (const auto mode = nvml.Get(REVEZA_NVML(nvml, nvmlDeviceGetPersistenceMode), device)) {
    gpu.persistence_mode = *mode == NVML_FEATURE_ENABLED;
  }
  auto* get_mig_mode = REVEZA_NVML(nvml, nvmlDeviceGetMigMode);
  unsigned now = 0;
  unsigned later = 0;
  if (get_mig_mode != nullptr && get_mig_mode(device, &now, &later) == NVML_SUCCESS) {
    gpu.mig_enabled = now == NVML_DEVICE_MIG_ENABLE;
  }
  const auto get = [&](auto* function) { return nvml.Get(function, device); };
  gpu.link_generation = get(REVEZA_NVML(nvml, nvmlDeviceGetCurrPcieLinkGeneration));
  gpu.max_link_generation = get(REVEZA_NVML(nvml, nvmlDeviceGetMaxPcieLinkGeneration));
  gpu.link_lanes = get(REVEZA_NVML(nvml, nvmlDeviceGetCurrPcieLinkWidth));
  gpu.max_link_lanes = get(REVEZA_NVML(nvml, nvmlDeviceGetMaxPcieLinkWidth));
  return gpu;
}

void ReadPeers(const NvmlLibrary& nvml, const std::vector<NvmlDevice>& devices, GpuInventory& all) {
  auto* peers = REVEZA_NVML(nvml, nvmlDeviceGetP2PStatus);
  if (peers == nullptr) return;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      nvmlGpuP2PStatus_t status{};
      if (peers(devices[a].handle, devices[b].handle, NVML_P2P_CAPS_INDEX_READ, &status) !=
          NVML_SUCCESS) {
        continue;
      }
      if (status != NVML_P2P_STATUS_OK) all.no_peer_access.emplace_back(a, b);
    }
  }
}

}  // namespace

Result<GpuInventory> ReadGpuSettings(const char* name) {
  ASSIGN_OR_RETURN(const auto nvml, NvmlLibrary::Load(name));
  GpuInventory all;
  char version[96] = {};
  auto* driver = REVEZA_NVML(nvml, nvmlSystemGetDriverVersion);
  if (driver != nullptr && driver(version, sizeof(version)) == NVML_SUCCESS) all.driver = version;
  auto* cuda = REVEZA_NVML(nvml, nvmlSystemGetCudaDriverVersion_v2);
  int number = 0;
  if (cuda != nullptr && cuda(&number) == NVML_SUCCESS && number > 0) {
    all.cuda = static_cast<unsigned>(number);
  }
  const auto devices = nvml.Devices();
  if (!devices) return Fail(Error::Code::kUnavailable, "NVML cannot enumerate the GPUs");
  std::vector<NvmlDevice> known;
  for (unsigned index = 0; index < devices->size(); ++index) {
    const auto& device = (*devices)[index];
    if (device) {
      known.push_back(*device);
      all.gpus.push_back(ReadGpu(nvml, device->handle, device->uuid));
      all.gpus.back().index = index;
    } else if (device.error() != NVML_ERROR_NO_PERMISSION) {
      all.unresponsive.push_back(index);
    }
  }
  ReadPeers(nvml, known, all);
  return all;
}

}  // namespace reveza::nvml
