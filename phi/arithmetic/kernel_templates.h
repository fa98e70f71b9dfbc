// The kernels of kernels.h as templates over lanes. Included by one file per instruction set.
#pragma once

#include <cstdint>

#include "phi/arithmetic/kernels.h"
#include "phi/arithmetic/many_lanes.h"

namespace reveza::phi {

// Computes a tile of R vectors by V lanes of outputs, with all sums in registers. With `kAhead`,
// fetches a line from `ahead` on to the second cache with each input.
template <class Lanes, int R, int V, bool kAhead>
void ProductTile(const PanelWork& work, const float* weights, const float* x, float* y,
                 const float* ahead) {
  constexpr int kLine = 16;
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
    if constexpr (kAhead) {
      // A hint, which may be beyond the end, and not into the first cache, which this tile needs.
      __builtin_prefetch(ahead, 0, 2);
      ahead += kLine;
    }
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

// Vectors of the largest tile.
constexpr int kMaxRows = 6;

// Computes R vectors by all outputs of the panel. With fewer vectors it takes more outputs at once,
// so that enough independent sums hide the latency of the operations.
template <class Lanes, int R>
void ProductRows(const PanelWork& work, const float* x, float* y, const float* ahead) {
  constexpr int kRegisters = Lanes::kCount == 16 ? 24 : 12;
  int column = 0;
  const auto columns = [&]<int kWidth>() {
    constexpr int V = kWidth / Lanes::kCount;
    if constexpr (R * V <= kRegisters || kWidth == kOutputUnit) {
      for (; column + kWidth <= work.width; column += kWidth) {
        if (ahead != nullptr && R == kMaxRows) {
          ProductTile<Lanes, R, V, true>(work, work.panel + column, x, y + column, ahead);
        } else {
          ProductTile<Lanes, R, V, false>(work, work.panel + column, x, y + column, nullptr);
        }
      }
    }
  };
  columns.template operator()<kPanel>();
  columns.template operator()<kPanel / 2>();
  columns.template operator()<kOutputUnit>();
}

template <class Lanes>
void ProductOfPanel(const PanelWork& work) {
  constexpr void (*kProducts[])(const PanelWork&, const float*, float*, const float*) = {
      ProductRows<Lanes, 1>, ProductRows<Lanes, 2>, ProductRows<Lanes, 3>,
      ProductRows<Lanes, 4>, ProductRows<Lanes, 5>, ProductRows<Lanes, 6>};
  constexpr int kRows = sizeof kProducts / sizeof kProducts[0];
  static_assert(kRows == kMaxRows);
  // Each of the first tiles fetches a line of the next panel with each input.
  const float* ahead = work.next;
  int tiles = ahead != nullptr ? work.width / 16 : 0;
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
    kProducts[rows - 1](work, x, y, tiles > 0 ? ahead : nullptr);
    if (tiles-- > 0) ahead += std::ptrdiff_t{16} * work.inputs;
    x += rows * work.x.stride;
    y += rows * work.y.stride;
    left -= rows;
  }
}

template <class Lanes>
void FillNormals(const DrawPosition& at, int groups, float* to) {
  const DrawPosition place = at;  // which no store to `to` changes
  constexpr int kParts = kGroup / Lanes::kCount;
  const auto store = [&](int group, const typename Lanes::Floats* parts) {
    for (int i = 0; i < kParts; ++i) {
      Lanes::Store(to + group * kGroup + i * Lanes::kCount, parts[i]);
    }
  };
  ForNormalGroups<Lanes>(place, groups, store);
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
std::uint64_t HashOf(const float* from, int count, std::uint32_t first) {
  auto sums = Lanes::NoHashes();
  for (int i = 0; i < count; i += Lanes::kCount) {
    Lanes::AddHashes(sums, Lanes::Load(from + i), first + static_cast<std::uint32_t>(i));
  }
  return Lanes::FoldHash(sums);
}

template <class Lanes>
constexpr ArithmeticKernels MakeKernels() {
  return {.product = ProductOfPanel<Lanes>,
          .normals = FillNormals<Lanes>,
          .sum = SumOf<Lanes>,
          .hash = HashOf<Lanes>};
}

}  // namespace reveza::phi
