#include "phi/measures/kd_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace reveza::phi {
namespace {

// Below this number of points, comparing all is faster than descending.
constexpr std::size_t kLeafPoints = 12;

}  // namespace

KdTree::KdTree(std::span<const double> rows, int width, std::span<const Columns> columns)
    : width_(0) {
  for (const Columns& each : columns) width_ += static_cast<std::size_t>(each.end - each.begin);
  const std::size_t count = rows.size() / static_cast<std::size_t>(width);
  std::vector<double> points;
  points.reserve(count * width_);
  for (std::size_t row = 0; row < count; ++row) {
    const double* const from = rows.data() + row * static_cast<std::size_t>(width);
    for (const Columns& each : columns) {
      points.insert(points.end(), from + each.begin, from + each.end);
    }
  }
  index_.resize(count);
  std::iota(index_.begin(), index_.end(), std::int64_t{0});
  nodes_.push_back({.begin = 0, .end = count, .children = 0});
  for (std::size_t node = 0; node < nodes_.size(); ++node) Split(node, index_, points);
  place_.resize(count);
  points_.reserve(points.size());
  for (std::size_t place = 0; place < count; ++place) {
    const auto point = static_cast<std::size_t>(index_[place]);
    place_[point] = place;
    const double* const from = points.data() + point * width_;
    points_.insert(points_.end(), from, from + width_);
  }
}

// Computes the box of a node, and divides it at the median of its longest side.
void KdTree::Split(std::size_t node, std::vector<std::int64_t>& order,
                   std::span<const double> points) {
  const auto [begin, end, none] = nodes_[node];
  const auto value = [&](std::int64_t point, std::size_t column) {
    return points[static_cast<std::size_t>(point) * width_ + column];
  };
  std::size_t longest = 0;
  double length = 0.0;
  for (std::size_t column = 0; column < width_; ++column) {
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    for (std::size_t i = begin; i < end; ++i) {
      low = std::min(low, value(order[i], column));
      high = std::max(high, value(order[i], column));
    }
    low_.push_back(low);
    high_.push_back(high);
    if (high - low <= length) continue;
    longest = column;
    length = high - low;
  }
  if (end - begin <= kLeafPoints || length == 0.0) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(at(begin), at(middle), at(end), [&](std::int64_t one, std::int64_t other) {
    return value(one, longest) < value(other, longest);
  });
  nodes_[node].children = nodes_.size();
  nodes_.push_back({.begin = begin, .end = middle, .children = 0});
  nodes_.push_back({.begin = middle, .end = end, .children = 0});
}

double KdTree::ToBox(const double* point, std::size_t node) const {
  const double* const low = low_.data() + node * width_;
  const double* const high = high_.data() + node * width_;
  double distance = 0.0;
  for (std::size_t i = 0; i < width_; ++i) {
    distance = std::max({distance, low[i] - point[i], point[i] - high[i]});
  }
  return distance;
}

double KdTree::ToCorner(const double* point, std::size_t node) const {
  const double* const low = low_.data() + node * width_;
  const double* const high = high_.data() + node * width_;
  double distance = 0.0;
  for (std::size_t i = 0; i < width_; ++i) {
    distance = std::max({distance, point[i] - low[i], high[i] - point[i]});
  }
  return distance;
}

double KdTree::Distance(const double* one, const double* other) const {
  double distance = 0.0;
  for (std::size_t i = 0; i < width_; ++i) {
    distance = std::max(distance, std::abs(one[i] - other[i]));
  }
  return distance;
}

double KdTree::Radius(std::int64_t point, int neighbours, Range excluded,
                      std::vector<double>& nearest) const {
  nearest.assign(static_cast<std::size_t>(neighbours), HUGE_VAL);  // a heap, the farthest first
  const double* const here = PointAt(place_[static_cast<std::size_t>(point)]);
  std::array<std::pair<double, std::size_t>, kMaxStack> stack = {{{0.0, 0}}};
  std::size_t height = 1;
  while (height > 0) {
    const auto [bound, number] = stack[--height];
    if (bound >= nearest.front()) continue;
    const Node& node = nodes_[number];
    if (node.children != 0) {
      std::pair near = {ToBox(here, node.children), node.children};
      std::pair far = {ToBox(here, node.children + 1), node.children + 1};
      if (far.first < near.first) std::swap(near, far);
      stack[height++] = far;
      stack[height++] = near;
      continue;
    }
    for (std::size_t i = node.begin; i < node.end; ++i) {
      if (index_[i] >= excluded.begin && index_[i] < excluded.end) continue;
      const double distance = Distance(here, PointAt(i));
      if (distance >= nearest.front()) continue;
      std::ranges::pop_heap(nearest);
      nearest.back() = distance;
      std::ranges::push_heap(nearest);
    }
  }
  return nearest.front();
}

std::int64_t KdTree::CountWithin(std::int64_t point, double radius, Range excluded) const {
  const double* const here = PointAt(place_[static_cast<std::size_t>(point)]);
  std::array<std::size_t, kMaxStack> stack = {0};
  std::size_t height = 1;
  std::int64_t count = 0;
  while (height > 0) {
    const std::size_t number = stack[--height];
    const Node& node = nodes_[number];
    // Differences round monotonically, so that boxes decide as their points would.
    if (ToBox(here, number) >= radius) continue;
    if (ToCorner(here, number) < radius) {
      count += static_cast<std::int64_t>(node.end - node.begin);
    } else if (node.children != 0) {
      stack[height++] = node.children;
      stack[height++] = node.children + 1;
    } else {
      for (std::size_t i = node.begin; i < node.end; ++i) {
        count += Distance(here, PointAt(i)) < radius ? 1 : 0;
      }
    }
  }
  for (std::int64_t i = excluded.begin; i < excluded.end; ++i) {
    count -= Distance(here, PointAt(place_[static_cast<std::size_t>(i)])) < radius ? 1 : 0;
  }
  return count;
}

}  // namespace reveza::phi
