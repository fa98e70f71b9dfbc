#include "fraudgen/model/coherent/fixed_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {
namespace fixed_point_test {

TEST(FixedPoint, Exp2IsExactAtIntegersAndMonotonic) {
  for (int64_t power = -16; power <= 30; ++power) {
    EXPECT_EQ(Exp2(power * kOne), power >= 0 ? kOne << power : kOne >> -power) << power;
  }
  EXPECT_EQ(Exp2(kOne / 2), 92'681);  // 65536 times the root of 2 is 92681.9
  EXPECT_EQ(Exp2(100 * kOne), Exp2(30 * kOne));
  for (int64_t exponent = -3 * kOne; exponent < 3 * kOne; exponent += 97) {
    EXPECT_LE(Exp2(exponent), Exp2(exponent + 97));
  }
}

TEST(FixedPoint, Log2InvertsExp2) {
  EXPECT_EQ(Log2(1), 0);
  EXPECT_EQ(Log2(1024), 10 * kOne);
  EXPECT_EQ(Log2(uint64_t{1} << 63), 63 * kOne);
  for (uint64_t value = 3; value < 2'000'000; value += value / 3) {
    const int64_t back = Exp2(Log2(value)) / kOne;
    EXPECT_NEAR(static_cast<double>(back), static_cast<double>(value), 1 + value * 0.07);
  }
}

TEST(FixedPoint, SquareRootIsRoundedDown) {
  for (const uint64_t root : {0u, 1u, 2u, 1'000u, 65'535u, 3'000'000'019u, 4'294'967'295u}) {
    EXPECT_EQ(SquareRoot(root * uint64_t{root}), root);
    if (root > 1) {
      EXPECT_EQ(SquareRoot(root * uint64_t{root} - 1), root - 1);
    }
  }
  EXPECT_EQ(SquareRoot(~uint64_t{0}), 4'294'967'295u);
}

TEST(FixedPoint, LogNormalHasItsMedian) {
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < 10'001; ++i) values.push_back(LogNormal(Mix(i), 5'000, kOne));
  std::ranges::sort(values);
  EXPECT_NEAR(static_cast<double>(values[5'000]), 5'000, 150);
  // One standard deviation is a factor of two: 16 % are above twice the median.
  EXPECT_NEAR(static_cast<double>(values[8'413]), 10'000, 400);
  EXPECT_NEAR(static_cast<double>(values[1'587]), 2'500, 100);
  EXPECT_GE(values.front(), 5'000 / 17);
  EXPECT_LE(values.back(), 5'000 * 17);
}

TEST(FixedPoint, DistancesMatchTheProjection) {
  const Place sao_paulo = {-23'550'000, -46'630'000};
  const Place rio = {-22'910'000, -43'170'000};
  const Place manaus = {-3'120'000, -60'020'000};
  EXPECT_NEAR(static_cast<double>(DistanceBetween(sao_paulo, rio)), 36'100, 400);
  EXPECT_NEAR(static_cast<double>(DistanceBetween(sao_paulo, manaus)), 268'900, 2'700);
  EXPECT_EQ(DistanceBetween(rio, rio), 0);
  EXPECT_EQ(DistanceBetween(rio, manaus), DistanceBetween(manaus, rio));
}

}  // namespace fixed_point_test
}  // namespace reveza::fraudgen::coherent
