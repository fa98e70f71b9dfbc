#include <cstdint>

#include "datagen/classic/rides.h"

namespace reveza::datagen::classic {
namespace {

constexpr int kUnitBits = 30;

// The cosine of an angle of less than a right one, in units of 2^-30, by its series.
int64_t Cosine(int64_t millionths_of_degree) {
  // A millionth of a degree is 2^30 * pi / 180 / 10^6 = 18.740330 of these units.
  const int64_t angle = millionths_of_degree * 18'740'330 / 1'000'000;
  const int64_t square = (angle * angle) >> kUnitBits;
  const int64_t fourth = (square * square) >> kUnitBits;
  const int64_t sixth = (fourth * square) >> kUnitBits;
  return (int64_t{1} << kUnitBits) - square / 2 + fourth / 24 - sixth / 720;
}

// Rounded down.
int64_t SquareRoot(int64_t value) {
  int64_t root = 0;
  for (int64_t bit = int64_t{1} << 30; bit > 0; bit /= 2) {
    if ((root + bit) * (root + bit) <= value) root += bit;
  }
  return root;
}

}  // namespace

int64_t MetresBetween(int64_t latitude, int64_t longitude, int64_t other_latitude,
                      int64_t other_longitude) {
  // A degree is 111,195 metres on the globe that the original's formula takes.
  constexpr int64_t kMetresPerDegree = 111'195;
  const int64_t north = (other_latitude - latitude) * kMetresPerDegree / 1'000'000;
  const int64_t east = ((other_longitude - longitude) * kMetresPerDegree / 1'000'000 *
                        Cosine((latitude + other_latitude) / 2)) >>
                       kUnitBits;
  return SquareRoot(north * north + east * east);
}

}  // namespace reveza::datagen::classic
