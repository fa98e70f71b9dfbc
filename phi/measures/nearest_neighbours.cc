#include "phi/measures/nearest_neighbours.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "phi/measures/kd_tree.h"
#include "phi/measures/significance.h"

namespace reveza::phi {
namespace {

// Returns the points within `window` of each point in its trial, which are next to each other.
std::vector<KdTree::Range> NearInTime(const ConditionedPoints& points, std::int64_t window) {
  std::vector<KdTree::Range> near;
  near.reserve(static_cast<std::size_t>(points.count()));
  for (std::size_t trial = 0; trial < points.trials.size(); ++trial) {
    const std::int64_t begin = points.trials[trial];
    const std::int64_t end =
        trial + 1 < points.trials.size() ? points.trials[trial + 1] : points.count();
    for (std::int64_t i = begin; i < end; ++i) {
      near.push_back({std::max(begin, i - window), std::min(end, i + window + 1)});
    }
  }
  return near;
}

}  // namespace

Result<double> NearestNeighbourInformation(const ConditionedPoints& points, int neighbours,
                                           std::int64_t window) {
  const std::int64_t count = points.count();
  if (neighbours < 1 || count <= neighbours) {
    return InvalidArgument("{} samples are too few for {} nearest neighbours; use more rows", count,
                           neighbours);
  }
  std::vector<double> digamma(static_cast<std::size_t>(count) + 1);
  for (std::size_t i = 1; i < digamma.size(); ++i) digamma[i] = Digamma(static_cast<double>(i));
  const auto psi = [&](std::int64_t within) {
    return digamma[static_cast<std::size_t>(within) + 1];
  };
  const int width = points.width();
  const int y = points.conditions;
  const int x = points.conditions + points.targets;
  const std::array all = {KdTree::Columns{0, width}};
  const std::array of_z = {KdTree::Columns{0, y}};
  const std::array of_yz = {KdTree::Columns{0, x}};
  const std::array of_xz = {KdTree::Columns{0, y}, KdTree::Columns{x, width}};
  const KdTree joint(points.values, width, all);
  const KdTree z(points.values, width, of_z);
  const KdTree yz(points.values, width, of_yz);
  const KdTree xz(points.values, width, of_xz);
  const std::vector<KdTree::Range> near = NearInTime(points, window);
  std::vector<double> nearest;
  double sum = 0.0;
  for (std::int64_t point = 0; point < count; ++point) {
    const KdTree::Range excluded = near[static_cast<std::size_t>(point)];
    const double radius = joint.Radius(point, neighbours, excluded, nearest);
    if (std::isinf(radius)) {
      return InvalidArgument(
          "a sample has fewer than {} neighbours farther than {} rows in time; use more rows, or a "
          "smaller window",
          neighbours, window);
    }
    if (radius == 0.0) {
      return InvalidArgument(
          "a sample coincides with its {} nearest neighbours, so that their distances say nothing; "
          "use the discrete estimator, or values of more digits",
          neighbours);
    }
    sum += psi(z.CountWithin(point, radius, excluded)) -
           psi(xz.CountWithin(point, radius, excluded)) -
           psi(yz.CountWithin(point, radius, excluded));
  }
  return digamma[static_cast<std::size_t>(neighbours)] + sum / static_cast<double>(count);
}

}  // namespace reveza::phi
