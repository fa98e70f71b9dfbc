// Identifiers are unique and well-formed, and references exist.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "fraudgen/check/data_set.h"
#include "fraudgen/check/table_check.h"

namespace reveza::fraudgen::check {

// A set of numbers in bounded memory: each pass over the data holds a part of all numbers. Dense
// numbers take a bit each, others eight bytes. Not thread-safe.

// Pass `index` of `count` over the same rows.
struct Pass {
  uint64_t index = 0;
  uint64_t count = 1;
  bool Has(uint64_t number) const { return number % count == index; }
};

class NumberSet {
 public:
  // Numbers below `dense_below` are stored in a bitmap, others in a hash table.
  NumberSet(uint64_t dense_below, Pass pass) : pass_(pass), dense_below_(dense_below) {
    bits_.resize((dense_below_ / pass.count + 64) / 64);
  }

  // Inserts a number of this pass. Returns false if it was present.
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
  static constexpr uint64_t kEmpty = 0;  // slots store the number plus one

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

struct KeyRule {
  enum class Role { kUnique, kReference };
  std::string_view table;
  std::string_view column;
  std::string_view with;  // second column of a composite key; or empty
  Role role = Role::kUnique;
  std::string_view set;     // set of keys to insert into or to search
  std::string_view prefix;  // before the digits
  std::size_t digits = 0;   // of the identifier; 0: any
};

// Returns the number of passes over the rows with which the keys fit into memory.
uint64_t KeyPasses(const DataSet& data);

class KeyCheck final : public TableCheck {
 public:
  explicit KeyCheck(const DataSet& data);

  // Starts a pass over all rows.
  void BeginPass(Pass pass);
  void Add(const Batch& batch, const Position& position) override;
  void Report(std::vector<Outcome>& outcomes) const override;

 private:
  struct Set {
    uint64_t dense_below = 0;
    NumberSet numbers{0, {}};
  };
  void Check(const KeyRule& rule, const Batch& batch, const Position& position, Tally& tally);

  std::vector<KeyRule> rules_;
  std::vector<Tally> tallies_;
  Tally shapes_;
  std::map<std::string_view, Set> sets_;
  Pass pass_;
};

}  // namespace reveza::fraudgen::check
