#include "device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace reveza::phi {

Result<Device> DeviceOf(const std::string& name) {
  if (name == "cpu") return Device{Device::Kind::kCpu};
  if (name == "gpu") return Device{Device::Kind::kGpu};
  if (name == "auto") return Device{Device::Kind::kAuto};
  constexpr std::string_view kNumbered = "gpu:";
  if (name.starts_with(kNumbered)) {
    Device device{Device::Kind::kGpu};
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + kNumbered.size(), end, device.index);
    if (error == std::errc() && rest == end && device.index >= 0) return device;
  }
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("--device: there is no '{}'; take cpu, gpu, gpu:N or auto", name));
}

Bytes HostBytesOf(const Device& device, const EngineSettings& settings, const CpuOptions& cpu,
                  const GpuOptions& gpu) {
  const Bytes on_cpu = StateBytes(settings) + CpuWorkBytes(settings, cpu.threads);
  const Bytes on_gpu = GpuHostBytes(settings, gpu);
  switch (device.kind) {
    case Device::Kind::kCpu:
      return on_cpu;
    case Device::Kind::kGpu:
      return on_gpu;
    case Device::Kind::kAuto:
      return std::max(on_cpu, on_gpu);
  }
  return on_cpu;
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
