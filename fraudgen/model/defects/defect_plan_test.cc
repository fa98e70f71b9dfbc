#include "fraudgen/model/defects/defect_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace reveza::fraudgen {
namespace defect_plan_test {

DefectRates Rates(uint64_t billionths) {
  DefectRates rates;
  for (Share& share : rates.of) share.billionths = billionths;
  return rates;
}

TEST(DefectPlan, HasExactlyTheRateOfEachKind) {
  DefectRates rates = Rates(10'000'000);
  rates.Of(DefectKind::kNull) = {};
  const DefectPlan plan(7, rates, 100'000, 20'000);
  std::array<uint64_t, 5> counts{};
  for (uint64_t i = 0; i < 20'000; ++i) {
    const auto defect = plan.At(i);
    if (!defect) continue;
    ++counts.at(static_cast<std::size_t>(defect->kind));
    if (defect->kind == DefectKind::kLate) {
      EXPECT_GE(defect->rows_later, 100u);
      EXPECT_LE(defect->rows_later, 5'000u);
    }
    if (defect->kind == DefectKind::kOutOfOrder) {
      EXPECT_GE(defect->rows_later, 1u);
      EXPECT_LE(defect->rows_later, 20u);
    }
  }
  EXPECT_EQ(counts, (std::array<uint64_t, 5>{200, 200, 200, 0, 200}));
  EXPECT_EQ(plan.Count(DefectKind::kDuplicate), 200u);
  EXPECT_EQ(plan.count(), 800u);
}

TEST(DefectPlan, BlocksAddUpToTheRate) {
  uint64_t count = 0;
  for (uint64_t first = 0; first < 10'000; first += 37) {
    const uint64_t rows = std::min<uint64_t>(37, 10'000 - first);
    count += DefectPlan(7, Rates(3'000'000), first, rows).Count(DefectKind::kDuplicate);
  }
  EXPECT_EQ(count, 30u);
}

TEST(DefectPlan, DependsOnTheKey) {
  const DefectPlan one(7, Rates(50'000'000), 0, 1'000);
  const DefectPlan other(8, Rates(50'000'000), 0, 1'000);
  uint64_t both = 0;
  for (uint64_t i = 0; i < 1'000; ++i) both += one.At(i) && other.At(i) ? 1 : 0;
  EXPECT_LT(both, 150u);
}

TEST(DefectPlan, LeavesTheLastRowIntact) {
  for (uint64_t rows = 0; rows < 8; ++rows) {
    const DefectPlan plan(7, Rates(DefectRates::kMaxShare.billionths), 0, rows);
    uint64_t count = 0;
    for (uint64_t i = 0; i < rows; ++i) count += plan.At(i) ? 1 : 0;
    EXPECT_EQ(count, plan.count());
    EXPECT_TRUE(rows == 0 || !plan.At(rows - 1));
  }
}

}  // namespace defect_plan_test
}  // namespace reveza::fraudgen
