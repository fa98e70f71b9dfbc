// Starts the kernels of kernels.cu, one after the other in a stream of their own, or all that was
// captured as one graph. Thread-safety: none.
#pragma once

#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <span>

#include "base/error.h"
#include "phi/gpu/driver.h"
#include "phi/gpu/kernel_arguments.h"

namespace reveza::phi {

class GpuLauncher {
 public:
  static Result<std::unique_ptr<GpuLauncher>> Make(GpuDriverPointer driver);
  ~GpuLauncher();
  GpuLauncher(const GpuLauncher&) = delete;
  GpuLauncher& operator=(const GpuLauncher&) = delete;

  // At most kMostGpuProducts.
  Status Products(std::span<const GpuProduct> products, int runs);
  Status FirstPass(const GpuPass& pass) { return Pass(first_pass_, pass); }
  Status LastPass(const GpuPass& pass) { return Pass(last_pass_, pass); }
  Status Count(std::uint64_t* cycle, int done);
  // `blocks` blocks of 256 threads of a limit's kernel.
  Status Limit(bool normals, unsigned blocks, float* out, int count);
  Status CopyDevice(float* to, const float* from, std::size_t bytes);

  // What `launches` starts becomes one graph, that Replay starts.
  Status Capture(const std::function<Status()>& launches);
  bool captured() const { return graph_ != nullptr; }
  Status Replay();

  // Into pinned memory, behind what was started; WaitForCopy waits for the copy of that turn, 0 or
  // 1.
  Status CopyOut(int turn, void* to, const void* from, std::size_t bytes);
  Status WaitForCopy(int turn);
  Status Wait();

 private:
  explicit GpuLauncher(GpuDriverPointer driver) : driver_(std::move(driver)) {}
  Status Begin();
  // Of any dimension, and of the default one.
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
