// Settings calls of the fake NVML in testing_nvml.cc: the first GPU supports all, the second few;
// there is no peer access between them.
#include <nvml.h>

#include <cstddef>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
bool IsFirst(nvmlDevice_t device) { return reinterpret_cast<std::size_t>(device) == 1; }

template <typename Value>
nvmlReturn_t IfFirst(nvmlDevice_t device, Value* out, Value value) {
  if (!IsFirst(device)) return NVML_ERROR_NOT_SUPPORTED;
  *out = value;
  return NVML_SUCCESS;
}
}  // namespace

EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "535.104.05", length);
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12020;
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  return IfFirst(device, mode, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return IfFirst(device, mode, NVML_FEATURE_DISABLED);
}

EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* now, unsigned* later) {
  *later = NVML_DEVICE_MIG_DISABLE;
  return IfFirst(device, now, static_cast<unsigned>(NVML_DEVICE_MIG_DISABLE));
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return IfFirst(device, generation, 1U);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return IfFirst(device, generation, 4U);
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* width) {
  return IfFirst(device, width, 4U);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned* width) {
  return IfFirst(device, width, 16U);
}

EXPORT nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t,
                                           nvmlGpuP2PStatus_t* status) {
  *status = NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED;
  return NVML_SUCCESS;
}
