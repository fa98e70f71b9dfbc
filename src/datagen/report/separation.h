// How well one column alone tells frauds from honest rows: the area under the ROC curve, from
// counts in bins, so that any number of rows go by. Not safe from several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datagen/report/counts.h"

namespace reveza::datagen::report {

// A column of numbers, in its own order or the other way round, whichever tells more. Numbers up to
// 63 have a bin each, larger ones one for each thirty-second part of a power of two. Nulls stand
// before all numbers or after them, whichever tells more.
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

// A column of categories, ordered by their share of frauds. The order comes from one half of the
// rows and is judged by the other, and the other way round: so chance earns nothing.
class CategorySeparation {
 public:
  // `values`: how many there are; null is one more.
  explicit CategorySeparation(std::size_t values) : halves_{Half(values + 1), Half(values + 1)} {}

  void Add(std::size_t value, bool is_fraud) {
    halves_[turn_][value].Add(is_fraud);
    turn_ ^= 1;
  }
  void AddNull(bool is_fraud) { Add(halves_[0].size() - 1, is_fraud); }
  double Area() const;

 private:
  using Half = std::vector<Pair>;

  std::array<Half, 2> halves_;
  std::size_t turn_ = 0;
};

// The area where frauds should come late in the order: 0.5 for no order at all, and where one of
// the sides is missing.
double AreaOf(const std::vector<Pair>& bins);

}  // namespace reveza::datagen::report
