// Numbers as decimal digits straight into memory, without a branch on how many there are. Each
// writes at `out`, may overwrite up to kMostNumberBytes from there, and returns where its text
// ends. Safe from any thread.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace reveza::datagen {

// The digits are moved about as the bytes of a number.
static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kEightDigits = 100'000'000;

// The digits of a number below 10^8, leading zeros included, as values 0 to 9; the first one is in
// the lowest byte.
constexpr uint64_t EightDigits(uint64_t value) {
  // Two numbers of four digits, then four of two, then eight of one, each side by side. The factors
  // are 2^20 / 100 and 2^10 / 10 rounded up, exact for numbers this small.
  const uint64_t fours = (value / 10'000) | (value % 10'000) << 32;
  const uint64_t upper = ((fours * 10'486) >> 20) & 0x0000'007f'0000'007fu;
  const uint64_t twos = ((fours - 100 * upper) << 16) + upper;
  const uint64_t tens = ((twos * 103) >> 10) & 0x000f'000f'000f'000fu;
  return tens + ((twos - 10 * tens) << 8);
}

inline constexpr uint64_t kZeros = 0x3030'3030'3030'3030u;

// The last `count` of eight digits, 1 to 8.
inline char* PutLastDigits(char* out, uint64_t value, int count) {
  const uint64_t text = (EightDigits(value) + kZeros) >> (64 - 8 * count);
  std::memcpy(out, &text, sizeof text);
  return out + count;
}

inline char* PutUnsigned(char* out, uint64_t value) {
  constexpr int kMostDigits = 20;
  if (value >= kEightDigits) return std::to_chars(out, out + kMostDigits, value).ptr;
  const uint64_t digits = EightDigits(value);
  // The last digit is written whatever it is.
  const int zeros = std::countr_zero(digits | uint64_t{1} << 56) / 8;
  const uint64_t text = (digits + kZeros) >> (8 * zeros);
  std::memcpy(out, &text, sizeof text);
  return out + 8 - zeros;
}

// The sign, and the size of the number in `size`.
inline char* PutSign(char* out, int64_t value, uint64_t& size) {
  const bool negative = value < 0;
  // Unsigned, for the least number has no positive counterpart.
  size = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  *out = '-';
  return out + (negative ? 1 : 0);
}

inline char* PutInteger(char* out, int64_t value) {
  uint64_t size = 0;
  out = PutSign(out, value, size);
  return PutUnsigned(out, size);
}

// A number in units of 10^-Places, 1 to 8, with all its places.
template <int Places>
inline char* PutDecimal(char* out, int64_t value) {
  static_assert(Places >= 1 && Places <= 8);
  constexpr uint64_t kWhole = [] {
    uint64_t whole = 1;
    for (int i = 0; i < Places; ++i) whole *= 10;
    return whole;
  }();
  uint64_t size = 0;
  out = PutSign(out, value, size);
  out = PutUnsigned(out, size / kWhole);
  *out++ = '.';
  return PutLastDigits(out, size % kWhole, Places);
}

// The longest of them: a sign, 20 digits, a point, and what overwrites beyond.
inline constexpr int kMostNumberBytes = 32;

}  // namespace reveza::datagen
