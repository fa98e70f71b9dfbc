#include "phi/run/device.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include "common/base/parse_number.h"
#include "common/base/units.h"
#include "common/platform/machine.h"
#include "phi/measures/multiplets.h"

namespace reveza::phi {
namespace {

constexpr int kMaxThreads = 1024;
// With fewer runs per thread, threads synchronise several times per cycle, which pays only on idle
// machines.
constexpr int kMinRunsPerThread = 8;

std::optional<Bytes> FreeAddresses() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  Bytes pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return std::nullopt;
  const Bytes taken = pages * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<Bytes>(limit.rlim_cur, taken);
}

}  // namespace

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

int DefaultThreads(int runs) {
  const char* named = std::getenv("OMP_NUM_THREADS");
  const int share = named == nullptr ? 0 : std::atoi(named);
  const int cores = share >= 1 && share <= kMaxThreads
                        ? share
                        : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::clamp(runs / kMinRunsPerThread, 1, cores);
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

std::optional<Bytes> FreeMemory() {
  const auto memory = platform::MemoryHeadroom();
  const auto addresses = FreeAddresses();
  if (memory && addresses) return std::min(*memory, *addresses);
  return memory ? memory : addresses;
}

Status CheckMultiplets(int variables, int threads, std::optional<Bytes> available) {
  const Bytes needed = MultipletBytes(variables, threads);
  if (!available || needed <= *available) return {};
  return Fail(Error::Code::kExhausted,
              "tables of all subsets of {} variables need {} of memory, and {} are free; use "
              "{}fewer variables",
              variables, FormatBytes(needed), FormatBytes(*available),
              threads > 1 ? "fewer --threads or " : "");
}

}  // namespace reveza::phi
