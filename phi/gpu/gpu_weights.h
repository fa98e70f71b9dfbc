// The constant matrices in device memory, in the layout that product_kernels.cuh reads.
#pragma once

#include <array>
#include <vector>

#include "common/base/error.h"
#include "phi/cycles/weights.h"
#include "phi/gpu/driver.h"
#include "phi/gpu/kernel_arguments.h"

namespace reveza::phi {

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
