// What the kernels of kernels.cu are given. Included by the processor's compiler and by nvcc.
#pragma once

#include <cstdint>

#include "phi/cycles/model.h"

namespace reveza::phi {

// One matrix and one vector a run: y = W x, one chain of fused multiply-adds an output, in order of
// the inputs. All addresses are the GPU's; strides count numbers.
struct GpuProduct {
  const float* x;        // run r's inputs from r * x_stride on, readable up to a multiple of 64
  const float* weights;  // [inputs][weights_stride], outputs padded with 0
  const float* factors;  // of the outputs, as many as weights_stride; null: none
  const float* offsets;  // added to the outputs then, likewise
  float* y;              // run r's outputs from r * y_stride on
  std::int64_t x_stride;
  std::int64_t y_stride;
  std::int32_t inputs;
  std::int32_t outputs;         // written, a multiple of 4
  std::int32_t weights_stride;  // a multiple of kGpuLargeTile
  std::int32_t rectified;       // what is negative becomes 0
};

inline constexpr int kMostGpuProducts = 3;
struct GpuProducts {
  GpuProduct product[kMostGpuProducts];
  std::int32_t count;
  std::int32_t runs;
};

// The forms of the kernel: what one block computes, and how many blocks a processor has at a time.
inline constexpr int kGpuLargeTile = 128;
inline constexpr int kGpuSmallTile = 64;
inline constexpr int kMostGpuTilesOfRuns =
    65535;  // what CUDA allows in the grid's second direction
struct GpuTile {
  int runs;
  int outputs;
  int blocks;
};
inline constexpr GpuTile kGpuTiles[] = {{kGpuLargeTile, kGpuLargeTile, 2},
                                        {kGpuLargeTile, kGpuSmallTile, 3},
                                        {kGpuSmallTile, kGpuSmallTile, 4}};
inline constexpr int kGpuProductThreads = 256;

// One block of so many threads for each run: thread l takes elements l, l + 64, ..., as the sums
// do.
inline constexpr int kGpuPassThreads = kGroup;

struct GpuPass {
  CycleConstants constants;
  PhiloxKey key;
  std::uint32_t first_run;
  std::int32_t runs;
  std::int32_t correlation;    // whether it is observed
  const std::uint64_t* cycle;  // how many are done
  std::int32_t step;           // of this launch: cycle + step + 1 is made
  float* state;                // [run][kStateVectors][padded]
  float* ring;                 // [run][kCorrelationWindow][3][padded]
  // Of a cycle, [run][...]:
  const float* from_preconscious;  // [padded]
  const float* from_unconscious;   // [padded], and then coordinates that are not read here
  const float* from_conscious;     // [padded]
  const float* operated;           // [padded]
  float* chosen;                   // [padded]
  const float* perceived;          // [padded]
  Observation* observations;       // [step][run]
};

// What a block may have without asking for more.
inline constexpr std::uint32_t kMostGpuPassBytes = 44 << 10;

// Bytes of shared memory of a block of a pass.
constexpr std::uint32_t GpuPassBytes(int dimension) {
  return static_cast<std::uint32_t>(2 * PaddedOf(dimension)) * sizeof(float);
}

}  // namespace reveza::phi
