// Conditional mutual information from nearest neighbours. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/error.h"

namespace reveza::phi {

// Points, each a row of z, then y, then x.
struct ConditionedPoints {
  int conditions = 0;  // columns of z, at least one
  int targets = 0;     // of y
  int sources = 0;     // of x
  std::vector<double> values;

  int width() const { return conditions + targets + sources; }
  std::int64_t count() const { return static_cast<std::int64_t>(values.size()) / width(); }
};

// Returns I(x; y | z) by the estimator of Frenzel and Pompe (continuous_transfer.h) with K =
// `neighbours`. Points are sorted by their first column, so that only those within the distance of
// the K-th neighbour are compared: O(N) for each in the worst case. Errors: not more points than
// neighbours; a point that coincides with its K nearest.
Result<double> NearestNeighbourInformation(const ConditionedPoints& points, int neighbours);

}  // namespace reveza::phi
