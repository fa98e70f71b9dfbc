// The constant matrices in the GPU's memory, in the order in which product_kernels.cuh reads them.
#pragma once

#include <array>
#include <vector>

#include "base/error.h"
#include "phi/cycles/weights.h"
#include "phi/gpu/driver.h"
#include "phi/gpu/kernel_arguments.h"

namespace reveza::phi {

struct GpuMatrix {
  GpuMemory weights;  // [inputs][stride]
  GpuMemory factors;  // [stride]; empty: none
  GpuMemory offsets;  // [stride]; empty: none
  int inputs = 0;
  int outputs = 0;  // padded to a multiple of 64
  int stride = 0;

  GpuProduct Product(const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride,
                     bool rectified = false) const;
};

struct GpuWeights {
  GpuMatrix preconscious;  // to conscious
  GpuMatrix unconscious;   // to conscious: padded d outputs; then its coordinates in the basis,
                           // times the strengths
  GpuMatrix conscious;     // to unconscious
  GpuMatrix basis;
  std::array<GpuMatrix, 3> perceptron;
};

Result<GpuWeights> CopyWeights(const GpuDriverPointer& driver, const CycleWeights& weights);
Bytes GpuWeightBytes(int dimension);

}  // namespace reveza::phi
