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
  std::vector<std::int64_t> trials = {0};  // first point of each trial; points are rows in turn

  int width() const { return conditions + targets + sources; }
  std::int64_t count() const { return static_cast<std::int64_t>(values.size()) / width(); }
};

// Returns I(x; y | z) by the estimator of Frenzel and Pompe (continuous_transfer.h) with K =
// `neighbours`. Points of the same trial that are at most `window` rows apart are no neighbours
// (Theiler 1986, Phys Rev A 34:2427, doi:10.1103/PhysRevA.34.2427). Errors: a point with fewer than
// K neighbours, or that coincides with its K nearest.
Result<double> NearestNeighbourInformation(const ConditionedPoints& points, int neighbours,
                                           std::int64_t window = 0);

}  // namespace reveza::phi
