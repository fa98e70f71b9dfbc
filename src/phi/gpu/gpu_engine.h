// The cycles on a GPU, with the bits of the processor's (cycles/cpu_engine.h): the same operations
// in the same order on every element, all runs of the batch in the same kernels, and many cycles in
// one CUDA graph, so that the host is not asked in between.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/error.h"
#include "phi/cycles/engine.h"

namespace reveza::phi {

struct GpuOptions {
  int device = 0;
  int graph_cycles = 16;  // cycles of one graph; 0: each kernel is launched by itself
  const char* library = "libcuda.so.1";
};

// Memory of the GPU: states, weights and what the kernels work in.
Bytes GpuBytes(const EngineSettings& settings, const GpuOptions& options);

// Memory of the host: the weights while they are made, and pinned memory for what is observed.
Bytes GpuHostBytes(const EngineSettings& settings, const GpuOptions& options);

// At the state before the first cycle. kUnavailable: no GPU; kExhausted: not enough memory.
Result<std::unique_ptr<CycleEngine>> MakeGpuEngine(const EngineSettings& settings,
                                                   const GpuOptions& options);

// One after the other, each of which waits for what the one before has written.
inline constexpr int kGpuKernelsOfACycle = 7;

// What the GPU does at best of what a cycle consists of, measured now.
struct GpuLimits {
  double multiply_adds = 0;  // a second, of floats, in registers
  double normals = 0;        // a second
  double copied = 0;         // bytes a second, read and written in its own memory
  double launches = 0;       // a second, of empty kernels one after the other
  double graph_nodes = 0;    // the same, all in one graph
};
Result<GpuLimits> MeasureGpuLimits(const GpuOptions& options);

}  // namespace reveza::phi
