#include "phi/gpu/gpu_weights.h"

#include <algorithm>
#include <utility>

namespace reveza::phi {
namespace {

int StrideOf(int outputs) { return (outputs + kGpuLargeTile - 1) / kGpuLargeTile * kGpuLargeTile; }

Result<GpuMemory> Copy(const GpuDriverPointer& driver, const std::vector<float>& values) {
  auto memory = GpuMemory::Allocate(driver, values.size() * sizeof(float));
  if (!memory) return memory;
  RETURN_IF_ERROR(memory->CopyFrom(values.data()));
  return memory;
}

// Copies `first`, with the outputs of `second`, if given, after its padded outputs.
Result<GpuMatrix> CopyMatrix(const GpuDriverPointer& driver, const PackedMatrix& first,
                             const PackedMatrix* second = nullptr,
                             const std::vector<float>* offsets = nullptr) {
  GpuMatrix made;
  made.inputs = first.inputs();
  const int own = PaddedOf(first.outputs());
  made.outputs = own + (second == nullptr ? 0 : PaddedOf(second->outputs()));
  made.stride = StrideOf(made.outputs);
  const auto stride = static_cast<std::size_t>(made.stride);
  std::vector<float> values(static_cast<std::size_t>(made.inputs) * stride);
  const auto fill = [&](const PackedMatrix& matrix, int place) {
    for (int k = 0; k < matrix.inputs(); ++k) {
      float* row = values.data() + static_cast<std::size_t>(k) * stride + place;
      for (int o = 0; o < matrix.outputs(); ++o) row[o] = matrix.At(o, k);
    }
  };
  fill(first, 0);
  if (second != nullptr) fill(*second, own);
  ASSIGN_OR_RETURN(made.weights, Copy(driver, values));
  if (offsets != nullptr) {
    std::vector<float> padded(stride);
    std::ranges::copy(*offsets, padded.begin());
    ASSIGN_OR_RETURN(made.offsets, Copy(driver, padded));
  }
  return made;
}

}  // namespace

GpuProduct GpuMatrix::Product(const float* x, std::int64_t x_stride, float* y,
                              std::int64_t y_stride, bool rectified) const {
  return {.x = x,
          .weights = weights.as<const float>(),
          .factors = factors.as<const float>(),
          .offsets = offsets.as<const float>(),
          .y = y,
          .x_stride = x_stride,
          .y_stride = y_stride,
          .inputs = inputs,
          .outputs = outputs,
          .weights_stride = stride,
          .rectified = rectified ? 1 : 0};
}

Result<GpuWeights> CopyWeights(const GpuDriverPointer& driver, const CycleWeights& weights) {
  GpuWeights made;
  ASSIGN_OR_RETURN(made.preconscious, CopyMatrix(driver, weights.preconscious_to_conscious));
  ASSIGN_OR_RETURN(made.unconscious,
                   CopyMatrix(driver, weights.unconscious_to_conscious, &weights.basis_transposed));
  ASSIGN_OR_RETURN(made.conscious, CopyMatrix(driver, weights.conscious_to_unconscious));
  for (std::size_t i = 0; i < made.perceptron.size(); ++i) {
    const Layer& layer = weights.perceptron[i];
    ASSIGN_OR_RETURN(made.perceptron[i],
                     CopyMatrix(driver, layer.weights, nullptr, &layer.offsets));
  }
  ASSIGN_OR_RETURN(made.basis, CopyMatrix(driver, weights.basis));
  // A factor of 1 leaves the other outputs exact.
  std::vector<float> factors(static_cast<std::size_t>(made.unconscious.stride), 1.0F);
  const auto first = factors.begin() + PaddedOf(weights.basis.outputs());
  std::copy_n(weights.strengths.begin(), weights.basis.inputs(), first);
  ASSIGN_OR_RETURN(made.unconscious.factors, Copy(driver, factors));
  return made;
}

Bytes GpuWeightBytes(int dimension) {
  const auto hidden = static_cast<Bytes>(StrideOf(kHiddenUnits));
  const auto stride = static_cast<Bytes>(StrideOf(PaddedOf(dimension)));
  const auto with_coordinates = static_cast<Bytes>(StrideOf(PaddedOf(dimension) + kGroup));
  const auto inputs = static_cast<Bytes>(dimension);
  const Bytes numbers = inputs * (2 * stride + with_coordinates + hidden) +
                        kHiddenUnits * (hidden + stride) + 2 * hidden + stride + kMaxRank * stride +
                        with_coordinates;
  return numbers * sizeof(float);
}

}  // namespace reveza::phi
