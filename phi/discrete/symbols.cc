#include "phi/discrete/symbols.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace reveza::phi {
namespace {

// Up to this number of bins, each bound is found and compared by itself.
constexpr std::size_t kFewBins = 16;

// Finds values by rank: among those between two values of a sample, which most probably enclose it.
class RankSearch {
 public:
  RankSearch(std::span<const double> values, std::span<const std::size_t> ranks) : values_(values) {
    for (const std::size_t rank : ranks) searches_.push_back({.rank = rank, .found = {}});
    if (values.size() >= 16 * kSample) Narrow();
  }

  std::vector<double> Values() {
    std::vector<double> values;
    for (Enclosed& each : searches_) {
      if (each.rank < each.below || each.rank - each.below >= each.found.size()) {
        each.found.assign(values_.begin(), values_.end());
        each.below = 0;
      }
      const auto place = each.found.begin() + static_cast<std::ptrdiff_t>(each.rank - each.below);
      std::nth_element(each.found.begin(), place, each.found.end());
      values.push_back(*place);
    }
    return values;
  }

 private:
  static constexpr std::size_t kSample = 4096;
  static constexpr std::size_t kMargin = 128;  // ranks of the sample: four standard deviations
  static constexpr std::size_t kBlock = 1024;

  struct Enclosed {
    std::size_t rank = 0;
    double low = 0, high = 0;
    std::size_t below = 0;      // values below `low`
    std::vector<double> found;  // those from `low` to `high`
  };

  void Narrow() {
    std::vector<double> sample;
    const std::size_t step = values_.size() / kSample;
    for (std::size_t i = 0; i < kSample; ++i) sample.push_back(values_[i * step]);
    std::ranges::sort(sample);
    for (Enclosed& each : searches_) {
      const std::size_t middle = each.rank * kSample / values_.size();
      each.low = sample[middle - std::min(middle, kMargin)];
      each.high = sample[std::min(middle + kMargin, kSample - 1)];
    }
    std::array<double, kBlock> inside = {};
    for (std::size_t begin = 0; begin < values_.size(); begin += kBlock) {
      const auto block = values_.subspan(begin, std::min(kBlock, values_.size() - begin));
      for (Enclosed& each : searches_) {
        // Without branches, which random values would mispredict.
        const double low = each.low;
        const double high = each.high;
        std::size_t below = 0;
        for (const double value : block) below += value < low ? 1 : 0;
        each.below += below;
        std::size_t count = 0;
        for (const double value : block) {
          inside[count] = value;
          count += static_cast<std::size_t>(value >= low) & static_cast<std::size_t>(value <= high);
        }
        each.found.insert(each.found.end(), inside.data(), inside.data() + count);
      }
    }
  }

  std::span<const double> values_;
  std::vector<Enclosed> searches_;
};

// Returns the lower bound of each bin except the first; empty if all values are equal.
std::vector<double> BoundsOf(std::span<const double> values, int bins) {
  // With few distinct values, each is a symbol.
  std::set<double> distinct;
  for (const double value : values) {
    distinct.insert(value);
    if (distinct.size() > static_cast<std::size_t>(bins)) break;
  }
  if (distinct.size() <= static_cast<std::size_t>(bins)) {
    return {std::next(distinct.begin()), distinct.end()};
  }
  const auto count = static_cast<std::size_t>(bins);
  std::vector<std::size_t> ranks;
  for (std::size_t bin = 1; bin < count; ++bin) ranks.push_back(values.size() * bin / count);
  std::vector<double> bounds;
  if (count > kFewBins) {
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    for (const std::size_t rank : ranks) bounds.push_back(sorted[rank]);
  } else {
    bounds = RankSearch(values, ranks).Values();
  }
  // A bin that starts at the minimum would leave the first one empty.
  const double lowest = bounds.front();
  if (std::ranges::none_of(values, [&](double value) { return value < lowest; })) {
    double second = std::numeric_limits<double>::infinity();
    for (const double value : values) {
      if (value > lowest) second = std::min(second, value);
    }
    for (double& bound : bounds) bound = std::max(bound, second);
  }
  const auto same = std::ranges::unique(bounds);
  bounds.erase(same.begin(), same.end());
  return bounds;
}

}  // namespace

Result<std::vector<Symbol>> QuantileBins(std::span<const double> values, int bins) {
  if (bins < 2) {
    return InvalidArgument("{} bins are too few; use at least 2", bins);
  }
  if (bins > kMaxSymbols) {
    return InvalidArgument("{} bins are too many; use at most {}", bins, kMaxSymbols);
  }
  if (values.size() < static_cast<std::size_t>(bins)) {
    return InvalidArgument("{} values are too few for {} bins", values.size(), bins);
  }
  const auto missing =
      std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (missing != values.end()) {
    return InvalidArgument("row {} is not a finite number; remove or impute such rows",
                           missing - values.begin() + 1);
  }
  const std::vector<double> bounds = BoundsOf(values, bins);
  if (bounds.empty()) {
    return InvalidArgument("all values are equal; a constant carries no information");
  }
  std::vector<Symbol> binned(values.size(), 0);
  if (bounds.size() >= kFewBins) {
    std::ranges::transform(values, binned.begin(), [&](double value) {
      return static_cast<Symbol>(std::ranges::upper_bound(bounds, value) - bounds.begin());
    });
    return binned;
  }
  // In blocks that stay in the cache, and without branches, which random values would mispredict.
  constexpr std::size_t kBlock = 1024;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, values.size());
    for (const double bound : bounds) {
      for (std::size_t i = begin; i < end; ++i) {
        binned[i] = static_cast<Symbol>(binned[i] + (values[i] >= bound ? 1 : 0));
      }
    }
  }
  return binned;
}

Result<std::vector<Symbol>> JointSymbols(std::span<const std::vector<Symbol>> series) {
  std::vector<Symbol> joint = series.front();
  for (const std::vector<Symbol>& other : series.subspan(1)) {
    std::map<std::pair<Symbol, Symbol>, Symbol> symbols;
    for (std::size_t row = 0; row < joint.size(); ++row) {
      const auto next = static_cast<Symbol>(symbols.size());
      joint[row] = symbols.try_emplace({joint[row], other[row]}, next).first->second;
      if (symbols.size() <= kMaxSymbols) continue;
      return InvalidArgument("{} columns together have more than {} symbols; use fewer bins",
                             series.size(), kMaxSymbols);
    }
  }
  return joint;
}

}  // namespace reveza::phi
