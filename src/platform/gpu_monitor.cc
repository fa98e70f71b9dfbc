#include "platform/gpu_monitor.h"

#include <fmt/format.h>
#include <nvml.h>

#include <utility>

#include "platform/nvml_library.h"

namespace reveza::platform {
namespace {

struct Calls {
  decltype(&nvmlDeviceGetName) name = nullptr;
  decltype(&nvmlDeviceGetMemoryInfo) memory = nullptr;
  decltype(&nvmlDeviceGetComputeRunningProcesses_v3) processes = nullptr;
};

class NvmlMonitor : public GpuMonitor {
 public:
  NvmlMonitor(NvmlLibrary library, const Calls& calls)
      : library_(std::move(library)), calls_(calls) {}

  std::optional<std::vector<GpuReading>> Read() override {
    const auto devices = library_.Devices();
    if (!devices) return std::nullopt;
    std::vector<GpuReading> readings;
    for (const auto& device : *devices) {
      readings.push_back(device ? ReadDevice(device->handle, device->uuid) : GpuReading{});
    }
    return readings;
  }

 private:
  GpuReading ReadDevice(nvmlDevice_t device, const Uuid& uuid) const {
    GpuReading reading;
    reading.uuid = uuid;
    char name[96] = {};
    if (calls_.name != nullptr && calls_.name(device, name, sizeof(name)) == NVML_SUCCESS) {
      reading.name = name;
    }
    nvmlMemory_t memory{};
    if (calls_.memory != nullptr && calls_.memory(device, &memory) == NVML_SUCCESS) {
      reading.total = memory.total;
      reading.used = memory.used;
    }
    reading.processes = ReadProcesses(device);
    return reading;
  }

  std::optional<std::vector<GpuProcess>> ReadProcesses(nvmlDevice_t device) const {
    if (calls_.processes == nullptr) return std::nullopt;
    std::vector<nvmlProcessInfo_t> infos(64);
    for (int attempt = 0; attempt < 4; ++attempt) {
      auto count = static_cast<unsigned>(infos.size());
      const nvmlReturn_t result = calls_.processes(device, &count, infos.data());
      if (result == NVML_ERROR_INSUFFICIENT_SIZE) {
        infos.resize(count + 64);
        continue;
      }
      if (result != NVML_SUCCESS) return std::nullopt;
      std::vector<GpuProcess> processes;
      for (unsigned i = 0; i < count && i < infos.size(); ++i) {
        GpuProcess process{static_cast<pid_t>(infos[i].pid), std::nullopt};
        if (infos[i].usedGpuMemory != static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE)) {
          process.used = infos[i].usedGpuMemory;
        }
        processes.push_back(process);
      }
      return processes;
    }
    return std::nullopt;
  }

  NvmlLibrary library_;
  Calls calls_;
};

}  // namespace

std::string FormatUuid(const Uuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

std::optional<Uuid> ParseUuid(const std::string& text) {
  const auto begin = text.find('-');
  if (begin == std::string::npos) return std::nullopt;
  Uuid uuid{};
  std::size_t digits = 0;
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '-') continue;
    unsigned value = 0;
    if (c >= '0' && c <= '9') {
      value = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = static_cast<unsigned>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    if (digits == 32) return std::nullopt;
    uuid[digits / 2] = static_cast<std::uint8_t>(uuid[digits / 2] << 4 | value);
    ++digits;
  }
  if (digits != 32) return std::nullopt;
  return uuid;
}

Result<std::unique_ptr<GpuMonitor>> LoadNvml(const char* name) {
  auto library = NvmlLibrary::Load(name);
  if (!library) return std::unexpected(library.error());
  Calls calls;
  calls.name = library->Find<decltype(nvmlDeviceGetName)>("nvmlDeviceGetName");
  calls.memory = library->Find<decltype(nvmlDeviceGetMemoryInfo)>("nvmlDeviceGetMemoryInfo");
  calls.processes = library->Find<decltype(nvmlDeviceGetComputeRunningProcesses_v3)>(
      "nvmlDeviceGetComputeRunningProcesses_v3");
  return std::make_unique<NvmlMonitor>(std::move(*library), calls);
}

}  // namespace reveza::platform
