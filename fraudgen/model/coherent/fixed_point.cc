#include "fraudgen/model/coherent/fixed_point.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace reveza::fraudgen::coherent {
namespace {

// Entry k is 2^(k/256) in units of 2^-30: the eighth iterated square root of 2, multiplied up.
constexpr std::array<uint64_t, internal::kPowerSteps + 1> MakePowers() {
  using Wide = unsigned __int128;
  constexpr int kBits = 60;
  uint64_t root = uint64_t{2} << kBits;
  for (int i = 0; i < 8; ++i) {
    const Wide square = static_cast<Wide>(root) << kBits;
    Wide low = 0;
    Wide high = Wide{1} << 62;
    while (low + 1 < high) {
      const Wide middle = (low + high) / 2;
      (middle * middle <= square ? low : high) = middle;
    }
    root = static_cast<uint64_t>(low);
  }
  std::array<uint64_t, internal::kPowerSteps + 1> powers{};
  Wide power = Wide{1} << kBits;
  for (int i = 0; i <= internal::kPowerSteps; ++i) {
    powers[i] = static_cast<uint64_t>(power >> (kBits - internal::kPowerBits));
    power = (power * root) >> kBits;
  }
  return powers;
}
// round(65536 * cos(k degrees)).
constexpr std::array<int64_t, 47> kCosines = {
    65536, 65526, 65496, 65446, 65376, 65287, 65177, 65048, 64898, 64729, 64540, 64332,
    64104, 63856, 63589, 63303, 62997, 62672, 62328, 61966, 61584, 61183, 60764, 60326,
    59870, 59396, 58903, 58393, 57865, 57319, 56756, 56175, 55578, 54963, 54332, 53684,
    53020, 52339, 51643, 50931, 50203, 49461, 48703, 47930, 47143, 46341, 45525};

}  // namespace

constexpr std::array<uint64_t, internal::kPowerSteps + 1> internal::kPowers = MakePowers();

// The floating-point root is only an initial guess, so the result does not depend on rounding.
uint64_t SquareRoot(uint64_t value) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(value)));
  root = std::min<uint64_t>(root, 0xffffffffu);
  while (root * root > value) --root;
  while (root < 0xffffffffu && (root + 1) * (root + 1) <= value) ++root;
  return root;
}

int64_t DistanceBetween(Place a, Place b) {
  const int64_t north = static_cast<int64_t>(a.latitude) - b.latitude;
  const int64_t middle = std::abs((static_cast<int64_t>(a.latitude) + b.latitude) / 2);
  const auto degree = static_cast<std::size_t>(std::min<int64_t>(middle / 1'000'000, 45));
  const int64_t rest = middle - static_cast<int64_t>(degree) * 1'000'000;
  const int64_t cosine =
      kCosines[degree] - (kCosines[degree] - kCosines[degree + 1]) * rest / 1'000'000;
  const int64_t east = (static_cast<int64_t>(a.longitude) - b.longitude) * cosine / kOne;
  const auto micro = static_cast<int64_t>(
      SquareRoot(static_cast<uint64_t>(north * north) + static_cast<uint64_t>(east * east)));
  return micro * 111'195 / 10'000'000;
}

}  // namespace reveza::fraudgen::coherent
