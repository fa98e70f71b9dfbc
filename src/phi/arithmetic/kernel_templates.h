// The kernels of kernels.h over lanes. Included by one file for each set of instructions.
#pragma once

#include <cstdint>

#include "phi/arithmetic/kernels.h"
#include "phi/arithmetic/phi_math.h"

namespace reveza::phi {

// R vectors by V lanes of outputs: all sums of one tile stay in registers.
template <class Lanes, int R, int V>
void ProductTile(const PanelWork& work, const float* weights, const float* x, float* y) {
  using Floats = typename Lanes::Floats;
  Floats sum[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) sum[r][v] = Lanes::Broadcast(0.0F);
  }
  const int inputs = work.inputs;
  const std::ptrdiff_t width = work.width;
  const std::ptrdiff_t stride = work.x.stride;
  for (int k = 0; k < inputs; ++k) {
    Floats weight[V];
    for (int v = 0; v < V; ++v) weight[v] = Lanes::Load(weights + v * Lanes::kCount);
    weights += width;
    for (int r = 0; r < R; ++r) {
      const Floats each = Lanes::Broadcast(x[r * stride + k]);
      for (int v = 0; v < V; ++v) sum[r][v] = Fma(weight[v], each, sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      Lanes::Store(y + r * work.y.stride + v * Lanes::kCount, sum[r][v]);
    }
  }
}

// R vectors by all outputs of the panel. The fewer vectors, the more outputs at once, so that there
// are enough sums to hide how long one operation takes.
template <class Lanes, int R>
void ProductRows(const PanelWork& work, const float* x, float* y) {
  constexpr int kRegisters = Lanes::kCount == 16 ? 24 : 12;
  int column = 0;
  const auto columns = [&]<int kWidth>() {
    constexpr int V = kWidth / Lanes::kCount;
    if constexpr (R * V <= kRegisters || kWidth == kOutputUnit) {
      for (; column + kWidth <= work.width; column += kWidth) {
        ProductTile<Lanes, R, V>(work, work.panel + column, x, y + column);
      }
    }
  };
  columns.template operator()<kPanel>();
  columns.template operator()<kPanel / 2>();
  columns.template operator()<kOutputUnit>();
}

template <class Lanes>
void ProductOfPanel(const PanelWork& work) {
  constexpr int kRows = 6;
  const float* x = work.x.first;
  float* y = work.y.first;
  int left = work.count;
  while (left > 0) {
    int rows = kRows;
    if (left < kRows) {
      rows = left;
    } else if (left == kRows + 1 || left == kRows + 2) {
      rows = 4;  // 4 + 3 and 4 + 4 are better than 6 + 1 and 6 + 2
    }
    switch (rows) {
      case 1:
        ProductRows<Lanes, 1>(work, x, y);
        break;
      case 2:
        ProductRows<Lanes, 2>(work, x, y);
        break;
      case 3:
        ProductRows<Lanes, 3>(work, x, y);
        break;
      case 4:
        ProductRows<Lanes, 4>(work, x, y);
        break;
      case 5:
        ProductRows<Lanes, 5>(work, x, y);
        break;
      default:
        ProductRows<Lanes, kRows>(work, x, y);
        break;
    }
    x += rows * work.x.stride;
    y += rows * work.y.stride;
    left -= rows;
  }
}

template <class Lanes>
void FillNormals(const DrawPosition& at, int groups, float* to) {
  constexpr int kParts = kGroup / Lanes::kCount;
  for (int group = 0; group < groups; ++group) {
    typename Lanes::Floats parts[kParts];
    NormalGroup<Lanes>(at, group, parts);
    for (int i = 0; i < kParts; ++i)
      Lanes::Store(to + group * kGroup + i * Lanes::kCount, parts[i]);
  }
}

template <class Lanes>
void LogOfEach(const float* from, int count, float* to) {
  for (int i = 0; i < count; i += Lanes::kCount) Lanes::Store(to + i, Log(Lanes::Load(from + i)));
}

template <class Lanes>
void TanhOfEach(const float* from, int count, float* to) {
  for (int i = 0; i < count; i += Lanes::kCount) Lanes::Store(to + i, Tanh(Lanes::Load(from + i)));
}

template <class Lanes>
float SumOf(const float* from, int groups) {
  TreeSum<Lanes> sum;
  for (int group = 0; group < groups; ++group) {
    for (int i = 0; i < TreeSum<Lanes>::kParts; ++i) {
      sum.Add(i, Lanes::Load(from + group * kGroup + i * Lanes::kCount));
    }
  }
  return sum.Total();
}

template <class Lanes>
float SumOfSquares(const float* from, int groups) {
  TreeSum<Lanes> sum;
  for (int group = 0; group < groups; ++group) {
    for (int i = 0; i < TreeSum<Lanes>::kParts; ++i) {
      const auto each = Lanes::Load(from + group * kGroup + i * Lanes::kCount);
      sum.AddProduct(i, each, each);
    }
  }
  return sum.Total();
}

template <class Lanes>
std::uint64_t HashOf(const float* from, int count, std::uint32_t first) {
  std::uint64_t sum = 0;
  for (int i = 0; i < count; i += Lanes::kCount) {
    sum += Lanes::HashWords(Lanes::Load(from + i), first + static_cast<std::uint32_t>(i));
  }
  return sum;
}

template <class Lanes>
constexpr ArithmeticKernels MakeKernels() {
  return {.product = ProductOfPanel<Lanes>,
          .normals = FillNormals<Lanes>,
          .log = LogOfEach<Lanes>,
          .tanh = TanhOfEach<Lanes>,
          .sum = SumOf<Lanes>,
          .sum_of_squares = SumOfSquares<Lanes>,
          .hash = HashOf<Lanes>};
}

}  // namespace reveza::phi
