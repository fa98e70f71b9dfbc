// Identifiers: letters, then digits that are a permutation of what they stand for: Naming's of all
// there is, RowNaming's of a hundred million rows. Immutable, so safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "datagen/coherent/scramble.h"
#include "datagen/fixed_text.h"

namespace reveza::datagen::coherent {

// Sixteen digits as text, the first one in the lowest byte of `upper`.
struct DigitTexts {
  std::span<uint64_t> upper;
  std::span<uint64_t> lower;
};
// The digits of order.At(index) of many, which wide vectors do in a quarter of the time. `order` is
// of at most 10^15 numbers; `digits` has room for each index. `lower` may be where the indices are.
void ScrambledDigits(const Scramble& order, std::span<const uint64_t> indices, DigitTexts digits);

// A permutation of 0..10^digits-1 that leaves the rows of a hundred million together: these are
// permuted among each other, as the last eight digits, and get the same digits before.
class RowOrder {
 public:
  // `digits` from 9 to 15.
  RowOrder(uint64_t key, int digits);

  uint64_t At(uint64_t row) const;
  // The digits of At(row) of many, as ScrambledDigits has them.
  void Digits(std::span<const uint64_t> rows, DigitTexts digits) const;

 private:
  // Where the rows of a group begin in their permutation, so that each group has another.
  uint64_t BeginOf(uint64_t group) const;

  uint64_t key_;
  Scramble groups_;
  Scramble rows_;
};

template <std::size_t kPrefix, std::size_t kDigits>
char* PutDigits(const Identifier<kPrefix, kDigits>& identifier, char* out, uint64_t upper,
                uint64_t lower) {
  constexpr std::size_t kWidth = kPrefix + kDigits;
  std::memcpy(out + kWidth - 8, &lower, sizeof(lower));
  if constexpr (kDigits > 8) {
    static_assert(kWidth >= 16);
    std::memcpy(out + kWidth - 16, &upper, sizeof(upper));
  }
  std::memcpy(out, identifier.prefix, kPrefix);
  return out + kWidth;
}

template <std::size_t kPrefix, std::size_t kDigits>
class Naming {
 public:
  static constexpr std::size_t kWidth = kPrefix + kDigits;

  Naming(const Identifier<kPrefix, kDigits>& identifier, uint64_t key)
      : identifier_(identifier), order_(key, kSize) {}

  void Digits(std::span<const uint64_t> numbers, DigitTexts digits) const {
    ScrambledDigits(order_, numbers, digits);
  }
  // There has to be room for 16 digits. Returns the end of the text.
  char* Put(char* out, uint64_t number) const {
    identifier_.Write(out, order_.At(number));
    return out + kWidth;
  }
  // The digits are known.
  char* Put(char* out, uint64_t upper, uint64_t lower) const {
    return PutDigits(identifier_, out, upper, lower);
  }

 private:
  static constexpr uint64_t kSize = [] {
    uint64_t size = 1;
    for (std::size_t i = 0; i < kDigits; ++i) size *= 10;
    return size;
  }();

  Identifier<kPrefix, kDigits> identifier_;
  Scramble order_;
};

// Of rows, which are many and written one after the other: what they have in common costs next to
// nothing in a file that is compressed. It says no more than which rows were made together.
template <std::size_t kPrefix, std::size_t kDigits>
class RowNaming {
 public:
  static constexpr std::size_t kWidth = kPrefix + kDigits;

  RowNaming(const Identifier<kPrefix, kDigits>& identifier, uint64_t key)
      : identifier_(identifier), order_(key, static_cast<int>(kDigits)) {}

  void Digits(std::span<const uint64_t> rows, DigitTexts digits) const {
    order_.Digits(rows, digits);
  }
  // There has to be room for 16 digits. Returns the end of the text.
  char* Put(char* out, uint64_t row) const {
    identifier_.Write(out, order_.At(row));
    return out + kWidth;
  }
  // The digits are known.
  char* Put(char* out, uint64_t upper, uint64_t lower) const {
    return PutDigits(identifier_, out, upper, lower);
  }

 private:
  Identifier<kPrefix, kDigits> identifier_;
  RowOrder order_;
};

}  // namespace reveza::datagen::coherent
