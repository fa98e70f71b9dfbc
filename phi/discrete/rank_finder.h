// Values at some ranks of a series, such as its quantiles, without sorting it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace reveza::phi {

// Up to this number of bins, each bound is found and compared by itself.
inline constexpr std::size_t kFewBins = 16;
// Values that stay in the first cache between passes.
inline constexpr std::size_t kRankBlock = 1024;
// Fewer values are ordered as they are.
inline constexpr std::size_t kFewValues = 4096;

// Writes the number of bounds at or below each value to `codes`, and adds the number of values at
// or above each bound to its count. At most 2 * kFewBins bounds.
void CodeByBounds(std::span<const double> values, std::span<const double> bounds,
                  std::int64_t* codes, std::int64_t* counts);

// Returns the size of the sample, at equal distances, by which the ranks of a series are found.
std::size_t SampleOf(std::size_t rows);

// Returns the values at these ranks.
std::vector<double> ValuesAtRanks(std::span<const double> values,
                                  std::span<const std::size_t> ranks);

// Finds the values at some ranks of a long series, which comes in blocks. Keeps and orders only
// those of segments that most probably hold one. Not thread-safe.
class RankFinder {
 public:
  // `sample`: SampleOf(rows) of the values. At most kFewBins ranks.
  RankFinder(std::vector<double> sample, std::size_t rows, std::vector<std::size_t> ranks);

  // Adds at most kRankBlock values.
  void Add(std::span<const double> block);

  // Returns the values; nothing if the sample misled.
  std::optional<std::vector<double>> Values() const;

 private:
  struct Segments {
    std::vector<double> bounds = {};  // ascending: segment i is from bounds[i - 1] to bounds[i]
    std::vector<std::uint8_t> wanted = {};  // whether a segment most probably holds a rank
  };
  // Chooses the segments of `rows` values by a sample of them.
  static Segments SegmentsOf(std::vector<double> sample, std::size_t rows,
                             std::span<const std::size_t> ranks);

  std::size_t rows_;
  std::vector<std::size_t> ranks_;
  Segments segments_;
  std::vector<std::int64_t> at_least_;  // values at or above each bound
  std::vector<double> kept_;
};

}  // namespace reveza::phi
