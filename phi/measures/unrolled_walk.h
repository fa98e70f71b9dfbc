// The last variables of the walk over subsets, for rows that are known when this is compiled: with
// all loops unrolled, because most nodes of the walk and most of its products are there. For
// subset_walk.h only.
#pragma once

#include <cstddef>

#include "phi/measures/subset_walks.h"

namespace reveza::phi {
namespace {

// Eight subsets in lanes; the compiler splits them if the processor has shorter vectors.
using Lanes [[gnu::vector_size(kSubsetLanes * sizeof(double))]] = double;
// Not an alias, in which GCC ignores the attribute here.
typedef double UnalignedLanes  // NOLINT(modernize-use-using)
    __attribute__((vector_size(kSubsetLanes * sizeof(double)), aligned(8), may_alias));

// Undecided variables whose loops are unrolled.
constexpr int kUnrolled = 6;

// Upper triangles of `size` rows are stored row by row without gaps, so that trailing triangles are
// suffixes.
constexpr std::size_t TriangleSize(int size) {
  return static_cast<std::size_t>(size) * static_cast<std::size_t>(size + 1) / 2;
}
constexpr std::size_t RowAt(int row, int size) {
  return TriangleSize(size) - TriangleSize(size - row);
}

// The upper triangle of two rows that are eliminated together, a and c on its diagonal.
struct PivotPair {
  PivotPair(const Lanes& a, const Lanes& b, const Lanes& c)
      : a(a), b(b), determinant(a * c - b * b) {}
  Lanes a, b, determinant;
};
// The inverses of both pivots by a single division.
struct PivotInverses {
  explicit PivotInverses(const PivotPair& pair) {
    const Lanes scale = 1.0 / (pair.a * pair.determinant);
    first = pair.determinant * scale;
    second = pair.a * pair.a * scale;
    ratio = pair.b * first;
  }
  Lanes first, second, ratio;
};

template <int kGroup, int kInBegin, int kInEnd, int kOutBegin, int kOutEnd>
class FixedRows {
 public:
  static bool Are(const SubsetRows& rows) {
    return rows.group == kGroup && rows.in_begin == kInBegin && rows.in_end == kInEnd &&
           rows.out_begin == kOutBegin && rows.out_end == kOutEnd;
  }

  // Visits the node with `left` undecided variables, at most kUnrolled, and writes its
  // determinants.
  static void Visit(int left, const Lanes* from, const Lanes& product, double* out) {
    switch (left) {
      case 1:
        return Node<1>(from, product, out);
      case 2:
        return Node<2>(from, product, out);
      case 3:
        return Node<3>(from, product, out);
      case 4:
        return Node<4>(from, product, out);
      case 5:
        return Node<5>(from, product, out);
      default:
        return Node<kUnrolled>(from, product, out);
    }
  }

 private:
  template <int kLeft>
  [[gnu::noinline]] static void Node(const Lanes* from, const Lanes& product, double* out) {
    Both<kLeft>(from, product, out);
  }

  template <int kLeft>
  [[gnu::always_inline]] static inline void Both(const Lanes* from, const Lanes& product,
                                                 double* out) {
    Decide<kLeft, kOutBegin, kOutEnd>(from, product, out);
    Decide<kLeft, kInBegin, kInEnd>(from, product, out + (kSubsetLanes << (kLeft - 1)));
  }

  template <int kLeft>
  [[gnu::always_inline]] static inline void Next(const Lanes* from, const Lanes& product,
                                                 double* out) {
    if constexpr (kLeft == 0) {
      *reinterpret_cast<UnalignedLanes*>(out) = product;
    } else if constexpr (kLeft <= 2) {
      Both<kLeft>(from, product, out);
    } else {
      Node<kLeft>(from, product, out);
    }
  }

  template <int kLeft, int kBegin, int kEnd>
  [[gnu::always_inline]] static inline void Decide(const Lanes* from, const Lanes& product,
                                                   double* out) {
    constexpr int kSize = kLeft * kGroup;
    if constexpr (kBegin == kEnd) {
      Next<kLeft - 1>(from + RowAt(kGroup, kSize), product, out);
    } else {
      Lanes to[TriangleSize(kSize - kGroup) + 1];
      Lanes grown = product;
      if constexpr (kEnd - kBegin == 1) {
        EliminateOne<kSize, kBegin>(from, grown, to);
      } else {
        EliminateTwo<kSize, kBegin>(from, grown, to);
      }
      Next<kLeft - 1>(to, grown, out);
    }
  }

  template <int kSize, int kRow>
  [[gnu::always_inline]] static inline void EliminateOne(const Lanes* from, Lanes& product,
                                                         Lanes* to) {
    const Lanes* const pivot = from + RowAt(kRow, kSize) - kRow;
    product *= pivot[kRow];
    if constexpr (kSize > kGroup) {
      const Lanes inverse = 1.0 / pivot[kRow];
      const Lanes* const old = from + RowAt(kGroup, kSize);
      std::size_t at = 0;
#pragma GCC unroll 16
      for (int i = kGroup; i < kSize; ++i) {
        const Lanes factor = pivot[i] * inverse;
#pragma GCC unroll 16
        for (int j = i; j < kSize; ++j, ++at) to[at] = old[at] - factor * pivot[j];
      }
    }
  }

  template <int kSize, int kRow>
  [[gnu::always_inline]] static inline void EliminateTwo(const Lanes* from, Lanes& product,
                                                         Lanes* to) {
    const Lanes* const first = from + RowAt(kRow, kSize) - kRow;
    const Lanes* const second = from + RowAt(kRow + 1, kSize) - (kRow + 1);
    const PivotPair pivots(first[kRow], first[kRow + 1], second[kRow + 1]);
    product *= pivots.determinant;
    if constexpr (kSize > kGroup) {
      const PivotInverses inverses(pivots);
      Lanes updated[kSize];
#pragma GCC unroll 16
      for (int j = kGroup; j < kSize; ++j) updated[j] = second[j] - inverses.ratio * first[j];
      const Lanes* const old = from + RowAt(kGroup, kSize);
      std::size_t at = 0;
#pragma GCC unroll 16
      for (int i = kGroup; i < kSize; ++i) {
        const Lanes factor = first[i] * inverses.first;
        const Lanes factor_of_second = updated[i] * inverses.second;
#pragma GCC unroll 16
        for (int j = i; j < kSize; ++j, ++at) {
          to[at] = (old[at] - factor * first[j]) - factor_of_second * updated[j];
        }
      }
    }
  }
};

using UnrolledVisitor = void (*)(int left, const Lanes* from, const Lanes& product, double* out);

// Returns the visitor for these rows; null if there is none.
inline UnrolledVisitor UnrolledVisit(const SubsetRows& rows) {
  using One = FixedRows<1, 0, 1, 0, 0>;
  using Two = FixedRows<2, 0, 2, 0, 0>;
  using Either = FixedRows<2, 0, 1, 1, 2>;
  if (One::Are(rows)) return One::Visit;
  if (Two::Are(rows)) return Two::Visit;
  if (Either::Are(rows)) return Either::Visit;
  return nullptr;
}

}  // namespace
}  // namespace reveza::phi
