// Random numbers without state: each is a function of (seed, table, field, row, draw), so any row
// can be made alone, in any order. Integer arithmetic only, the same on every machine.
// All of it is safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"

namespace reveza::datagen {

// A bijection of 64-bit numbers that leaves no visible relation between neighbours (the finaliser
// of splitmix64).
constexpr uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// The upper half of the 128-bit product: `bits` / 2^64 of `limit`, rounded down.
constexpr uint64_t UpperProduct(uint64_t bits, uint64_t limit) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * limit) >> 64);
}

// The random numbers of one field of one table. Two draws of a row are independent, and so are two
// fields; within one field no two (row, draw) give the same bits.
class FieldRandom {
 public:
  // Rows are below 2^48.
  static constexpr int kRowBits = 48;

  constexpr FieldRandom(uint64_t seed, uint32_t table, uint32_t field)
      : inner_(Mix(Mix(seed + kStep) + (uint64_t{table} << 32 | field))),
        outer_(Mix(Mix(inner_) ^ kOther)) {}

  // 64 random bits. Two keys, for with one the streams of two fields could be the same numbers,
  // only shifted by some rows.
  constexpr uint64_t Bits(uint64_t row, uint16_t draw = 0) const {
    const uint64_t counter = row | uint64_t{draw} << kRowBits;
    return Mix(outer_ ^ Mix(inner_ + counter * kStep));
  }

  // The same for many rows, which is much faster where the processor has wide vectors: from `row`
  // on, as many as `bits`; at these offsets from `row`; at these rows. The latter two need room in
  // `bits` for each, which may not overlap them.
  void Fill(uint64_t row, std::span<uint64_t> bits, uint16_t draw = 0) const;
  void FillAt(uint64_t row, std::span<const uint16_t> offsets, std::span<uint64_t> bits,
              uint16_t draw = 0) const;
  void FillAt(std::span<const uint64_t> rows, std::span<uint64_t> bits, uint16_t draw = 0) const;

  // Below `limit`, which is at least 1. Uneven by at most limit / 2^64.
  constexpr uint64_t Below(uint64_t limit, uint64_t row, uint16_t draw = 0) const {
    return UpperProduct(Bits(row, draw), limit);
  }

  // From `least` to `most`, both possible. `least` <= `most`, less than 2^63 apart.
  constexpr int64_t Between(int64_t least, int64_t most, uint64_t row, uint16_t draw = 0) const {
    const uint64_t width = static_cast<uint64_t>(most) - static_cast<uint64_t>(least) + 1;
    return least + static_cast<int64_t>(Below(width, row, draw));
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;  // odd, so a counter times it is unique
  // Any number but kStep, with which counter 1 would meet its own key and every field give 0 there.
  static constexpr uint64_t kOther = 0xd1342543de82ef95u;

  uint64_t inner_;
  uint64_t outer_;
};

// One of several choices, each by its weight: exact to 2^-64, in constant time and without a branch
// that depends on the draw (Walker's alias table).
class WeightedChoice {
 public:
  // At least one weight that is not zero, at most 65,535 of them, their sum below 2^32.
  static Result<WeightedChoice> Make(std::span<const uint32_t> weights);

  // The index of the choice that these 64 random bits stand for.
  uint32_t Of(uint64_t bits) const {
    const auto product = static_cast<unsigned __int128>(bits) * columns_.size();
    const Column& column = columns_[static_cast<uint64_t>(product >> 64)];
    return static_cast<uint64_t>(product) <= column.last_own ? column.own : column.other;
  }

 private:
  // A column holds all of a choice, or the part of one below a limit and the rest of another.
  struct Column {
    uint64_t last_own;
    uint32_t own;
    uint32_t other;
  };
  explicit WeightedChoice(std::vector<Column> columns) : columns_(std::move(columns)) {}

  std::vector<Column> columns_;
};

}  // namespace reveza::datagen
