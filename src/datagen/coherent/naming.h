// Identifiers: letters, then digits that are a permutation of what they stand for. Immutable, so
// safe from any thread.
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

template <std::size_t kPrefix, std::size_t kDigits>
class Naming {
 public:
  static constexpr std::size_t kWidth = kPrefix + kDigits;

  Naming(const Identifier<kPrefix, kDigits>& identifier, uint64_t key)
      : identifier_(identifier), order_(key, kSize) {}

  const Scramble& order() const { return order_; }
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
  static constexpr uint64_t kSize = [] {
    uint64_t size = 1;
    for (std::size_t i = 0; i < kDigits; ++i) size *= 10;
    return size;
  }();

  Identifier<kPrefix, kDigits> identifier_;
  Scramble order_;
};

}  // namespace reveza::datagen::coherent
