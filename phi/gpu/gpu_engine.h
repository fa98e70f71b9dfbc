// GPU implementation of CycleEngine, bit-identical to the CPU's (cycles/engine.h): every
// element sees the same operations in the same order. Kernels process all runs of the batch at
// once, and a CUDA graph holds many cycles, so that the host does not intervene between them.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "phi/cycles/engine.h"
#include "phi/cycles/weights.h"
#include "phi/gpu/driver.h"
#include "phi/gpu/kernel_arguments.h"

namespace reveza::phi {

struct GpuOptions {
  int device = 0;
  int graph_cycles = 16;  // cycles per CUDA graph; 0 launches kernels individually
  const char* library = "libcuda.so.1";
};

// Returns the device memory of states, weights and intermediate vectors.
Bytes GpuBytes(const EngineSettings& settings, const GpuOptions& options);

// Returns the host memory of the weights while they are generated, and of pinned buffers for
// observations.
Bytes GpuHostBytes(const EngineSettings& settings, const GpuOptions& options);

// Creates an engine in the initial state. Returns kInvalidArgument for settings that are invalid or
// exceed the GPU's grid, kUnavailable without a GPU and kExhausted without enough memory.
Result<std::unique_ptr<CycleEngine>> MakeGpuEngine(const EngineSettings& settings,
                                                   const GpuOptions& options);

// Kernels per cycle; each depends on the output of the one before.
inline constexpr int kGpuKernelsOfACycle = 7;

// Peak rates of the components of a cycle, each per second.
struct GpuLimits {
  double multiply_adds = 0;  // float multiply-adds in registers
  double normals = 0;        // normal numbers
  double copied = 0;         // bytes read plus bytes written, device to device
  double launches = 0;       // empty kernels launched in sequence
  double graph_nodes = 0;    // the same kernels as nodes of one graph
};
// Measures the rates by microbenchmarks, which take about a second.
Result<GpuLimits> MeasureGpuLimits(const GpuOptions& options);

// The constant matrices in device memory, in the layout that product_kernels.cuh reads.

struct GpuMatrix {
  GpuMemory weights;  // [inputs][stride]
  GpuMemory factors;  // [stride]; optional
  GpuMemory offsets;  // [stride]; optional
  int inputs = 0;
  int outputs = 0;  // padded to a multiple of 64
  int stride = 0;

  // Describes the product with vectors at `x`, written to `y`; strides are in floats.
  GpuProduct Product(const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride,
                     bool rectified = false) const;
};

struct GpuWeights {
  GpuMatrix preconscious;  // to conscious
  GpuMatrix unconscious;   // to conscious (padded d outputs), followed by the coordinates in the
                           // basis times the strengths
  GpuMatrix conscious;     // to unconscious
  GpuMatrix basis;
  std::array<GpuMatrix, 3> perceptron;
};

// Copies the weights to the GPU.
Result<GpuWeights> CopyWeights(const GpuDriverPointer& driver, const CycleWeights& weights);
// Returns the device memory of the weights.
Bytes GpuWeightBytes(int dimension);

}  // namespace reveza::phi
