#include "reveza/gpu/nvml/gpu_monitor.h"

#include <fmt/format.h>
#include <nvml.h>

#include <charconv>
#include <utility>

#include "reveza/gpu/nvml/nvml_library.h"

namespace reveza::nvml {
namespace {

class NvmlMonitor : public GpuMonitor {
 public:
  explicit NvmlMonitor(NvmlLibrary library) : library_(std::move(library)) {}

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
    reading.name = library_.Name(device);
    if (const auto memory = library_.Get(REVEZA_NVML(library_, nvmlDeviceGetMemoryInfo), device)) {
      reading.total = memory->total;
      reading.used = memory->used;
    }
    reading.processes = ReadProcesses(device);
    return reading;
  }

  std::optional<std::vector<GpuProcess>> ReadProcesses(nvmlDevice_t device) const {
    auto* get_processes = REVEZA_NVML(library_, nvmlDeviceGetComputeRunningProcesses_v3);
    if (get_processes == nullptr) return std::nullopt;
    std::vector<nvmlProcessInfo_t> infos(64);
    for (int attempt = 0; attempt < 4; ++attempt) {
      auto count = static_cast<unsigned>(infos.size());
      const nvmlReturn_t result = get_processes(device, &count, infos.data());
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
  std::string digits = text.substr(begin + 1);
  std::erase(digits, '-');
  Uuid uuid{};
  if (digits.size() != 2 * uuid.size() ||
      digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    const char* const byte = digits.data() + 2 * i;
    std::from_chars(byte, byte + 2, uuid[i], 16);
  }
  return uuid;
}

std::optional<Bytes> LargestGpuMemory(GpuMonitor& monitor) {
  std::optional<Bytes> largest;
  const auto gpus = monitor.Read();
  if (!gpus) return largest;
  for (const auto& gpu : *gpus) {
    if (!gpu.total) return std::nullopt;
    largest = std::max(largest, gpu.total);
  }
  return largest;
}

Result<std::unique_ptr<GpuMonitor>> LoadNvml(const char* name) {
  ASSIGN_OR_RETURN(auto library, NvmlLibrary::Load(name));
  return std::make_unique<NvmlMonitor>(std::move(library));
}

}  // namespace reveza::nvml
