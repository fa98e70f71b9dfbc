// How well a single column separates frauds from honest rows: the area under the ROC curve, from
// binned counts. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fraudgen/report/counts.h"

namespace reveza::fraudgen::report {

// A numeric column, ascending or descending, and nulls first or last, whichever separates better.
// Numbers up to 63 have a bin each; larger ones share 32 bins per power of two.
class NumberSeparation {
 public:
  NumberSeparation();

  void Add(int64_t value, bool is_fraud) { bins_[BinOf(value)].Add(is_fraud); }
  void AddNull(bool is_fraud) { nulls_.Add(is_fraud); }
  double Area() const;

 private:
  static std::size_t BinOf(int64_t value);

  std::vector<Pair> bins_;
  Pair nulls_;
};

// A categorical column, ordered by the share of frauds. The order is learned on one half of the
// rows and evaluated on the other, and vice versa, to avoid overfitting.
class CategorySeparation {
 public:
  // `values` is the number of categories, without null.
  explicit CategorySeparation(std::size_t values) : halves_{Half(values + 1), Half(values + 1)} {}

  void Add(std::size_t value, bool is_fraud) {
    halves_[current_][value].Add(is_fraud);
    current_ ^= 1;
  }
  void AddNull(bool is_fraud) { Add(halves_[0].size() - 1, is_fraud); }
  double Area() const;

 private:
  using Half = std::vector<Pair>;

  std::array<Half, 2> halves_;
  std::size_t current_ = 0;
};

// Returns the area under the ROC curve if frauds come last in the order of `bins`; 0.5 if there are
// only honest or only fraudulent rows.
double AreaOf(const std::vector<Pair>& bins);

}  // namespace reveza::fraudgen::report
