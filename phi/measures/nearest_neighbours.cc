#include "phi/measures/nearest_neighbours.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "phi/measures/significance.h"

namespace reveza::phi {
namespace {

// The points in the order of their first column.
class SortedPoints {
 public:
  explicit SortedPoints(const ConditionedPoints& points)
      : width_(points.width()), y_(points.conditions), x_(points.conditions + points.targets) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(points.count()));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const double* const from = points.values.data();
    std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return from[i * width_]; });
    values_.reserve(points.values.size());
    for (const std::int64_t i : order) {
      values_.insert(values_.end(), from + i * width_, from + (i + 1) * width_);
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(values_.size()) / width_; }

  // Returns the distance of a point to its K-th neighbour; `nearest` is scratch.
  double Radius(std::int64_t point, int neighbours, std::vector<double>& nearest) const {
    nearest.assign(static_cast<std::size_t>(neighbours), HUGE_VAL);  // a heap, the farthest first
    std::int64_t below = point - 1;
    std::int64_t above = point + 1;
    for (;;) {
      const double down = below >= 0 ? Row(point)[0] - Row(below)[0] : HUGE_VAL;
      const double up = above < count() ? Row(above)[0] - Row(point)[0] : HUGE_VAL;
      if (std::min(down, up) >= nearest.front()) return nearest.front();
      const double* const other = Row(down <= up ? below-- : above++);
      const double distance = Distance(Row(point), other, 0, width_);
      if (distance >= nearest.front()) continue;
      std::ranges::pop_heap(nearest);
      nearest.back() = distance;
      std::ranges::push_heap(nearest);
    }
  }

  // Returns psi(n_z + 1) - psi(n_xz + 1) - psi(n_yz + 1) for the neighbours nearer than `radius`.
  double Term(std::int64_t point, double radius, const std::vector<double>& digamma) const {
    std::size_t in_z = 0, in_xz = 0, in_yz = 0;
    const auto add = [&](std::int64_t other) {
      if (Distance(Row(point), Row(other), 0, y_) >= radius) return;
      ++in_z;
      if (Distance(Row(point), Row(other), y_, x_) < radius) ++in_yz;
      if (Distance(Row(point), Row(other), x_, width_) < radius) ++in_xz;
    };
    for (std::int64_t i = point - 1; i >= 0 && Row(point)[0] - Row(i)[0] < radius; --i) add(i);
    for (std::int64_t i = point + 1; i < count() && Row(i)[0] - Row(point)[0] < radius; ++i) add(i);
    return digamma[in_z + 1] - digamma[in_xz + 1] - digamma[in_yz + 1];
  }

 private:
  const double* Row(std::int64_t point) const { return values_.data() + point * width_; }

  // Returns the maximum norm of the difference in columns [begin, end).
  static double Distance(const double* one, const double* other, int begin, int end) {
    double distance = 0.0;
    for (int i = begin; i < end; ++i) distance = std::max(distance, std::abs(one[i] - other[i]));
    return distance;
  }

  int width_;
  int y_;  // first column of y
  int x_;
  std::vector<double> values_;
};

}  // namespace

Result<double> NearestNeighbourInformation(const ConditionedPoints& points, int neighbours) {
  const std::int64_t count = points.count();
  if (neighbours < 1 || count <= neighbours) {
    return InvalidArgument("{} samples are too few for {} nearest neighbours; use more rows", count,
                           neighbours);
  }
  std::vector<double> digamma(static_cast<std::size_t>(count) + 1);
  for (std::size_t i = 1; i < digamma.size(); ++i) digamma[i] = Digamma(static_cast<double>(i));
  const SortedPoints sorted(points);
  std::vector<double> nearest;
  double sum = 0.0;
  for (std::int64_t point = 0; point < count; ++point) {
    const double radius = sorted.Radius(point, neighbours, nearest);
    if (radius == 0.0) {
      return InvalidArgument(
          "a sample coincides with its {} nearest neighbours, so that their distances say nothing; "
          "use the discrete estimator, or values of more digits",
          neighbours);
    }
    sum += sorted.Term(point, radius, digamma);
  }
  return digamma[static_cast<std::size_t>(neighbours)] + sum / static_cast<double>(count);
}

}  // namespace reveza::phi
