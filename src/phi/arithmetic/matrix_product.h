// Products of one constant matrix with many vectors, with the same bits for any number of vectors,
// any split of the work and any processor: each output is one chain of fused multiply-adds,
//
//     y[o] = fma(w[o][n-1], x[n-1], ... fma(w[o][1], x[1], fma(w[o][0], x[0], +0)))
//
// Thread-safety: a matrix is constant once packed; products into different outputs may run at once.
#pragma once

#include <cstddef>
#include <span>

#include "phi/arithmetic/aligned_array.h"
#include "phi/arithmetic/processor.h"

namespace reveza::phi {

// Outputs are padded with zeros to a multiple of this.
inline constexpr int kOutputUnit = 16;
// So many outputs are computed together from memory that is read once.
inline constexpr int kPanel = 64;

constexpr int PaddedOutputs(int outputs) {
  return (outputs + kOutputUnit - 1) / kOutputUnit * kOutputUnit;
}

// Weights in the order in which they are read: panels of 64 outputs (the last one narrower, a
// multiple of 16), in each the outputs of input 0, of input 1, and so on.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // Row `o` of `rows`, which has outputs x inputs numbers, makes output `o`.
  PackedMatrix(std::span<const float> rows, int outputs, int inputs);

  int outputs() const { return outputs_; }
  int inputs() const { return inputs_; }
  int panels() const { return (outputs_ + kPanel - 1) / kPanel; }
  int WidthOf(int panel) const;
  const float* Panel(int panel) const {
    return values_.data() + static_cast<std::size_t>(panel) * kPanel * inputs_;
  }
  // The weight of output `o` and input `k`.
  float At(int o, int k) const;
  std::size_t bytes() const { return values_.size() * sizeof(float); }

 private:
  int outputs_ = 0;
  int inputs_ = 0;
  AlignedArray<float> values_;
};

// Vectors one after the other, `stride` numbers apart.
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
  int count;  // of vectors
  OutputVectors y;
};
using PanelProduct = void (*)(const PanelWork&);

PanelProduct PanelProductOf(Instructions instructions);

// y = W x for `count` vectors. `y` has room for PaddedOutputs; what pads is +0. x and y may not
// overlap. Panels from `first` to before `last` only, so that threads can share the work.
void Multiply(const PackedMatrix& matrix, Vectors x, int count, OutputVectors y,
              PanelProduct product, int first, int last);
inline void Multiply(const PackedMatrix& matrix, Vectors x, int count, OutputVectors y,
                     PanelProduct product) {
  Multiply(matrix, x, count, y, product, 0, matrix.panels());
}

}  // namespace reveza::phi
