// The walk over subsets, compiled once per instruction set: include only from subset_walk_*.cc. It
// uses no inline functions of the C++ library or of Matrix, since the linker could pick the copy
// compiled here for the whole program.
#pragma once

#include <cstddef>

#include "phi/measures/subset_walks.h"

namespace reveza::phi {
namespace {

constexpr int kLanes = 8;
constexpr int kLaneVariables = 3;

// Eight subsets in lanes; the compiler splits them if the processor has shorter vectors.
using Lanes [[gnu::vector_size(kLanes * sizeof(double))]] = double;

// Upper triangles of `size` rows are stored row by row without gaps, so that trailing triangles are
// suffixes.
constexpr std::size_t TriangleSize(int size) {
  return static_cast<std::size_t>(size) * static_cast<std::size_t>(size + 1) / 2;
}
inline std::size_t RowAt(int row, int size) {
  return TriangleSize(size) - TriangleSize(size - row);
}

class Walk {
 public:
  explicit Walk(const SubsetWork& work)
      : variables_(work.variables),
        rows_(work.rows),
        lane_variables_(work.variables < kLaneVariables ? work.variables : kLaneVariables),
        result_(work.result) {
    Lanes* next = reinterpret_cast<Lanes*>(work.space);
    for (int left = 0; left <= variables_; ++left) {
      levels_[left] = next;
      next += TriangleSize(left * rows_.group);
    }
    const int size = variables_ * rows_.group;
    copy_ = next;
    next += TriangleSize(size);
    row_ = next;
    next += size;
    lead_ = next;
    Load(work.matrix, size);
  }

  void Run() {
    Lanes product = {1, 1, 1, 1, 1, 1, 1, 1};
    int left = variables_;
    for (int variable = 0; variable < lane_variables_; ++variable, --left) {
      const Lanes* const from = levels_[left];
      Lanes* const to = levels_[left - 1];
      EliminateByLane(from, left, variable, product, to);
    }
    Visit(levels_[left], left, product, 0);
  }

 private:
  void Load(const double* matrix, int size) {
    Lanes* out = levels_[variables_];
    for (int i = 0; i < size; ++i) {
      for (int j = i; j < size; ++j) {
        const double value = matrix[static_cast<std::size_t>(i) * static_cast<std::size_t>(size) +
                                    static_cast<std::size_t>(j)];
        *out++ = Lanes{value, value, value, value, value, value, value, value};
      }
    }
  }

  // Eliminates a variable that is encoded in the lane index: lanes whose bit is set include its
  // rows.
  void EliminateByLane(const Lanes* from, int left, int variable, Lanes& product, Lanes* to) {
    const int size = left * rows_.group;
    for (std::size_t i = 0; i < TriangleSize(size); ++i) copy_[i] = from[i];
    for (int k = 0; k < rows_.group; ++k) {
      Lanes taken = {};
      for (int lane = 0; lane < kLanes; ++lane) {
        const bool in = ((lane >> variable) & 1) != 0;
        const bool takes = in ? k >= rows_.in_begin && k < rows_.in_end
                              : k >= rows_.out_begin && k < rows_.out_end;
        taken[lane] = takes ? 1.0 : 0.0;
      }
      const Lanes* const pivot = copy_ + RowAt(k, size);
      product *= taken * pivot[0] + (1.0 - taken);
      const Lanes inverse = taken / pivot[0];
      for (int i = k + 1; i < size; ++i) {
        const Lanes factor = pivot[i - k] * inverse;
        Lanes* const row = copy_ + RowAt(i, size) - i;
        for (int j = i; j < size; ++j) row[j] -= factor * pivot[j - k];
      }
    }
    const Lanes* const rest = copy_ + RowAt(rows_.group, size);
    for (std::size_t i = 0; i < TriangleSize(size - rows_.group); ++i) to[i] = rest[i];
  }

  // Visits the node with `left` undecided variables; `subset` holds the bits above those of the
  // lanes.
  void Visit(const Lanes* from, int left, const Lanes& product, std::size_t subset) {
    if (left <= 0) {
      Store(product, subset);
      return;
    }
    const std::size_t bit = std::size_t{1} << (left - 1);
    Take(from, left, rows_.out_begin, rows_.out_end, product, subset);
    Take(from, left, rows_.in_begin, rows_.in_end, product, subset | bit);
  }

