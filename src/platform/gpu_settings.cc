#include "platform/gpu_settings.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvml.h>

#include <memory>

namespace reveza::platform {
namespace {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

// Calls by name what an older library may not have.
class Nvml {
 public:
  explicit Nvml(void* library) : library_(library) {}

  // The function of that name. Only the type of the declared one is used, never its address: there
  // is no library to link to.
  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

  // What the function writes behind its first argument; nothing when it fails.
  template <typename Value, typename Function>
  std::optional<Value> Get(const char* name, nvmlDevice_t device) const {
    Function* function = Find<Function>(name);
    Value value{};
    if (function == nullptr || function(device, &value) != NVML_SUCCESS) return std::nullopt;
    return value;
  }

 private:
  void* library_;
};

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

GpuSettings ReadOne(const Nvml& nvml, nvmlDevice_t device, const Uuid& uuid) {
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

void ReadPeers(const Nvml& nvml, const std::vector<nvmlDevice_t>& devices, GpusSetUp& all) {
  auto* peers = nvml.Find<decltype(nvmlDeviceGetP2PStatus)>("nvmlDeviceGetP2PStatus");
  if (peers == nullptr) return;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      nvmlGpuP2PStatus_t status{};
      if (peers(devices[a], devices[b], NVML_P2P_CAPS_INDEX_READ, &status) != NVML_SUCCESS) {
        continue;
      }
      if (status != NVML_P2P_STATUS_OK) all.strangers.emplace_back(a, b);
    }
  }
}

GpusSetUp ReadAll(const Nvml& nvml) {
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
  auto* count = nvml.Find<decltype(nvmlDeviceGetCount_v2)>("nvmlDeviceGetCount_v2");
  auto* handle =
      nvml.Find<decltype(nvmlDeviceGetHandleByIndex_v2)>("nvmlDeviceGetHandleByIndex_v2");
  auto* get_uuid = nvml.Find<decltype(nvmlDeviceGetUUID)>("nvmlDeviceGetUUID");
  unsigned gpus = 0;
  if (count == nullptr || handle == nullptr || get_uuid == nullptr ||
      count(&gpus) != NVML_SUCCESS) {
    return all;
  }
  std::vector<nvmlDevice_t> devices;
  for (unsigned i = 0; i < gpus; ++i) {
    nvmlDevice_t device{};
    char text[96] = {};
    if (handle(i, &device) != NVML_SUCCESS ||
        get_uuid(device, text, sizeof(text)) != NVML_SUCCESS) {
      continue;
    }
    const auto uuid = ParseUuid(text);
    if (!uuid) continue;
    devices.push_back(device);
    all.gpus.push_back(ReadOne(nvml, device, *uuid));
  }
  ReadPeers(nvml, devices, all);
  return all;
}

}  // namespace

Result<GpusSetUp> ReadGpuSettings(const char* name) {
  const Library library(dlopen(name, RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    return Fail(Error::Code::kUnavailable, fmt::format("cannot load {}: {}", name, dlerror()));
  }
  const Nvml nvml(library.get());
  auto* init = nvml.Find<decltype(nvmlInit_v2)>("nvmlInit_v2");
  auto* shutdown = nvml.Find<decltype(nvmlShutdown)>("nvmlShutdown");
  if (init == nullptr || shutdown == nullptr) {
    return Fail(Error::Code::kUnavailable, fmt::format("{} is not an NVML that we know", name));
  }
  const nvmlReturn_t result = init();
  if (result != NVML_SUCCESS) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("NVML does not start: error {}", static_cast<int>(result)));
  }
  GpusSetUp all = ReadAll(nvml);
  shutdown();
  return all;
}

}  // namespace reveza::platform
