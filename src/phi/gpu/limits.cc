// What the GPU does at best, each measured alone in the same process as the cycles.
#include <algorithm>
#include <chrono>
#include <functional>

#include "phi/gpu/gpu_engine.h"
#include "phi/gpu/launcher.h"

namespace reveza::phi {
namespace {

// The least time of five, in seconds; the first is not counted.
Result<double> Least(GpuLauncher& launcher, const std::function<Status()>& work) {
  double least = 0;
  for (int i = 0; i < 6; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (auto done = work(); !done) return std::unexpected(done.error());
    if (auto done = launcher.Wait(); !done) return std::unexpected(done.error());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i > 0) least = i == 1 ? took.count() : std::min(least, took.count());
  }
  return least;
}

}  // namespace

Result<GpuLimits> MeasureGpuLimits(const GpuOptions& options) {
  auto opened = GpuDriver::Open(options.device, options.library);
  if (!opened) return std::unexpected(opened.error());
  auto made = GpuLauncher::Make(*opened);
  if (!made) return std::unexpected(made.error());
  GpuLauncher& launcher = **made;
  constexpr std::size_t kCopied = std::size_t{256} << 20;
  auto from = GpuMemory::Allocate(*opened, kCopied);
  auto to = GpuMemory::Allocate(*opened, kCopied);
  auto count = GpuMemory::Allocate(*opened, sizeof(std::uint64_t));
  for (const auto* memory : {&from, &to, &count}) {
    if (!*memory) return std::unexpected(memory->error());
  }
  constexpr int kRounds = 4000;
  constexpr int kLaunches = 1000;
  const auto blocks = static_cast<unsigned>((*opened)->processors()) * 8;
  const double threads = blocks * 256.0;
  auto* out = to->as<float>();
  const auto products =
      Least(launcher, [&] { return launcher.Limit(false, blocks, out, kRounds); });
  const auto normals = Least(launcher, [&] { return launcher.Limit(true, blocks, out, kRounds); });
  const auto copies =
      Least(launcher, [&] { return launcher.CopyDevice(out, from->as<float>(), kCopied); });
  const auto launch_all = [&] {
    for (int i = 0; i < kLaunches; ++i) {
      if (auto done = launcher.Count(count->as<std::uint64_t>(), 1); !done) return done;
    }
    return Status{};
  };
  const auto launches = Least(launcher, launch_all);
  if (auto captured = launcher.Capture(launch_all); !captured) {
    return std::unexpected(captured.error());
  }
  const auto graph = Least(launcher, [&] { return launcher.Replay(); });
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
