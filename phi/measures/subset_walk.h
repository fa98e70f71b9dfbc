// The walk over subsets, compiled once per instruction set: include only from subset_walk_*.cc. It
// uses no inline functions of the C++ library or of Matrix, since the linker could pick the copy
// compiled here for the whole program.
#pragma once

#include <cstddef>

#include "phi/measures/subset_walks.h"
#include "phi/measures/unrolled_walk.h"

namespace reveza::phi {
namespace {

constexpr int kLaneVariables = 3;

class Walk {
 public:
  explicit Walk(SubsetWork& work)
      : work_(work),
        rows_(work.rows),
        lane_variables_(work.variables < kLaneVariables ? work.variables : kLaneVariables),
        unrolled_(UnrolledVisit(work.rows)) {
    Lanes* next = reinterpret_cast<Lanes*>(work.space);
    for (int left = 0; left <= work.variables; ++left) {
      levels_[left] = next;
      next += TriangleSize(left * rows_.group);
    }
    const int size = work.variables * rows_.group;
    copy_ = next;
    next += TriangleSize(size);
    row_ = next;
    next += size;
    lead_ = next;
  }

  // Decides the variables of the lanes.
  void Start() {
    Load();
    Lanes product = {1, 1, 1, 1, 1, 1, 1, 1};
    int left = work_.variables;
    for (int variable = 0; variable < lane_variables_; ++variable, --left) {
      EliminateByLane(levels_[left], left, variable, product, levels_[left - 1]);
    }
    Keep(left, levels_[left], product);
    work_.has_block = false;
  }

  void Write(std::size_t block, double* out) {
    const int inner = work_.block_variables - lane_variables_;
    // The path is the same above the highest bit that differs.
    int left = work_.variables - lane_variables_;
    if (work_.has_block) {
      const std::size_t apart = block ^ work_.block;
      while (left > inner && (apart >> (left - 1 - inner) & 1U) == 0) --left;
    }
    for (; left > inner; --left) {
      const bool in = (block >> (left - 1 - inner) & 1U) != 0;
      Lanes product = ProductAt(left);
      const Lanes* const rest =
          Decide(reinterpret_cast<const Lanes*>(work_.from[left]), left, in, product);
      Keep(left - 1, rest, product);
    }
    work_.block = block;
    work_.has_block = true;
    const auto* const from = reinterpret_cast<const Lanes*>(work_.from[inner]);
    if (lane_variables_ == kLaneVariables) return Visit(from, inner, ProductAt(inner), out);
    const Lanes product = ProductAt(inner);
    for (int lane = 0; lane < 1 << lane_variables_; ++lane) out[lane] = product[lane];
  }

 private:
  Lanes ProductAt(int left) const { return *reinterpret_cast<const Lanes*>(work_.product[left]); }
  void Keep(int left, const Lanes* from, const Lanes& product) {
    work_.from[left] = reinterpret_cast<const double*>(from);
    *reinterpret_cast<Lanes*>(work_.product[left]) = product;
  }

  void Load() {
    const int size = work_.variables * rows_.group;
    Lanes* out = levels_[work_.variables];
    for (int i = 0; i < size; ++i) {
      for (int j = i; j < size; ++j) {
        const double value =
            work_.matrix[static_cast<std::size_t>(i) * static_cast<std::size_t>(size) +
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
      for (int lane = 0; lane < kSubsetLanes; ++lane) {
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

  // Visits the node with `left` undecided variables and writes its determinants.
  void Visit(const Lanes* from, int left, const Lanes& product, double* out) {
    if (left == 0) {
      *reinterpret_cast<UnalignedLanes*>(out) = product;
      return;
    }
    if (unrolled_ != nullptr && left <= kUnrolled) return unrolled_(left, from, product, out);
    for (int in = 0; in < 2; ++in) {
      Lanes grown = product;
      const Lanes* const rest = Decide(from, left, in != 0, grown);
      Visit(rest, left - 1, grown, out);
      out += std::size_t{kSubsetLanes} << (left - 1);
    }
  }

  // Includes or excludes the first of `left` variables. Returns the matrix of the others, and
  // multiplies `product` by the pivots.
  const Lanes* Decide(const Lanes* from, int left, bool in, Lanes& product) {
    const int size = left * rows_.group;
    const int begin = in ? rows_.in_begin : rows_.out_begin;
    const int end = in ? rows_.in_end : rows_.out_end;
    if (begin == end) return from + RowAt(rows_.group, size);
    Lanes* const to = levels_[left - 1];
    if (end - begin == 1) {
      EliminateOne(from, size, begin, product, to);
    } else if (end - begin == 2) {
      EliminateTwo(from, size, begin, product, to);
    } else {
      EliminateMany(from, size, begin, end, product, to);
    }
    return to;
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
    const PivotPair pivots(first[row], first[row + 1], second[row + 1]);
    product *= pivots.determinant;
    if (size == group) return;
    const PivotInverses inverses(pivots);
    for (int j = group; j < size; ++j) row_[j] = second[j] - inverses.ratio * first[j];
    const Lanes* const updated = row_;
    const Lanes* old = from + RowAt(group, size);
    for (int i = group; i < size; ++i) {
      const Lanes factor = first[i] * inverses.first;
      const Lanes factor_of_second = updated[i] * inverses.second;
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

  SubsetWork& work_;
  SubsetRows rows_;
  int lane_variables_;
  UnrolledVisitor unrolled_;
  Lanes* levels_[kMaxSubsetVariables + 1] = {};  // by number of undecided variables
  Lanes* copy_ = nullptr;                        // scratch of EliminateByLane()
  Lanes* row_ = nullptr;                         // a pivot row after previous eliminations
  Lanes* lead_ = nullptr;                        // the rows of one variable
};

void StartWalk(SubsetWork& work) { Walk(work).Start(); }
void WriteBlock(SubsetWork& work, std::size_t block, double* out) { Walk(work).Write(block, out); }

}  // namespace
}  // namespace reveza::phi
