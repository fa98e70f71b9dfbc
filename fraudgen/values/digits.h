// Formats numbers as decimal text without branching on the digit count. Each function writes at
// `out`, may overwrite up to kMaxNumberBytes there, and returns the end of its text. Thread-safe.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace reveza::fraudgen {

// Digits are handled as the bytes of an integer.
static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kEightDigits = 100'000'000;

// Returns the eight digits of a number below 10^8 as values 0 to 9, the first in the lowest byte.
constexpr uint64_t EightDigits(uint64_t value) {
  // Splits into two four-digit lanes, then four two-digit lanes, then eight digits. The factors are
  // 2^20 / 100 and 2^10 / 10 rounded up, exact for numbers this small.
  const uint64_t fours = (value / 10'000) | (value % 10'000) << 32;
  const uint64_t upper = ((fours * 10'486) >> 20) & 0x0000'007f'0000'007fu;
  const uint64_t twos = ((fours - 100 * upper) << 16) + upper;
  const uint64_t tens = ((twos * 103) >> 10) & 0x000f'000f'000f'000fu;
  return tens + ((twos - 10 * tens) << 8);
}

inline constexpr uint64_t kZeros = 0x3030'3030'3030'3030u;

// Writes the last `count` (1 to 8) digits of `value`, which is below 10^8.
inline char* PutLastDigits(char* out, uint64_t value, int count) {
  const uint64_t text = (EightDigits(value) + kZeros) >> (64 - 8 * count);
  std::memcpy(out, &text, sizeof text);
  return out + count;
}

inline char* PutUnsigned(char* out, uint64_t value) {
  constexpr int kMaxDigits = 20;
  if (value >= kEightDigits) return std::to_chars(out, out + kMaxDigits, value).ptr;
  const uint64_t digits = EightDigits(value);
  // The last digit is written even if zero.
  const int zeros = std::countr_zero(digits | uint64_t{1} << 56) / 8;
  const uint64_t text = (digits + kZeros) >> (8 * zeros);
  std::memcpy(out, &text, sizeof text);
  return out + 8 - zeros;
}

// Writes the sign and stores the magnitude in `size`.
inline char* PutSign(char* out, int64_t value, uint64_t& size) {
  const bool negative = value < 0;
  // Unsigned, because INT64_MIN has no positive counterpart.
  size = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  *out = '-';
  return out + (negative ? 1 : 0);
}

inline char* PutInteger(char* out, int64_t value) {
  uint64_t size = 0;
  out = PutSign(out, value, size);
  return PutUnsigned(out, size);
}

// Writes a number in units of 10^-Places (1 to 8) with all its decimal places.
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
  if constexpr (Places < 8) {
    if (size < kEightDigits) [[likely]] {
      // All digits at once, at least one before the point.
      const uint64_t digits = EightDigits(size);
      const int zeros = std::countr_zero(digits | uint64_t{1} << (8 * (7 - Places))) / 8;
      const uint64_t text = (digits + kZeros) >> (8 * zeros);
      const uint64_t places = (digits + kZeros) >> (64 - 8 * Places);
      std::memcpy(out, &text, sizeof text);
      out += 8 - Places - zeros;
      *out++ = '.';
      std::memcpy(out, &places, sizeof places);
      return out + Places;
    }
  }
  out = PutUnsigned(out, size / kWhole);
  *out++ = '.';
  return PutLastDigits(out, size % kWhole, Places);
}

// Writes a day (see civil_time.h) as yyyy-mm-dd; years 0 to 9999.
inline char* PutDay(char* out, int64_t days) {
  // Years start in March so that the leap day comes last; each division is then a Euclidean affine
  // function (Neri and Schneider, "Euclidean affine functions and their application to calendar
  // algorithms", 2023).
  constexpr int64_t kToMarchOfYearZero = 719'468;
  constexpr uint64_t kDaysOfFourCenturies = 146'097;
  constexpr uint64_t kYear = 2'939'745;  // 2^32 / 1461, as days are counted in quarters
  constexpr uint64_t kMonth = 2'141;     // 2^16 / 30.6
  constexpr uint64_t kJanuary = 306;     // its first day, counted from March
  // Offset by four centuries, because January and February of year 0 precede its March.
  const auto since = static_cast<uint64_t>(days + kToMarchOfYearZero) + kDaysOfFourCenturies;
  const uint64_t century = (4 * since + 3) / kDaysOfFourCenturies;
  const uint64_t quarters = ((4 * since + 3) % kDaysOfFourCenturies) | 3;
  const uint64_t years = kYear * quarters;
  const uint64_t day_of_year = (years & 0xffff'ffffu) / kYear / 4;
  const uint64_t months = kMonth * day_of_year + 197'913;
  const bool next_year = day_of_year >= kJanuary;
  const uint64_t year = 100 * century + (years >> 32) + (next_year ? 1 : 0) - 400;
  const uint64_t month = (months >> 16) - (next_year ? 12 : 0);
  const uint64_t day = (months & 0xffffu) / kMonth + 1;
  out = PutLastDigits(out, year, 4);
  // 0mm0dd, of which the zeros become dashes.
  const uint64_t text = ((EightDigits(month * 1000 + day) + kZeros) >> 16) ^ 0x1d00'001du;
  std::memcpy(out, &text, sizeof text);
  return out + 6;
}

// Writes times as yyyy-mm-ddThh:mm:ss.ffffff; years 0 to 9999. Caches the text of the last day.
// Not thread-safe.
class TimeWriter {
 public:
  char* Put(char* out, int64_t microseconds) {
    constexpr int64_t kSecond = 1'000'000;
    constexpr int64_t kDay = 86'400 * kSecond;
    // Counted from year 0, so never negative.
    constexpr int64_t kToYearZero = 719'528;
    const auto since = static_cast<uint64_t>(microseconds + kToYearZero * kDay);
    const uint64_t day = since / kDay;
    if (day != day_) {
      day_ = day;
      *PutDay(text_, static_cast<int64_t>(day) - kToYearZero) = 'T';
    }
    std::memcpy(out, text_, sizeof text_);
    out += 11;
    const uint64_t of_day = since % kDay;
    const uint64_t second = of_day / kSecond;
    // hh0mm0ss and 00ffffff, of which some zeros become separators.
    const uint64_t clock = second / 3600 * 1'000'000 + second / 60 % 60 * 1000 + second % 60;
    const uint64_t text = (EightDigits(clock) + kZeros) ^ 0x0000'0a00'000a'0000u;
    std::memcpy(out, &text, sizeof text);
    const uint64_t rest = ((EightDigits(of_day % kSecond) + kZeros) ^ 0x1e00u) >> 8;
    std::memcpy(out + 8, &rest, sizeof rest);
    return out + 15;
  }

 private:
  uint64_t day_ = ~uint64_t{0};
  char text_[16] = {};  // yyyy-mm-ddT of `day_`
};

// The longest number: a sign, 20 digits and a point, plus slack for wide stores.
inline constexpr int kMaxNumberBytes = 32;

}  // namespace reveza::fraudgen
