// Generates identifiers: a prefix and digits that are a permutation of the number they stand for.
// Immutable and thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "fraudgen/schema/fixed_text.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {

// A keyed permutation of 0..size-1 for identifiers: cheaper than Permutation, without an inverse
// and of lower quality.
class Scramble {
 public:
  // `size` is 1 to 2^62.
  constexpr Scramble(uint64_t key, uint64_t size)
      : size_(size),
        bits_(size <= 4 ? 2 : std::bit_width(size - 1)),
        mask_((uint64_t{1} << bits_) - 1),
        first_(Mix(key) | 1),
        second_(Mix(key + 1) | 1),
        offset_(Mix(key + 2)) {}

  // Multiplication by an odd number and xor-shift are both invertible; values outside the range are
  // fed back until they fall into it (cycle walking).
  constexpr uint64_t At(uint64_t index) const {
    uint64_t value = Step(index);
    while (value >= size_) value = Step(value);
    return value;
  }
  constexpr uint64_t size() const { return size_; }
  // One round: a permutation of the numbers of bit_width(size - 1) bits.
  [[gnu::always_inline]] constexpr uint64_t Step(uint64_t value) const {
    value = ((value + offset_) * first_) & mask_;
    value ^= value >> (bits_ / 2 + 1);
    value = (value * second_) & mask_;
    value ^= value >> (bits_ / 2 + 1);
    value = (value * first_) & mask_;
    return value ^ value >> (bits_ / 2);
  }

 private:
  uint64_t size_;
  int bits_;
  uint64_t mask_;
  uint64_t first_;
  uint64_t second_;
  uint64_t offset_;
};

// Sixteen digits as text, the first in the lowest byte of `upper`.
struct DigitTexts {
  std::span<uint64_t> upper;
  std::span<uint64_t> lower;
};

// The order of the numbers of identifiers with `digits` digits. Digits() writes those of At() for
// many numbers, with SIMD in a quarter of the time; `digits` has an entry for each number, and
// `digits.lower` may alias `numbers`.

// A permutation of 0..10^digits-1.
class WholeOrder {
 public:
  // `digits` is at most 15.
  WholeOrder(uint64_t key, int digits);

  uint64_t At(uint64_t number) const { return order_.At(number); }
  void Digits(std::span<const uint64_t> numbers, DigitTexts digits) const;

 private:
  Scramble order_;
};

// The same, but keeps groups of 10^8 rows together: permutes the last eight digits within a group
// and the leading digits between groups. For rows, which are numerous and written in sequence:
// shared leading digits compress well. They reveal only which rows were generated together.
class RowOrder {
 public:
  // `digits` is 9 to 15.
  RowOrder(uint64_t key, int digits);

  uint64_t At(uint64_t row) const;
  void Digits(std::span<const uint64_t> rows, DigitTexts digits) const;

 private:
  // Returns a group's starting point in the permutation of rows, so that groups differ.
  uint64_t BeginOf(uint64_t group) const;

  uint64_t key_;
  Scramble groups_;
  Scramble rows_;
};

template <std::size_t kPrefix, std::size_t kDigits, typename Order = WholeOrder>
class IdGenerator {
 public:
  static constexpr std::size_t kWidth = kPrefix + kDigits;

  IdGenerator(const Identifier<kPrefix, kDigits>& identifier, uint64_t key)
      : identifier_(identifier), order_(key, static_cast<int>(kDigits)) {}

  void Digits(std::span<const uint64_t> numbers, DigitTexts digits) const {
    order_.Digits(numbers, digits);
  }
  // There has to be room for 16 digits. Returns the end of the text.
  char* Put(char* out, uint64_t number) const {
    identifier_.Write(out, order_.At(number));
    return out + kWidth;
  }
  // The digits are known.
  char* Put(char* out, uint64_t upper, uint64_t lower) const {
    std::memcpy(out + kWidth - 8, &lower, sizeof(lower));
    if constexpr (kDigits > 8) {
      static_assert(kWidth >= 16);
      std::memcpy(out + kWidth - 16, &upper, sizeof(upper));
    }
    std::memcpy(out, identifier_.prefix, kPrefix);
    return out + kWidth;
  }

 private:
  Identifier<kPrefix, kDigits> identifier_;
  Order order_;
};

template <std::size_t kPrefix, std::size_t kDigits>
using RowIdGenerator = IdGenerator<kPrefix, kDigits, RowOrder>;

}  // namespace reveza::fraudgen::coherent
