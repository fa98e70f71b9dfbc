#include "phi/arithmetic/matrix_product.h"

#include <algorithm>

#include "phi/arithmetic/kernels.h"

namespace reveza::phi {

PackedMatrix::PackedMatrix(std::span<const float> rows, int outputs, int inputs)
    : outputs_(outputs),
      inputs_(inputs),
      values_(static_cast<std::size_t>(PaddedOutputs(outputs)) * static_cast<std::size_t>(inputs)) {
  for (int panel = 0; panel < panels(); ++panel) {
    float* to = values_.data() + static_cast<std::size_t>(panel) * kPanel * inputs;
    const int width = WidthOf(panel);
    const int used = std::min(kPanel, outputs - panel * kPanel);
    for (int k = 0; k < inputs; ++k) {
      for (int o = 0; o < used; ++o) {
        const std::size_t row =
            static_cast<std::size_t>(panel) * kPanel + static_cast<std::size_t>(o);
        to[static_cast<std::ptrdiff_t>(k) * width + o] =
            rows[row * static_cast<std::size_t>(inputs) + static_cast<std::size_t>(k)];
      }
    }
  }
}

int PackedMatrix::WidthOf(int panel) const {
  return std::min(kPanel, PaddedOutputs(outputs_) - panel * kPanel);
}

float PackedMatrix::At(int o, int k) const {
  const int panel = o / kPanel;
  return Panel(panel)[static_cast<std::ptrdiff_t>(k) * WidthOf(panel) + o % kPanel];
}

const ArithmeticKernels& KernelsOf(Instructions instructions) {
#ifdef __x86_64__
  if (instructions == Instructions::kAvx512) return kAvx512Kernels;
  if (instructions == Instructions::kAvx2) return kAvx2Kernels;
#endif
  static_cast<void>(instructions);
  return kPlainKernels;
}

void Multiply(const PackedMatrix& matrix, Vectors x, int count, OutputVectors y,
              PanelProduct product, int first, int last, const float* next) {
  for (int panel = first; panel < last; ++panel) {
    product(
        {.panel = matrix.Panel(panel),
         .width = matrix.WidthOf(panel),
         .inputs = matrix.inputs(),
         .x = x,
         .count = count,
         .y = {.first = y.first + static_cast<std::ptrdiff_t>(panel) * kPanel, .stride = y.stride},
         .next = panel + 1 < last ? matrix.Panel(panel + 1) : next});
  }
}

}  // namespace reveza::phi
