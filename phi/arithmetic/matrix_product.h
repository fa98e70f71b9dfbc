// Products of a constant matrix with many vectors. The bits are the same for any number of vectors,
// division of the work and processor: each output is one chain of fused multiply-adds,
//
//     y[o] = fma(w[o][n-1], x[n-1], ... fma(w[o][1], x[1], fma(w[o][0], x[0], +0)))
//
// Thread-safety: a packed matrix is immutable; products into disjoint outputs may run concurrently.
#pragma once

#include <cstddef>
#include <span>

#include "phi/arithmetic/aligned_array.h"
#include "phi/arithmetic/processor.h"

namespace reveza::phi {

// Outputs are zero-padded to a multiple of this.
inline constexpr int kOutputUnit = 16;
// Outputs computed together from one read of their weights.
inline constexpr int kPanel = 64;

constexpr int PaddedOutputs(int outputs) {
  return (outputs + kOutputUnit - 1) / kOutputUnit * kOutputUnit;
}

// Weights in read order: panels of 64 outputs (the last may be narrower, a multiple of 16); within
// a panel, all outputs of input 0, then of input 1, and so on.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // Packs the row-major outputs x inputs matrix `rows`; row `o` yields output `o`.
  PackedMatrix(std::span<const float> rows, int outputs, int inputs);

  int outputs() const { return outputs_; }
  int inputs() const { return inputs_; }
  int panels() const { return (outputs_ + kPanel - 1) / kPanel; }
  int WidthOf(int panel) const;
  const float* Panel(int panel) const {
    return values_.data() + static_cast<std::size_t>(panel) * kPanel * inputs_;
  }
  // Returns the weight of output `o` and input `k`.
  float At(int o, int k) const;
  std::size_t bytes() const { return values_.size() * sizeof(float); }

 private:
  int outputs_ = 0;
  int inputs_ = 0;
  AlignedArray<float> values_;
};

// A sequence of vectors, `stride` floats apart.
struct Vectors {
  const float* first;
  std::ptrdiff_t stride;
};
struct OutputVectors {
  float* first;
  std::ptrdiff_t stride;
};

struct PanelWork {
  const float* panel;
  int width;
  int inputs;
  Vectors x;
  int count;  // number of vectors
  OutputVectors y;
  const float* next;  // what is read after the panel, to be fetched ahead; null if unknown
};
using PanelProduct = void (*)(const PanelWork&);

// Computes y = W x for `count` vectors, restricted to panels [first, last) so that threads can
// share the work. Each vector of `y` holds PaddedOutputs(outputs) floats; the padding becomes +0.
// `x` and `y` must not overlap. The next product, if it is known, reads `next`.
void Multiply(const PackedMatrix& matrix, Vectors x, int count, OutputVectors y,
              PanelProduct product, int first, int last, const float* next = nullptr);
inline void Multiply(const PackedMatrix& matrix, Vectors x, int count, OutputVectors y,
                     PanelProduct product) {
  Multiply(matrix, x, count, y, product, 0, matrix.panels());
}

}  // namespace reveza::phi
