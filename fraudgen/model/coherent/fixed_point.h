// Fixed-point mathematics: the same results on every machine. Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {

inline constexpr int64_t kOne = 65'536;  // 1 in units of 2^-16

namespace internal {

inline constexpr int kPowerSteps = 256;
inline constexpr int kPowerBits = 30;
// Entry k is 2^(k/256) in units of 2^-30.
extern const std::array<uint64_t, kPowerSteps + 1> kPowers;

}  // namespace internal

// Returns 2 to the power of `exponent`, both in units of 2^-16; clamped to exponents -16 to 30.
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

// Returns the base-2 logarithm of a number of at least 1, in units of 2^-16, accurate to 0.09.
inline int64_t Log2(uint64_t value) {
  const int whole = 63 - std::countl_zero(value);
  // Linear between powers of two.
  const uint64_t fraction =
      whole >= 16 ? (value >> (whole - 16)) - kOne : (value << (16 - whole)) - kOne;
  return whole * kOne + static_cast<int64_t>(fraction);
}

// Returns the square root, rounded down.
uint64_t SquareRoot(uint64_t value);

// Returns a log-normal number; with `deviation` kOne, one standard deviation doubles the median.
inline int64_t LogNormal(uint64_t bits, int64_t median, int64_t deviation) {
  const int64_t exponent = NormalOf(bits) * deviation / kOne;
  return static_cast<int64_t>((static_cast<__int128>(median) * Exp2(exponent)) >> 16);
}

// Coordinates in millionths of a degree.
struct Place {
  int32_t latitude = 0;
  int32_t longitude = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

// Returns the distance in hundredths of a kilometre by an equirectangular approximation (111.195 km
// a degree, longitude scaled by the cosine of the mean latitude), for latitudes within 45 degrees.
int64_t DistanceBetween(Place a, Place b);

}  // namespace reveza::fraudgen::coherent
