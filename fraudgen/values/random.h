// Stateless (counter-based) random numbers: each is a function of (seed, table, field, row, draw),
// so rows can be generated independently and in any order. Integer arithmetic only, so results are
// the same on every machine. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace reveza::fraudgen {

// Mixes 64 bits bijectively (the finaliser of splitmix64).
constexpr uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Returns the upper half of the 128-bit product: floor(bits / 2^64 * limit).
constexpr uint64_t UpperProduct(uint64_t bits, uint64_t limit) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * limit) >> 64);
}

// Both ends are included.
template <typename Number>
struct Range {
  Number min;
  Number max;
};

// The random numbers of one field of one table. Fields are independent, and so are the draws of a
// row; within a field no two (row, draw) pairs give the same bits.
class FieldRandom {
 public:
  // Rows are below 2^48.
  static constexpr int kRowBits = 48;

  constexpr FieldRandom(uint64_t seed, uint32_t table, uint32_t field)
      : inner_(Mix(Mix(seed + kStep) + (uint64_t{table} << 32 | field))),
        outer_(Mix(Mix(inner_) ^ kOther)) {}

  // Returns 64 random bits. Two keys, because with one the stream of a field could be that of
  // another shifted by some rows.
  constexpr uint64_t Bits(uint64_t row, uint16_t draw = 0) const {
    const uint64_t counter = row | uint64_t{draw} << kRowBits;
    return Mix(outer_ ^ Mix(inner_ + counter * kStep));
  }

  // Vectorised Bits() for many rows: consecutive ones from `row`, those at `offsets` from `row`, or
  // those listed. `bits` must not overlap the input and must be at least as long.
  void Fill(uint64_t row, std::span<uint64_t> bits, uint16_t draw = 0) const;
  void FillAt(uint64_t row, std::span<const uint16_t> offsets, std::span<uint64_t> bits,
              uint16_t draw = 0) const;
  void FillAt(std::span<const uint64_t> rows, std::span<uint64_t> bits, uint16_t draw = 0) const;

  // Returns a number below `limit`, which is at least 1. The bias is at most limit / 2^64.
  constexpr uint64_t Below(uint64_t limit, uint64_t row, uint16_t draw = 0) const {
    return UpperProduct(Bits(row, draw), limit);
  }

  // Returns a number in [min, max]. `min` <= `max`, less than 2^63 apart.
  constexpr int64_t Between(int64_t min, int64_t max, uint64_t row, uint16_t draw = 0) const {
    const uint64_t width = static_cast<uint64_t>(max) - static_cast<uint64_t>(min) + 1;
    return min + static_cast<int64_t>(Below(width, row, draw));
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;  // odd, so a counter times it is unique
  // Must differ from kStep, with which counter 1 would cancel the key and every field return 0.
  static constexpr uint64_t kOther = 0xd1342543de82ef95u;

  uint64_t inner_;
  uint64_t outer_;
};

// Weighted choice by Walker's alias method: exact to 2^-64, constant time, branch-free.
class WeightedChoice {
 public:
  // At most 65,535 weights, at least one of them not zero, with a sum below 2^32.
  explicit WeightedChoice(std::span<const uint32_t> weights);

  // Maps 64 random bits to the index of a choice.
  uint32_t Of(uint64_t bits) const {
    const auto product = static_cast<unsigned __int128>(bits) * columns_.size();
    const Column& column = columns_[static_cast<uint64_t>(product >> 64)];
    return static_cast<uint64_t>(product) <= column.last_own ? column.own : column.other;
  }

 private:
  // A column belongs to `own` up to `last_own` and to `other` above.
  struct Column {
    uint64_t last_own;
    uint32_t own;
    uint32_t other;
  };

  std::vector<Column> columns_;
};

// A keyed permutation of 0..size-1: unique pseudo-random numbers without remembering those already
// drawn. Immutable and thread-safe.
class Permutation {
 public:
  // `size` is 1 to 2^62. The permutation is a function of key and size only.
  Permutation(uint64_t key, uint64_t size);

  // Returns the number at `index`, which is below size().
  uint64_t At(uint64_t index) const;
  // Returns the inverse: IndexOf(At(i)) == i.
  uint64_t IndexOf(uint64_t number) const;

  uint64_t size() const { return size_; }

 private:
  static constexpr int kRounds = 8;

  uint64_t Forward(uint64_t value) const;
  uint64_t Backward(uint64_t value) const;

  uint64_t size_;
  int half_bits_ = 1;
  uint64_t half_mask_ = 1;
  std::array<uint64_t, kRounds> keys_{};
};

// The normal distribution from a table of fixed-point quantiles. Unlike the C library's functions,
// results are bit-identical on every machine. Thread-safe.
//
// Returns a standard normal number in units of 2^-16 from 64 random bits: linear interpolation
// between 1025 quantiles, cut at 4 standard deviations.
int64_t NormalOf(uint64_t bits);

// Returns mean + deviation * normal, rounded to the nearest unit and clamped to [min, max].
// Mean and deviation are below 2^40.
int64_t ClampedNormal(uint64_t bits, int64_t mean, int64_t deviation, int64_t min, int64_t max);

}  // namespace reveza::fraudgen
