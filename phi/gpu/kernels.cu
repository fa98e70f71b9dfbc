// The kernels of a cycle, and the microbenchmarks of `phi bench`.
#include "phi/gpu/pass_kernels.cuh"
#include "phi/gpu/product_kernels.cuh"

// Kernels have C linkage and so live outside the namespace.
using namespace reveza::phi;  // NOLINT(google-build-using-namespace)

// Kernels are named "phi_products_" followed by the index into kGpuTiles.
#define PHI_PRODUCTS(form)                                                                 \
  extern "C" __global__ void __launch_bounds__(kGpuProductThreads, kGpuTiles[form].blocks) \
      phi_products_##form(const __grid_constant__ GpuProducts products) {                  \
    MultiplyTile<kGpuTiles[form].runs, kGpuTiles[form].outputs>(products);                 \
  }
PHI_PRODUCTS(0)
PHI_PRODUCTS(1)
PHI_PRODUCTS(2)

template <int kGroups>
__device__ void FirstPass(const GpuPass& pass, float* shared) {
  GpuRun<kGroups> run(pass, shared);
  run.Recur();
  const float* input = run.Sense();
#pragma unroll 1
  for (int module = kSensoryInput; module <= kMeaningMaker; ++module) {
    run.Generic(module, input, nullptr);
    input = run.Vector(module);
  }
  run.Choose(run.Vector(kMeaningMaker), run.Row(pass.chosen));
}

template <int kGroups>
__device__ void LastPass(const GpuPass& pass, float* shared) {
  GpuRun<kGroups> run(pass, shared);
  run.Expect(run.Row(pass.perceived));
  run.Generic(kImagination, run.Vector(kNarrative), run.Vector(kExpectation));
  Observation& observation =
      pass.observations[static_cast<std::int64_t>(pass.step) * pass.runs + blockIdx.x];
  run.Observe(observation);
  if (pass.correlation != 0) run.Correlate(observation);
}

// Variants for any dimension and for the default one. With 16 blocks per multiprocessor there are
// enough registers to overlap the loads of all elements of a thread.
#define PHI_PASS(name, groups, pass_of)                             \
  extern "C" __global__ void __launch_bounds__(kGpuPassThreads, 16) \
      name(const __grid_constant__ GpuPass pass) {                  \
    extern __shared__ float shared[];                               \
    pass_of<groups>(pass, shared);                                  \
  }
PHI_PASS(phi_first_pass, 0, FirstPass)
PHI_PASS(phi_last_pass, 0, LastPass)
PHI_PASS(phi_first_pass_of_768, 12, FirstPass)
PHI_PASS(phi_last_pass_of_768, 12, LastPass)

extern "C" __global__ void phi_count_cycles(std::uint64_t* cycle, int done) {
  *cycle += static_cast<std::uint64_t>(done);
}

// Microbenchmarks. Each thread does `count` rounds of 16 multiply-adds, or of four normal numbers,
// and writes a result that depends on all of them, so that nothing is optimised away.
extern "C" __global__ void phi_limit_products(float* out, int count) {
  float sum[16];
  for (int i = 0; i < 16; ++i) sum[i] = static_cast<float>(threadIdx.x + i);
  for (int round = 0; round < count; ++round) {
#pragma unroll
    for (int i = 0; i < 16; ++i) sum[i] = Fma(sum[i], 0.999F, 0.001F);
  }
  float total = 0;
  for (int i = 0; i < 16; ++i) total += sum[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

extern "C" __global__ void phi_limit_normals(float* out, int count) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const DrawPosition at{.key = {{1, 2}}, .run = thread, .cycle = 1, .site = 2};
  float total = 0;
  for (int round = 0; round < count; ++round) {
    const auto words = PhiloxLanes(static_cast<std::uint32_t>(round), at);
    float normal[4];
    BoxMuller<ScalarLanes>(words.word[0], words.word[1], normal[0], normal[1]);
    BoxMuller<ScalarLanes>(words.word[2], words.word[3], normal[2], normal[3]);
    total += normal[0] + normal[1] + normal[2] + normal[3];
  }
  out[thread] = total;
}
