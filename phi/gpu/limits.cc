// Microbenchmarks of the GPU's peak rates, measured in the same process as the cycles.
#include <algorithm>
#include <chrono>
#include <functional>

#include "phi/gpu/gpu_engine.h"
#include "phi/gpu/launcher.h"

namespace reveza::phi {
namespace {

// Returns the minimum of five timings in seconds, after one warm-up.
Result<double> MinSeconds(GpuLauncher& launcher, const std::function<Status()>& work) {
  double least = 0;
  for (int i = 0; i < 6; ++i) {
    const auto start = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(work());
    RETURN_IF_ERROR(launcher.Wait());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i > 0) least = i == 1 ? took.count() : std::min(least, took.count());
  }
  return least;
}

}  // namespace

Result<GpuLimits> MeasureGpuLimits(const GpuOptions& options) {
  ASSIGN_OR_RETURN(auto opened, GpuDriver::Open(options.device, options.library));
  ASSIGN_OR_RETURN(auto made, GpuLauncher::Make(opened));
  GpuLauncher& launcher = *made;
  constexpr std::size_t kCopied = std::size_t{256} << 20;
  auto from = GpuMemory::Allocate(opened, kCopied);
  auto to = GpuMemory::Allocate(opened, kCopied);
  auto count = GpuMemory::Allocate(opened, sizeof(std::uint64_t));
  for (const auto* memory : {&from, &to, &count}) {
    if (!*memory) return std::unexpected(memory->error());
  }
  constexpr int kRounds = 4000;
  constexpr int kLaunches = 1000;
  const auto blocks = static_cast<unsigned>(opened->processors()) * 8;
  const double threads = blocks * 256.0;
  auto* out = to->as<float>();
  const auto products =
      MinSeconds(launcher, [&] { return launcher.Limit(false, blocks, out, kRounds); });
  const auto normals =
      MinSeconds(launcher, [&] { return launcher.Limit(true, blocks, out, kRounds); });
  const auto copies =
      MinSeconds(launcher, [&] { return launcher.CopyDevice(out, from->as<float>(), kCopied); });
  const auto launch_all = [&]() -> Status {
    for (int i = 0; i < kLaunches; ++i) {
      RETURN_IF_ERROR(launcher.Count(count->as<std::uint64_t>(), 1));
    }
    return Status{};
  };
  const auto launches = MinSeconds(launcher, launch_all);
  RETURN_IF_ERROR(launcher.Capture(launch_all));
  const auto graph = MinSeconds(launcher, [&] { return launcher.Replay(); });
  for (const auto* measured : {&products, &normals, &copies, &launches, &graph}) {
    if (!*measured) return std::unexpected(measured->error());
  }
  return GpuLimits{.multiply_adds = threads * kRounds * 16 / *products,
                   .normals = threads * kRounds * 4 / *normals,
                   .copied = 2.0 * kCopied / *copies,
                   .launches = kLaunches / *launches,
                   .graph_nodes = kLaunches / *graph};
}

}  // namespace reveza::phi
