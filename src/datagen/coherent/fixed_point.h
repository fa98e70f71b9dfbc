// The curves that the model needs, in whole numbers: the same on every machine. Safe from any
// thread.
#pragma once

#include <cstdint>

namespace reveza::datagen::coherent {

inline constexpr int64_t kOne = 65'536;  // 1 in units of 2^-16

// 2 to the power of `exponent`, both in units of 2^-16. From -16 to 30; ended there.
int64_t Exp2(int64_t exponent);

// The logarithm to base 2 of a number from 1 on, in units of 2^-16, right to 0.09.
int64_t Log2(uint64_t value);

// The square root, rounded down.
uint64_t SquareRoot(uint64_t value);

// A log-normal number around `median`: twice as much at one deviation if `deviation` is kOne.
int64_t LogNormal(uint64_t bits, int64_t median, int64_t deviation);

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
