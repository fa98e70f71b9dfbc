// The curves that the model needs, in whole numbers: the same on every machine. Safe from any
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "datagen/normal.h"

namespace reveza::datagen::coherent {

inline constexpr int64_t kOne = 65'536;  // 1 in units of 2^-16

namespace internal {

inline constexpr int kPowerSteps = 256;
inline constexpr int kPowerBits = 30;
// The k-th is 2^(k/256) in units of 2^-30.
extern const std::array<uint64_t, kPowerSteps + 1> kPowers;

}  // namespace internal

// 2 to the power of `exponent`, both in units of 2^-16. From -16 to 30; ended there.
inline int64_t Exp2(int64_t exponent) {
  exponent = std::clamp<int64_t>(exponent, -16 * kOne, 30 * kOne);
  const int64_t whole = exponent >> 16;
  const auto fraction = static_cast<uint64_t>(exponent & (kOne - 1));
  const uint64_t step = fraction >> 8;
  const uint64_t rest = fraction & 255;
  const uint64_t power = internal::kPowers[step] +
                         (((internal::kPowers[step + 1] - internal::kPowers[step]) * rest) >> 8);
  const int64_t shift = internal::kPowerBits - 16 - whole;
  return static_cast<int64_t>(shift >= 0 ? power >> shift : power << -shift);
}

// The logarithm to base 2 of a number from 1 on, in units of 2^-16, right to 0.09.
inline int64_t Log2(uint64_t value) {
  const int whole = 63 - std::countl_zero(value);
  // Between powers of two, a straight line.
  const uint64_t fraction =
      whole >= 16 ? (value >> (whole - 16)) - kOne : (value << (16 - whole)) - kOne;
  return whole * kOne + static_cast<int64_t>(fraction);
}

// The square root, rounded down.
uint64_t SquareRoot(uint64_t value);

// A log-normal number around `median`: twice as much at one deviation if `deviation` is kOne.
inline int64_t LogNormal(uint64_t bits, int64_t median, int64_t deviation) {
  const int64_t exponent = NormalOf(bits) * deviation / kOne;
  return static_cast<int64_t>((static_cast<__int128>(median) * Exp2(exponent)) >> 16);
}

// A place in millionths of a degree.
struct Place {
  int32_t latitude = 0;
  int32_t longitude = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

// Hundredths of a kilometre between two places, as on a flat map: 111.195 km a degree, longitude
// shortened by the cosine of the middle latitude. For places from 45 degrees south to 45 north.
int64_t DistanceBetween(Place a, Place b);

}  // namespace reveza::datagen::coherent
