#include "phi/arithmetic/phi_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "phi/arithmetic/kernels.h"

namespace reveza::phi {
namespace phi_math_test {

std::vector<Instructions> Here() {
  std::vector<Instructions> all = {Instructions::kPlain};
  if (SupportedInstructions() >= Instructions::kAvx2) all.push_back(Instructions::kAvx2);
  if (SupportedInstructions() >= Instructions::kAvx512) all.push_back(Instructions::kAvx512);
  return all;
}

// Returns the error in units in the last place of `right`.
double Units(float made, double right) {
  const auto nearest = static_cast<float>(std::abs(right));
  const double unit = std::nextafter(nearest, std::numeric_limits<float>::infinity()) - nearest;
  return std::abs(made - right) / unit;
}

std::vector<float> RandomFloats(std::size_t count, std::uint32_t site) {
  std::vector<float> made((count + kGroup - 1) / kGroup * kGroup);
  kPlainKernels.normals({.key = KeyOf(7), .run = 1, .cycle = 2, .site = site},
                        static_cast<int>(made.size() / kGroup), made.data());
  return made;
}

TEST(PhiMath, LogIsAccurateOnTheRangeOfNormals) {
  for (std::uint32_t k = 1; k <= 1U << 24; k = k < 4096 ? k + 1 : k + 977) {
    const float u = static_cast<float>(k) * 0x1p-24F;
    const double right = std::log(static_cast<double>(u));
    EXPECT_LE(std::abs(Log(u) - right), 0x1p-24 + std::abs(right) * 0x1p-22) << u;
  }
  EXPECT_EQ(Log(1.0F), 0.0F);
}

TEST(PhiMath, TanhIsAccurateAndOdd) {
  for (float x = 0x1p-30F; x < 200; x *= 1.0173F) {
    EXPECT_LE(Units(Tanh(x), std::tanh(static_cast<double>(x))), 4) << x;
    EXPECT_EQ(Tanh(-x), -Tanh(x));
  }
  EXPECT_EQ(Bits(Tanh(0.0F)), Bits(0.0F));
  EXPECT_EQ(Bits(Tanh(-0.0F)), Bits(-0.0F));
  EXPECT_EQ(Tanh(std::numeric_limits<float>::infinity()), 1.0F);
}

TEST(PhiMath, SineAndCosineOfTurnsAreAccurateInAllQuadrants) {
  for (std::uint64_t word = 0; word < std::uint64_t{1} << 32; word += 1'234'567) {
    const auto made = SinCosOfTurns<ScalarLanes>(static_cast<std::uint32_t>(word));
    const double angle = static_cast<double>(word >> 8) * 2 * M_PI * 0x1p-24;
    EXPECT_NEAR(made.sin, std::sin(angle), 2e-7) << word;
    EXPECT_NEAR(made.cos, std::cos(angle), 2e-7) << word;
  }
}

TEST(PhiMath, AllKernelsAreBitIdentical) {
  const std::vector<float> from = RandomFloats(1024, 3);
  for (const Instructions instructions : Here()) {
    const ArithmeticKernels& kernels = KernelsOf(instructions);
    std::vector<float> made(from.size());
    kernels.normals({.key = KeyOf(7), .run = 1, .cycle = 2, .site = 3}, 16, made.data());
    EXPECT_EQ(std::memcmp(made.data(), from.data(), from.size() * sizeof(float)), 0);
    EXPECT_EQ(Bits(kernels.sum(from.data(), 16)), Bits(kPlainKernels.sum(from.data(), 16)));
    std::uint64_t hash = 0;
    for (std::uint32_t i = 0; i < from.size(); ++i) hash += HashWord(Bits(from[i]), 100 + i);
    EXPECT_EQ(kernels.hash(from.data(), static_cast<int>(from.size()), 100), hash);
  }
}

TEST(PhiMath, NormalAtMatchesNormalGroup) {
  const std::vector<float> all = RandomFloats(320, 9);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(Bits(NormalAt({.key = KeyOf(7), .run = 1, .cycle = 2, .site = 9}, i)), Bits(all[i]));
  }
}

// Kernels make several groups at once; an odd one is left.
TEST(PhiMath, NormalsDoNotDependOnTheNumberOfGroups) {
  const DrawPosition at = {.key = KeyOf(7), .run = 1, .cycle = 2, .site = 9};
  for (const Instructions instructions : Here()) {
    for (const int groups : {1, 2, 3, 4, 5}) {
      std::vector<float> made(static_cast<std::size_t>(groups) * kGroup);
      KernelsOf(instructions).normals(at, groups, made.data());
      for (std::uint32_t i = 0; i < made.size(); ++i) {
        ASSERT_EQ(Bits(made[i]), Bits(NormalAt(at, i))) << NameOf(instructions) << ' ' << i;
      }
    }
  }
}

TEST(PhiMath, NormalsHaveTheMomentsOfTheNormalDistribution) {
  constexpr int kCount = 1 << 20;
  const std::vector<float> all = RandomFloats(kCount, 5);
  double moment[5] = {};
  for (const float each : all) {
    double power = 1;
    for (int i = 1; i <= 4; ++i) moment[i] += (power *= each);
  }
  // Five standard deviations of each mean.
  const double unit = 5 / std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(moment[1] / kCount, 0, unit);
  EXPECT_NEAR(moment[2] / kCount, 1, unit * std::sqrt(2.0));
  EXPECT_NEAR(moment[3] / kCount, 0, unit * std::sqrt(15.0));
  EXPECT_NEAR(moment[4] / kCount, 3, unit * std::sqrt(96.0));
  // Neighbours are uncorrelated, including the pair made from one radius (16 apart).
  for (const std::size_t apart : {1U, 16U, 32U, 64U}) {
    double product = 0;
    for (std::size_t i = apart; i < all.size(); ++i) product += all[i] * all[i - apart];
    EXPECT_NEAR(product / kCount, 0, unit) << apart;
  }
}

TEST(PhiMath, DrawsDependOnEachCoordinate) {
  const DrawPosition at{.key = KeyOf(7), .run = 1, .cycle = 2, .site = 3};
  DrawPosition other = at;
  other.run = 2;
  EXPECT_NE(NormalAt(at, 0), NormalAt(other, 0));
  other = at;
  other.cycle = 3;
  EXPECT_NE(NormalAt(at, 0), NormalAt(other, 0));
  other = at;
  other.site = 4;
  EXPECT_NE(NormalAt(at, 0), NormalAt(other, 0));
  other = at;
  other.key = KeyOf(std::uint64_t{7} + (std::uint64_t{1} << 32));
  EXPECT_NE(NormalAt(at, 0), NormalAt(other, 0));
}

TEST(PhiMath, TreeSumFollowsTheDocumentedOrder) {
  const std::vector<float> all = RandomFloats(256, 6);
  float lane[kGroup] = {};
  for (std::size_t i = 0; i < all.size(); ++i) lane[i % kGroup] += all[i];
  for (int half = kGroup / 2; half >= 1; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  EXPECT_EQ(Bits(kPlainKernels.sum(all.data(), 4)), Bits(lane[0]));
}

}  // namespace phi_math_test
}  // namespace reveza::phi
