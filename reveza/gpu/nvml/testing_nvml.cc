// A fake libnvidia-ml with two GPUs: the first supports every call, the second few. The first runs
// 70 processes, more than the caller's initial buffer holds. REVEZA_TESTING_NVML_BROKEN makes
// enumeration fail; REVEZA_TESTING_NVML_LOST makes the first GPU report "GPU is lost".
#include <nvml.h>

#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
constexpr unsigned kProcesses = 70;
std::size_t IndexOf(nvmlDevice_t device) { return reinterpret_cast<std::size_t>(device) - 1; }
}  // namespace

EXPORT nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
EXPORT nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  if (std::getenv("REVEZA_TESTING_NVML_BROKEN") != nullptr) return NVML_ERROR_UNKNOWN;
  *count = 2;
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (index == 0 && std::getenv("REVEZA_TESTING_NVML_LOST") != nullptr) {
    return NVML_ERROR_GPU_IS_LOST;
  }
  *device = reinterpret_cast<nvmlDevice_t>(static_cast<std::size_t>(index) + 1);
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  const char* text = IndexOf(device) == 0 ? "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
                                          : "GPU-ffffffff-ffff-ffff-ffff-ffffffffffff";
  std::strncpy(uuid, text, length);
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char* name, unsigned length) {
  std::strncpy(name, "Test GPU", length);
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  if (IndexOf(device) != 0) return NVML_ERROR_NOT_SUPPORTED;
  memory->total = 1000;
  memory->used = 300;
  memory->free = 700;
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                            nvmlProcessInfo_t* infos) {
  if (IndexOf(device) != 0) return NVML_ERROR_NOT_SUPPORTED;
  const unsigned room = *count;
  *count = kProcesses;
  if (room < kProcesses) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < kProcesses; ++i) {
    infos[i].pid = 100 + i;
    infos[i].usedGpuMemory = i == 0 ? static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE) : i;
  }
  return NVML_SUCCESS;
}
