#include "phi/gpu/launcher.h"

#include <algorithm>
#include <utility>

extern "C" const unsigned char reveza_phi_kernels_image[];

namespace reveza::phi {
namespace {

unsigned Tiles(int count, int tile) { return static_cast<unsigned>((count + tile - 1) / tile); }

// Estimates the time of all blocks, in arbitrary units: waves of resident blocks, each proportional
// to the tile size, plus loads, which cost more for smaller tiles.
double TimeOf(const GpuTile& tile, unsigned blocks, int processors) {
  const auto at_once = static_cast<unsigned>(tile.blocks * processors);
  const unsigned rounds = blocks / at_once;
  const unsigned rest = (blocks % at_once + static_cast<unsigned>(processors) - 1) /
                        static_cast<unsigned>(processors);
  const double products = static_cast<double>(tile.runs) * tile.outputs;
  const double loads = 16.0 * (tile.runs + tile.outputs);
  // A single block per multiprocessor does not hide memory latency.
  const double last = rest == 0 ? 0 : std::max<double>(rest, 0.6 * tile.blocks);
  return (rounds * tile.blocks + last) * (products + loads);
}

}  // namespace

Result<std::unique_ptr<GpuLauncher>> GpuLauncher::Make(GpuDriverPointer driver) {
  std::unique_ptr<GpuLauncher> launcher(new GpuLauncher(std::move(driver)));
  RETURN_IF_ERROR(launcher->Initialize());
  return launcher;
}

Status GpuLauncher::Initialize() {
  const void* image = reveza_phi_kernels_image;
  RETURN_IF_ERROR(GPU_CALL(*driver_, cuModuleLoadData, &module_, image));
  const std::array<std::pair<CUfunction*, const char*>, 10> kernels = {{
      {&products_[0], "phi_products_0"},
      {&products_[1], "phi_products_1"},
      {&products_[2], "phi_products_2"},
      {&first_pass_[0], "phi_first_pass"},
      {&first_pass_[1], "phi_first_pass_of_768"},
      {&last_pass_[0], "phi_last_pass"},
      {&last_pass_[1], "phi_last_pass_of_768"},
      {&count_, "phi_count_cycles"},
      {&limit_products_, "phi_limit_products"},
      {&limit_normals_, "phi_limit_normals"},
  }};
  for (const auto& [kernel, name] : kernels) {
    RETURN_IF_ERROR(GPU_CALL(*driver_, cuModuleGetFunction, kernel, module_, name));
  }
  const unsigned apart = CU_STREAM_NON_BLOCKING;
  RETURN_IF_ERROR(GPU_CALL(*driver_, cuStreamCreate, &stream_, apart));
  for (CUevent& event : copied_) {
    const unsigned untimed = CU_EVENT_DISABLE_TIMING;
    RETURN_IF_ERROR(GPU_CALL(*driver_, cuEventCreate, &event, untimed));
  }
  return {};
}

GpuLauncher::~GpuLauncher() {
  if (stream_ != nullptr) (void)GPU_CALL(*driver_, cuStreamSynchronize, stream_);
  if (graph_ != nullptr) (void)GPU_CALL(*driver_, cuGraphExecDestroy, graph_);
  for (CUevent event : copied_) {
    if (event != nullptr) (void)GPU_CALL(*driver_, cuEventDestroy, event);
  }
  if (stream_ != nullptr) (void)GPU_CALL(*driver_, cuStreamDestroy, stream_);
  if (module_ != nullptr) (void)GPU_CALL(*driver_, cuModuleUnload, module_);
}

Status GpuLauncher::Launch(CUfunction kernel, unsigned blocks_x, unsigned blocks_y,
                           unsigned threads, unsigned shared, void** arguments) {
  void** none = nullptr;
  return GPU_CALL(*driver_, cuLaunchKernel, kernel, blocks_x, blocks_y, 1U, threads, 1U, 1U, shared,
                  stream_, arguments, none);
}

Status GpuLauncher::Products(std::span<const GpuProduct> products, int runs) {
  GpuProducts all{};
  all.count = static_cast<std::int32_t>(products.size());
  all.runs = runs;
  std::ranges::copy(products, all.product);
  std::size_t best = 0;
  unsigned columns = 0;
  double least = 0;
  for (std::size_t form = 0; form < std::size(kGpuTiles); ++form) {
    const GpuTile& tile = kGpuTiles[form];
    unsigned wide = 0;
    for (const GpuProduct& product : products) wide += Tiles(product.outputs, tile.outputs);
    const double time = TimeOf(tile, wide * Tiles(runs, tile.runs), driver_->processors());
    if (form > 0 && time >= least) continue;
    least = time;
    best = form;
    columns = wide;
  }
  void* arguments[] = {&all};
  return Launch(products_[best], columns, Tiles(runs, kGpuTiles[best].runs), kGpuProductThreads, 0,
                arguments);
}

Status GpuLauncher::Pass(const PassKernels& kernels, const GpuPass& pass) {
  GpuPass given = pass;
  void* arguments[] = {&given};
  const bool usual = PaddedOf(pass.constants.dimension) == 768;
  return Launch(kernels[usual ? 1 : 0], static_cast<unsigned>(pass.runs), 1, kGpuPassThreads,
                GpuPassBytes(pass.constants.dimension), arguments);
}

Status GpuLauncher::Count(std::uint64_t* cycle, int done) {
  void* arguments[] = {&cycle, &done};
  return Launch(count_, 1, 1, 1, 0, arguments);
}

Status GpuLauncher::Limit(bool normals, unsigned blocks, float* out, int count) {
  void* arguments[] = {&out, &count};
  return Launch(normals ? limit_normals_ : limit_products_, blocks, 1, kGpuProductThreads, 0,
                arguments);
}

Status GpuLauncher::CopyDevice(float* to, const float* from, std::size_t bytes) {
  return GPU_CALL(*driver_, cuMemcpyDtoDAsync, reinterpret_cast<CUdeviceptr>(to),
                  reinterpret_cast<CUdeviceptr>(from), bytes, stream_);
}

Status GpuLauncher::Capture(const std::function<Status()>& launches) {
  const auto mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  RETURN_IF_ERROR(GPU_CALL(*driver_, cuStreamBeginCapture, stream_, mode));
  Status launched = launches();
  CUgraph graph = nullptr;
  Status ended = GPU_CALL(*driver_, cuStreamEndCapture, stream_, &graph);
  if (!launched) return launched;
  if (!ended) return ended;
  const unsigned long long flags = 0;
  const Status made = GPU_CALL(*driver_, cuGraphInstantiateWithFlags, &graph_, graph, flags);
  (void)GPU_CALL(*driver_, cuGraphDestroy, graph);
  return made;
}

Status GpuLauncher::Replay() { return GPU_CALL(*driver_, cuGraphLaunch, graph_, stream_); }

Status GpuLauncher::CopyOut(int turn, void* to, const void* from, std::size_t bytes) {
  const auto address = reinterpret_cast<CUdeviceptr>(from);
  RETURN_IF_ERROR(GPU_CALL(*driver_, cuMemcpyDtoHAsync, to, address, bytes, stream_));
  return GPU_CALL(*driver_, cuEventRecord, copied_[turn], stream_);
}

Status GpuLauncher::WaitForCopy(int turn) {
  return GPU_CALL(*driver_, cuEventSynchronize, copied_[turn]);
}

Status GpuLauncher::Wait() { return GPU_CALL(*driver_, cuStreamSynchronize, stream_); }

}  // namespace reveza::phi
