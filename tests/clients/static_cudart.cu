// A program compiled by nvcc: kernels launched with <<<>>> and the static CUDA runtime, which
// resolves the driver itself. Does the work of `worker` with fewer allocations.
#include <cuda_runtime.h>

#include <vector>

#include "reveza/cli/demo_worker/client.h"
#include "reveza/cli/demo_worker/kernels.cu"

namespace reveza::clients {
namespace {

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  Die(std::string(what) + " failed: " + cudaGetErrorName(error));
}

constexpr int kAllocations = 5;
constexpr int kBlocks = 512, kThreads = 256;

std::uint64_t HashOf(const unsigned* memory, std::size_t words) {
  unsigned long long* sum = nullptr;
  Check(cudaMalloc(&sum, sizeof *sum), "cudaMalloc");
  Check(cudaMemset(sum, 0, sizeof *sum), "cudaMemset");
  reveza_hash<<<kBlocks, kThreads>>>(memory, words, sum);
  Check(cudaGetLastError(), "launch of reveza_hash");
  unsigned long long value = 0;
  Check(cudaMemcpy(&value, sum, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
  Check(cudaFree(sum), "cudaFree");
  return value;
}

int Main(const Options& options) {
  StepRun run(options);
  const std::size_t words = options.bytes / kAllocations / 4;
  std::vector<unsigned*> blocks(kAllocations, nullptr);
  for (unsigned*& block : blocks) {
    Check(cudaMalloc(&block, words * 4), "cudaMalloc");
    reveza_fill<<<kBlocks, kThreads>>>(block, words, options.seed);
  }
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreate(&stream), "cudaStreamCreate");
  while (run.Next()) {
    for (unsigned* block : blocks) {
      reveza_step<<<kBlocks, kThreads, 0, stream>>>(block, words, options.seed);
    }
    if (options.step_ms > 0) reveza_spin<<<1, 1, 0, stream>>>(options.step_ms * 1000000ull);
    Check(cudaGetLastError(), "launch");
    if (run.step() % 2 == 0) Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::uint64_t hash = 0;
  for (const unsigned* block : blocks) hash = Combine(hash, HashOf(block, words));
  for (unsigned* block : blocks) Check(cudaFree(block), "cudaFree");
  Check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "static_cudart"));
}
