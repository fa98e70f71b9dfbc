#include "phi/cli/device.h"

#include <algorithm>
#include <string_view>

#include "common/base/parse_number.h"

namespace reveza::phi {

Result<Device> ParseDevice(const std::string& name) {
  if (name == "cpu") return Device{Device::Kind::kCpu};
  if (name == "gpu") return Device{Device::Kind::kGpu};
  if (name == "auto") return Device{Device::Kind::kAuto};
  constexpr std::string_view kNumbered = "gpu:";
  if (name.starts_with(kNumbered)) {
    const auto index = ParseNumber<int>(name.substr(kNumbered.size()));
    if (index && *index >= 0) return Device{Device::Kind::kGpu, *index};
  }
  return InvalidArgument("--device: unknown device '{}'; use cpu, gpu, gpu:N or auto", name);
}

Bytes MaxHostBytes(const Device& device, const EngineSettings& settings, const CpuOptions& cpu,
                   const GpuOptions& gpu) {
  const Bytes on_cpu = StateBytes(settings) + CpuWorkBytes(settings, cpu.threads);
  const Bytes on_gpu = GpuHostBytes(settings, gpu);
  if (device.kind == Device::Kind::kAuto) return std::max(on_cpu, on_gpu);
  return device.kind == Device::Kind::kGpu ? on_gpu : on_cpu;
}

Result<std::unique_ptr<CycleEngine>> MakeEngine(const Device& device,
                                                const EngineSettings& settings,
                                                const CpuOptions& cpu, GpuOptions gpu) {
  if (device.kind != Device::Kind::kCpu) {
    gpu.device = device.index;
    auto engine = MakeGpuEngine(settings, gpu);
    if (engine || device.kind == Device::Kind::kGpu) return engine;
  }
  return MakeCpuEngine(settings, cpu);
}

}  // namespace reveza::phi
