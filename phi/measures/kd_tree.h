// A k-d tree of points in the maximum norm: distances to nearest neighbours, and numbers of points
// within a distance. Thread-safe: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reveza::phi {

class KdTree {
 public:
  // Columns [begin, end) of rows of `width` values.
  struct Columns {
    int begin = 0;
    int end = 0;
  };
  // A range of points, by index.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  // Makes the tree of the points whose coordinates are these columns of each row.
  KdTree(std::span<const double> rows, int width, std::span<const Columns> columns);

  // Returns the distance of a point to its K-th neighbour among those outside the range, which
  // contains the point; infinity if there are fewer. `nearest` is scratch.
  double Radius(std::int64_t point, int neighbours, Range excluded,
                std::vector<double>& nearest) const;

  // Returns the number of points nearer to this one than `radius`, outside the range.
  std::int64_t CountWithin(std::int64_t point, double radius, Range excluded) const;

 private:
  struct Node {
    std::size_t begin = 0;  // of its points, in the order of the tree
    std::size_t end = 0;
    std::size_t children = 0;  // the first of two; 0 for a leaf
  };
  // Enough for any number of points, because both halves of a node have half of its points.
  static constexpr std::size_t kMaxStack = 128;

  void Split(std::size_t node, std::vector<std::int64_t>& order, std::span<const double> points);
  const double* PointAt(std::size_t place) const { return points_.data() + place * width_; }
  // Returns the distance of a point to the box of a node, or to its farthest corner.
  double ToBox(const double* point, std::size_t node) const;
  double ToCorner(const double* point, std::size_t node) const;
  double Distance(const double* one, const double* other) const;

  std::size_t width_;
  std::vector<double> points_;       // in the order of the tree
  std::vector<std::int64_t> index_;  // of the point at each place
  std::vector<std::size_t> place_;   // of each point
  std::vector<Node> nodes_;          // the first is the root
  std::vector<double> low_, high_;   // corners of the nodes' boxes
};

}  // namespace reveza::phi
