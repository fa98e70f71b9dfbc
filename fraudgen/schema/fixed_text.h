// Fixed-width texts such as identifiers and hashes, of which every row has several, formatted
// without a division per digit. Reentrant.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "fraudgen/schema/batch.h"
#include "fraudgen/values/digits.h"

namespace reveza::fraudgen {

namespace internal {

// Returns the eight hexadecimal digits of the upper half of `bits`.
constexpr uint64_t EightHexDigits(uint64_t bits) {
  uint64_t nibbles = bits >> 32;
  nibbles = (nibbles | nibbles << 16) & 0x0000ffff0000ffffu;
  nibbles = (nibbles | nibbles << 8) & 0x00ff00ff00ff00ffu;
  nibbles = (nibbles | nibbles << 4) & 0x0f0f0f0f0f0f0f0fu;
  const uint64_t letters = ((nibbles + 0x0606060606060606u) >> 4) & 0x0101010101010101u;
  return std::byteswap(nibbles + 0x3030303030303030u + letters * ('a' - '0' - 10));
}

// An octet of an IP address with its dot, and the length of both.
struct Octet {
  std::array<char, 4> text{};
  uint32_t length = 0;
};
inline constexpr auto kOctets = [] {
  std::array<Octet, 256> octets{};
  for (uint32_t i = 0; i < octets.size(); ++i) {
    Octet& octet = octets[i];
    for (uint32_t unit = 100; unit > 0; unit /= 10) {
      if (i < unit && unit > 1) continue;
      octet.text[octet.length++] = static_cast<char>('0' + i / unit % 10);
    }
    octet.text[octet.length++] = '.';
  }
  return octets;
}();

}  // namespace internal

inline char* PutText(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// Writes an octet of an IP address and a dot, four bytes in any case, and returns the end of its
// text.
inline char* PutOctet(char* out, uint64_t number) {
  const internal::Octet& octet = internal::kOctets[number];
  std::memcpy(out, octet.text.data(), octet.text.size());
  return out + octet.length;
}

// Writes 16 hexadecimal digits.
inline void WriteHex(char* to, uint64_t bits) {
  const uint64_t first = internal::EightHexDigits(bits);
  const uint64_t second = internal::EightHexDigits(bits << 32);
  std::memcpy(to, &first, sizeof(first));
  std::memcpy(to + sizeof(first), &second, sizeof(second));
}

// Returns the eight digits of a number below 10^8 as text, the first in the lowest byte.
constexpr uint64_t EightText(uint64_t value) { return EightDigits(value) + kZeros; }

// Formats numbers below 10^16 as 16 digits. Caches the upper half, which successive identifiers
// mostly share.
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

// Writes `value`, zero-padded to kDigits (1 to 16) digits, which must be enough for it.
template <std::size_t kDigits>
inline void WriteDigits(char* to, uint64_t value) {
  static_assert(kDigits >= 1 && kDigits <= 16);
  SixteenDigits number;
  number.Set(value);
  char digits[16];
  number.Write(digits);
  std::memcpy(to, digits + sizeof(digits) - kDigits, kDigits);
}

// An identifier format: a prefix and a zero-padded number, as in CUST_000000000001.
template <std::size_t kPrefix, std::size_t kDigits>
struct Identifier {
  static constexpr std::size_t kWidth = kPrefix + kDigits;
  char prefix[kPrefix + 1];

  // If the prefix is long enough, surplus leading zeros are written where it overwrites them.
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

// Sizes the column for a text of `width` bytes in each row of a batch that has just begun, and
// returns where to write them, back to back.
inline char* BeginFixedTexts(ColumnValues& column, std::size_t rows, std::size_t width) {
  column.bytes.resize(rows * width);
  column.ends.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    column.ends[row] = static_cast<int32_t>((row + 1) * width);
  }
  return column.bytes.data();
}

}  // namespace reveza::fraudgen
