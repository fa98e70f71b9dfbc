// Arguments of the kernels in kernels.cu. Compiled by both the host compiler and nvcc.
#pragma once

#include <cstdint>

#include "phi/cycles/model.h"

namespace reveza::phi {

// One matrix and one vector per run: y = W x, one chain of fused multiply-adds per output, in input
// order. Pointers are device addresses; strides count floats.
struct GpuProduct {
  const float* x;        // inputs of run r at r * x_stride, readable up to a multiple of 64
  const float* weights;  // [inputs][weights_stride], outputs zero-padded
  const float* factors;  // [weights_stride], multiply the outputs; may be null
  const float* offsets;  // [weights_stride], added afterwards; may be null
  float* y;              // outputs of run r at r * y_stride
  std::int64_t x_stride;
  std::int64_t y_stride;
  std::int32_t inputs;
  std::int32_t outputs;         // outputs to write, a multiple of 4
  std::int32_t weights_stride;  // a multiple of kGpuLargeTile
  std::int32_t rectified;       // nonzero clamps negative outputs to 0
};

inline constexpr int kMaxGpuProducts = 3;
struct GpuProducts {
  GpuProduct product[kMaxGpuProducts];
  std::int32_t count;
  std::int32_t runs;
};

// Variants of the product kernel: the tile of one block and the resident blocks per multiprocessor.
inline constexpr int kGpuLargeTile = 128;
inline constexpr int kGpuSmallTile = 64;
inline constexpr int kMaxGpuTilesOfRuns = 65535;  // CUDA's limit of gridDim.y
struct GpuTile {
  int runs;
  int outputs;
  int blocks;
};
inline constexpr GpuTile kGpuTiles[] = {{kGpuLargeTile, kGpuLargeTile, 2},
                                        {kGpuLargeTile, kGpuSmallTile, 3},
                                        {kGpuSmallTile, kGpuSmallTile, 4}};
inline constexpr int kGpuProductThreads = 256;

// Threads of the block that processes one run: thread l takes elements l, l + 64, ..., like the
// partial sums.
inline constexpr int kGpuPassThreads = kGroup;

struct GpuPass {
  CycleConstants constants;
  PhiloxKey key;
  std::uint32_t first_run;
  std::int32_t runs;
  std::int32_t correlation;    // nonzero observes rho_correlation
  const std::uint64_t* cycle;  // completed cycles
  std::int32_t step;           // this launch computes cycle + step + 1
  float* state;                // [run][kStateVectors][padded]
  float* ring;                 // [run][kCorrelationWindow][3][padded]
  // Per run, [run][...]:
  float* from_preconscious;   // [padded]
  float* from_unconscious;    // [padded], followed by coordinates that passes do not read
  float* from_conscious;      // [padded]
  float* operated;            // [padded]
  float* chosen;              // [padded]
  float* perceived;           // [padded]
  Observation* observations;  // [step][run]
};

// Shared memory of a block available without opting in to more.
inline constexpr std::uint32_t kMaxGpuPassBytes = 44 << 10;

// Returns the shared memory of a block of a pass.
constexpr std::uint32_t GpuPassBytes(int dimension) {
  return static_cast<std::uint32_t>(2 * PaddedOf(dimension)) * sizeof(float);
}

}  // namespace reveza::phi
