// Texts of a fixed width, written without a division by ten per digit: identifiers and hashes, of
// which every row has several. Safe from any thread that owns what is written to.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datagen/batch.h"
#include "datagen/digits.h"

namespace reveza::datagen {

namespace internal {

// Eight hexadecimal digits of the upper half of `bits`.
constexpr uint64_t EightHexDigits(uint64_t bits) {
  uint64_t nibbles = bits >> 32;
  nibbles = (nibbles | nibbles << 16) & 0x0000ffff0000ffffu;
  nibbles = (nibbles | nibbles << 8) & 0x00ff00ff00ff00ffu;
  nibbles = (nibbles | nibbles << 4) & 0x0f0f0f0f0f0f0f0fu;
  const uint64_t letters = ((nibbles + 0x0606060606060606u) >> 4) & 0x0101010101010101u;
  return std::byteswap(nibbles + 0x3030303030303030u + letters * ('a' - '0' - 10));
}

}  // namespace internal

// 16 hexadecimal digits.
inline void WriteHex(char* to, uint64_t bits) {
  const uint64_t first = internal::EightHexDigits(bits);
  const uint64_t second = internal::EightHexDigits(bits << 32);
  std::memcpy(to, &first, sizeof(first));
  std::memcpy(to + sizeof(first), &second, sizeof(second));
}

// The eight digits of a number below 10^8 as text, the first one in the lowest byte.
constexpr uint64_t EightText(uint64_t value) { return EightDigits(value) + kZeros; }

// A number below 10^16 as 16 digits, for one identifier after the other: their upper halves are
// mostly the same.
class SixteenDigits {
 public:
  void Set(uint64_t number) {
    const uint64_t upper = number / kEightDigits;
    if (upper != upper_) {
      upper_ = upper;
      first_ = EightText(upper);
    }
    second_ = EightText(number - upper * kEightDigits);
  }
  void Write(char* to) const {
    std::memcpy(to, &first_, sizeof(first_));
    std::memcpy(to + sizeof(first_), &second_, sizeof(second_));
  }

 private:
  uint64_t upper_ = 0;
  uint64_t first_ = kZeros;
  uint64_t second_ = kZeros;
};

// `value` in kDigits digits, zeros before it; at most 16 of them, and `value` has no more.
template <std::size_t kDigits>
inline void WriteDigits(char* to, uint64_t value) {
  static_assert(kDigits >= 1 && kDigits <= 16);
  SixteenDigits number;
  number.Set(value);
  char digits[16];
  number.Write(digits);
  std::memcpy(to, digits + sizeof(digits) - kDigits, kDigits);
}

// A kind of identifier: letters, then a number of fixed width, as CUST_000000000001.
template <std::size_t kPrefix, std::size_t kDigits>
struct Identifier {
  static constexpr std::size_t kWidth = kPrefix + kDigits;
  char prefix[kPrefix + 1];

  // The zeros before the digits go where the letters overwrite them, if there is room for them.
  void Write(char* to, const SixteenDigits& number) const {
    if constexpr (kWidth >= 16) {
      number.Write(to + kWidth - 16);
    } else {
      char digits[16];
      number.Write(digits);
      std::memcpy(to + kPrefix, digits + sizeof(digits) - kDigits, kDigits);
    }
    std::memcpy(to, prefix, kPrefix);
  }
  void Write(char* to, uint64_t number) const {
    if constexpr (kDigits <= 8 && kWidth >= 8) {
      const uint64_t digits = EightText(number);
      std::memcpy(to + kWidth - 8, &digits, sizeof(digits));
      std::memcpy(to, prefix, kPrefix);
    } else {
      SixteenDigits digits;
      digits.Set(number);
      Write(to, digits);
    }
  }
};

// Makes room for one text of `width` bytes in each row of a batch that has just begun; they are to
// be written one after the other from what is returned.
inline char* BeginFixedTexts(ColumnValues& column, std::size_t rows, std::size_t width) {
  column.bytes.resize(rows * width);
  column.ends.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    column.ends[row] = static_cast<int32_t>((row + 1) * width);
  }
  return column.bytes.data();
}

}  // namespace reveza::datagen