  void Take(const Lanes* from, int left, int begin, int end, const Lanes& product,
            std::size_t subset) {
    const int size = left * rows_.group;
    const int count = end - begin;
    if (count == 0) {
      Visit(from + RowAt(rows_.group, size), left - 1, product, subset);
      return;
    }
    Lanes* const to = levels_[left - 1];
    Lanes grown = product;
    if (count == 1) {
      EliminateOne(from, size, begin, grown, to);
    } else if (count == 2) {
      EliminateTwo(from, size, begin, grown, to);
    } else {
      EliminateMany(from, size, begin, end, grown, to);
    }
    Visit(to, left - 1, grown, subset);
  }

  void EliminateOne(const Lanes* from, int size, int row, Lanes& product, Lanes* to) const {
    const int group = rows_.group;
    const Lanes* const pivot = from + RowAt(row, size) - row;
    product *= pivot[row];
    if (size == group) return;
    const Lanes inverse = 1.0 / pivot[row];
    const Lanes* old = from + RowAt(group, size);
    for (int i = group; i < size; ++i) {
      const Lanes factor = pivot[i] * inverse;
      for (int j = i; j < size; ++j) *to++ = *old++ - factor * pivot[j];
    }
  }

  // Eliminates rows `row` and `row` + 1 in one pass over the rest.
  void EliminateTwo(const Lanes* from, int size, int row, Lanes& product, Lanes* to) {
    const int group = rows_.group;
    const Lanes* const first = from + RowAt(row, size) - row;
    const Lanes* const second = from + RowAt(row + 1, size) - (row + 1);
    const Lanes inverse = 1.0 / first[row];
    const Lanes ratio = first[row + 1] * inverse;
    const Lanes pivot = second[row + 1] - ratio * first[row + 1];
    product *= first[row] * pivot;
    if (size == group) return;
    const Lanes inverse_of_second = 1.0 / pivot;
    for (int j = group; j < size; ++j) {
      row_[j] = second[j] - ratio * first[j];
    }
    const Lanes* const updated = row_;
    const Lanes* old = from + RowAt(group, size);
    for (int i = group; i < size; ++i) {
      const Lanes factor = first[i] * inverse;
      const Lanes factor_of_second = updated[i] * inverse_of_second;
      for (int j = i; j < size; ++j) {
        *to++ = (*old++ - factor * first[j]) - factor_of_second * updated[j];
      }
    }
  }

  // Eliminates several rows one by one, on a copy of the rows of the variable.
  void EliminateMany(const Lanes* from, int size, int begin, int end, Lanes& product, Lanes* to) {
    const int group = rows_.group;
    for (std::size_t i = 0; i < RowAt(group, size); ++i) lead_[i] = from[i];
    const Lanes* const rest = from + RowAt(group, size);
    const std::size_t count = TriangleSize(size - group);
    for (std::size_t i = 0; i < count; ++i) to[i] = rest[i];
    for (int k = begin; k < end; ++k) {
      const Lanes* const pivot = lead_ + RowAt(k, size) - k;
      product *= pivot[k];
      const Lanes inverse = 1.0 / pivot[k];
      for (int i = k + 1; i < end; ++i) {
        const Lanes factor = pivot[i] * inverse;
        Lanes* const row = lead_ + RowAt(i, size) - i;
        for (int j = i; j < size; ++j) row[j] -= factor * pivot[j];
      }
      Lanes* out = to;
      for (int i = group; i < size; ++i) {
        const Lanes factor = pivot[i] * inverse;
        for (int j = i; j < size; ++j) *out++ -= factor * pivot[j];
      }
    }
  }

  void Store(const Lanes& product, std::size_t subset) {
    const int used = 1 << lane_variables_;
    double* const out = result_ + subset * static_cast<std::size_t>(used);
    for (int lane = 0; lane < used; ++lane) out[lane] = product[lane];
  }

  int variables_;
  SubsetRows rows_;
  int lane_variables_;
  double* result_;
  Lanes* levels_[kMaxSubsetVariables + 1] = {};  // by number of undecided variables
  Lanes* copy_ = nullptr;                        // scratch of EliminateByLane()
  Lanes* row_ = nullptr;                         // a pivot row after previous eliminations
  Lanes* lead_ = nullptr;                        // the rows of one variable
};

}  // namespace
}  // namespace reveza::phi
