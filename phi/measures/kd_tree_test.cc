#include "phi/measures/kd_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "phi/measures/random.h"

namespace reveza::phi {
namespace kd_tree_test {

using Columns = std::span<const KdTree::Columns>;

constexpr int kWidth = 4;
constexpr KdTree::Columns kAll[] = {{0, 4}};
constexpr KdTree::Columns kEnds[] = {{0, 1}, {2, 4}};

// Points, some of which coincide if values are rounded.
std::vector<double> Rows(std::int64_t count, bool rounded) {
  const RandomStream random(1, RandomPurpose::kSource, rounded ? 1 : 0);
  std::vector<double> rows;
  for (std::int64_t i = 0; i < count * kWidth; ++i) {
    const double value = random.Normal(static_cast<std::uint64_t>(i));
    rows.push_back(rounded ? std::round(2.0 * value) : value);
  }
  return rows;
}

// Returns the distances of a point to all outside the range, in ascending order.
std::vector<double> Distances(const std::vector<double>& rows, std::int64_t point,
                              std::span<const KdTree::Columns> columns, KdTree::Range excluded) {
  std::vector<double> distances;
  const auto count = static_cast<std::int64_t>(rows.size()) / kWidth;
  for (std::int64_t other = 0; other < count; ++other) {
    if (other >= excluded.begin && other < excluded.end) continue;
    double distance = 0.0;
    for (const KdTree::Columns& each : columns) {
      for (int i = each.begin; i < each.end; ++i) {
        distance =
            std::max(distance, std::abs(rows[point * kWidth + i] - rows[other * kWidth + i]));
      }
    }
    distances.push_back(distance);
  }
  std::ranges::sort(distances);
  return distances;
}

TEST(KdTreeTest, FindsWhatComparingAllFinds) {
  for (const bool rounded : {false, true}) {
    for (const std::int64_t count : {6, 13, 300}) {
      const std::vector<double> rows = Rows(count, rounded);
      for (const Columns columns : {Columns(kAll), Columns(kEnds)}) {
        const KdTree tree(rows, kWidth, columns);
        std::vector<double> nearest;
        for (std::int64_t point = 0; point < count; ++point) {
          const KdTree::Range excluded = {.begin = std::max<std::int64_t>(0, point - 1),
                                          .end = std::min(count, point + 2)};
          const auto right = Distances(rows, point, columns, excluded);
          const double radius = tree.Radius(point, 3, excluded, nearest);
          ASSERT_EQ(radius, right[2]) << count << " points, point " << point;
          ASSERT_EQ(tree.CountWithin(point, radius, excluded),
                    std::ranges::lower_bound(right, radius) - right.begin());
        }
      }
    }
  }
}

TEST(KdTreeTest, HasNoRadiusWithTooFewNeighbours) {
  const KdTree tree(Rows(5, false), kWidth, kAll);
  std::vector<double> nearest;
  EXPECT_TRUE(std::isfinite(tree.Radius(2, 4, {.begin = 2, .end = 3}, nearest)));
  EXPECT_TRUE(std::isinf(tree.Radius(2, 4, {.begin = 1, .end = 3}, nearest)));
}

}  // namespace kd_tree_test
}  // namespace reveza::phi
