// A set of numbers in bounded memory: one pass over the data holds those of one part of all
// numbers. Dense ones take a bit each, others eight bytes. Not safe from several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace reveza::datagen::check {

// Pass `index` of `count` over the same rows.
struct Pass {
  uint64_t index = 0;
  uint64_t count = 1;
  bool Has(uint64_t number) const { return number % count == index; }
};

class NumberSet {
 public:
  // `dense`: most are below `expected`, so bits serve them; those above are kept as others are.
  NumberSet(bool dense, uint64_t expected, Pass pass)
      : pass_(pass), dense_below_(dense ? expected : 0) {
    bits_.resize((dense_below_ / pass.count + 64) / 64);
  }

  // `number` is in the pass. False if it was there.
  bool Insert(uint64_t number) {
    if (number < dense_below_) {
      const uint64_t place = number / pass_.count;
      const uint64_t bit = uint64_t{1} << (place % 64);
      uint64_t& word = bits_[place / 64];
      if ((word & bit) != 0) return false;
      word |= bit;
      return true;
    }
    if (2 * (used_ + 1) > slots_.size()) Grow();
    return InsertSlot(number);
  }

  bool Has(uint64_t number) const {
    if (number < dense_below_) {
      const uint64_t place = number / pass_.count;
      return (bits_[place / 64] >> (place % 64) & 1) != 0;
    }
    if (slots_.empty()) return false;
    for (std::size_t i = SlotOf(number);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i] == kEmpty) return false;
      if (slots_[i] == number + 1) return true;
    }
  }

 private:
  static constexpr uint64_t kEmpty = 0;  // so a slot has a number and one more

  std::size_t SlotOf(uint64_t number) const {
    return static_cast<std::size_t>((number * 0x9e3779b97f4a7c15u) >> 20) & (slots_.size() - 1);
  }
  bool InsertSlot(uint64_t number) {
    std::size_t i = SlotOf(number);
    while (slots_[i] != kEmpty) {
      if (slots_[i] == number + 1) return false;
      i = (i + 1) & (slots_.size() - 1);
    }
    slots_[i] = number + 1;
    ++used_;
    return true;
  }
  void Grow() {
    std::vector<uint64_t> old(std::max<std::size_t>(1'024, 2 * slots_.size()), kEmpty);
    old.swap(slots_);
    used_ = 0;
    for (const uint64_t slot : old) {
      if (slot != kEmpty) InsertSlot(slot - 1);
    }
  }

  Pass pass_;
  uint64_t dense_below_;
  std::vector<uint64_t> bits_;
  std::vector<uint64_t> slots_;
  std::size_t used_ = 0;
};

}  // namespace reveza::datagen::check
