// Launches the kernels of kernels.cu in order on a stream, or replays a captured CUDA graph.
// Not thread-safe.
#pragma once

#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <span>

#include "common/base/error.h"
#include "phi/gpu/driver.h"
#include "phi/gpu/kernel_arguments.h"

namespace reveza::phi {

class GpuLauncher {
 public:
  static Result<std::unique_ptr<GpuLauncher>> Make(GpuDriverPointer driver);
  ~GpuLauncher();
  GpuLauncher(const GpuLauncher&) = delete;
  GpuLauncher& operator=(const GpuLauncher&) = delete;

  // Launches up to kMaxGpuProducts products as one kernel.
  Status Products(std::span<const GpuProduct> products, int runs);
  Status FirstPass(const GpuPass& pass) { return Pass(first_pass_, pass); }
  Status LastPass(const GpuPass& pass) { return Pass(last_pass_, pass); }
  // Adds `done` to the device counter `cycle`.
  Status Count(std::uint64_t* cycle, int done);
  // Launches `blocks` blocks of 256 threads of a microbenchmark: normal numbers or products.
  Status Limit(bool normals, unsigned blocks, float* out, int count);
  Status CopyDevice(float* to, const float* from, std::size_t bytes);

  // Captures what `launches` launches as a graph, which Replay() launches.
  Status Capture(const std::function<Status()>& launches);
  bool captured() const { return graph_ != nullptr; }
  Status Replay();

  // Enqueues a copy to pinned memory. `turn`, 0 or 1, identifies the copy for WaitForCopy().
  Status CopyOut(int turn, void* to, const void* from, std::size_t bytes);
  Status WaitForCopy(int turn);
  Status Wait();

 private:
  explicit GpuLauncher(GpuDriverPointer driver) : driver_(std::move(driver)) {}
  Status Initialize();
  // Variants for any dimension and for the default dimension.
  using PassKernels = std::array<CUfunction, 2>;
  Status Pass(const PassKernels& kernels, const GpuPass& pass);
  Status Launch(CUfunction kernel, unsigned blocks_x, unsigned blocks_y, unsigned threads,
                unsigned shared, void** arguments);

  GpuDriverPointer driver_;
  CUmodule module_ = nullptr;
  CUstream stream_ = nullptr;
  std::array<CUevent, 2> copied_{};
  CUgraphExec graph_ = nullptr;
  std::array<CUfunction, std::size(kGpuTiles)> products_{};
  PassKernels first_pass_{};
  PassKernels last_pass_{};
  CUfunction count_ = nullptr;
  CUfunction limit_products_ = nullptr;
  CUfunction limit_normals_ = nullptr;
};

}  // namespace reveza::phi
