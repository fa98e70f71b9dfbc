// Quantile bins of values.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "phi/arithmetic/finite.h"
#include "phi/arithmetic/huge_pages.h"
#include "phi/discrete/rank_finder.h"
#include "phi/discrete/symbols.h"

namespace reveza::phi {
namespace {

// Rows of as many columns as are binned together, which stay in the first cache.
constexpr std::size_t kColumnBlock = 256;
// Sampled values that show whether a column has more distinct values than bins.
constexpr std::size_t kFewSampled = 64;

std::vector<std::size_t> RanksOf(std::size_t rows, int bins) {
  const auto count = static_cast<std::size_t>(bins);
  std::vector<std::size_t> ranks;
  for (std::size_t bin = 1; bin < count; ++bin) ranks.push_back(rows * bin / count);
  return ranks;
}

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
  const std::vector<std::size_t> ranks = RanksOf(values.size(), bins);
  std::vector<double> bounds;
  if (static_cast<std::size_t>(bins) > kFewBins) {
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    for (const std::size_t rank : ranks) bounds.push_back(sorted[rank]);
  } else {
    bounds = ValuesAtRanks(values, ranks);
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

// Appends the symbols of at most kRankBlock values.
void AddSymbols(std::span<const double> block, std::span<const double> bounds,
                std::vector<Symbol>& symbols) {
  std::array<std::int64_t, kRankBlock> codes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::array<std::int64_t, kFewBins> counts = {};
  CodeByBounds(block, bounds, codes.data(), counts.data());
  symbols.insert(symbols.end(), codes.begin(),
                 codes.begin() + static_cast<std::ptrdiff_t>(block.size()));
}

// Calls visit(column, block) for each column of each block of rows, which are copied to where they
// stay in the first cache.
template <typename Visit>
void ForEachBlock(const ValueColumns& columns, const Visit& visit) {
  constexpr std::size_t kTogether = ValueColumns::kMax;
  std::array<std::array<double, kColumnBlock>, kTogether> blocks;  // NOLINT
  for (std::size_t begin = 0; begin < columns.rows; begin += kColumnBlock) {
    const std::size_t rows = std::min(kColumnBlock, columns.rows - begin);
    const double* row = columns.first + begin * columns.stride;
    if (columns.count == kTogether) {
      for (std::size_t i = 0; i < rows; ++i, row += columns.stride) {
        for (std::size_t column = 0; column < kTogether; ++column) blocks[column][i] = row[column];
      }
    } else {
      for (std::size_t i = 0; i < rows; ++i, row += columns.stride) {
        for (std::size_t column = 0; column < columns.count; ++column) {
          blocks[column][i] = row[column];
        }
      }
    }
    for (std::size_t column = 0; column < columns.count; ++column) {
      visit(column, std::span<const double>(blocks[column].data(), rows));
    }
  }
}

// What is known of a long column of more distinct values than bins.
struct LongColumn {
  std::optional<RankFinder> finder = {};
  std::vector<double> bounds = {};  // of the bins
  std::vector<Symbol> symbols = {};
};

// Begins to find the quantiles of a column. Without a finder, it needs more than two passes.
LongColumn BeginColumn(const ValueColumns& columns, std::size_t column, int bins) {
  const auto at = [&](std::size_t row) { return columns.first[row * columns.stride + column]; };
  const std::size_t count = SampleOf(columns.rows);
  std::vector<double> sample;
  for (std::size_t i = 0; i < count; ++i) sample.push_back(at(i * (columns.rows / count)));
  if (!AllFinite(sample)) return {};
  const std::set<double> distinct(sample.begin(),
                                  sample.begin() + static_cast<std::ptrdiff_t>(kFewSampled));
  if (distinct.size() <= static_cast<std::size_t>(bins)) return {};
  LongColumn begun;
  begun.finder.emplace(std::move(sample), columns.rows, RanksOf(columns.rows, bins));
  return begun;
}

// Finds the bounds of the bins after the first pass, unless that needs more.
void FindBounds(const ValueColumns& columns, std::size_t column, LongColumn& of) {
  if (!of.finder) return;
  auto bounds = of.finder->Values();
  of.finder.reset();
  if (!bounds) return;
  bool lower = false;
  for (std::size_t row = 0; row < columns.rows && !lower; ++row) {
    lower = columns.first[row * columns.stride + column] < bounds->front();
  }
  if (!lower) return;
  const auto same = std::ranges::unique(*bounds);
  bounds->erase(same.begin(), same.end());
  of.bounds = *std::move(bounds);
  ReserveOnHugePages(of.symbols, columns.rows);
}

}  // namespace

std::vector<Result<std::vector<Symbol>>> QuantileBins(const ValueColumns& columns, int bins) {
  std::vector<LongColumn> all(columns.count);
  const bool fast =
      columns.rows >= kFewValues && bins >= 2 && static_cast<std::size_t>(bins) <= kFewBins;
  for (std::size_t column = 0; fast && column < columns.count; ++column) {
    all[column] = BeginColumn(columns, column, bins);
  }
  if (fast) {
    ForEachBlock(columns, [&](std::size_t column, std::span<const double> block) {
      auto& finder = all[column].finder;
      if (!finder) return;
      if (AllFinite(block)) {
        finder->Add(block);
      } else {
        finder.reset();
      }
    });
    for (std::size_t column = 0; column < columns.count; ++column) {
      FindBounds(columns, column, all[column]);
    }
    ForEachBlock(columns, [&](std::size_t column, std::span<const double> block) {
      if (!all[column].bounds.empty()) AddSymbols(block, all[column].bounds, all[column].symbols);
    });
  }
  std::vector<Result<std::vector<Symbol>>> found;
  for (std::size_t column = 0; column < columns.count; ++column) {
    if (!all[column].bounds.empty()) {
      found.emplace_back(std::move(all[column].symbols));
      continue;
    }
    std::vector<double> values(columns.rows);
    for (std::size_t row = 0; row < columns.rows; ++row) {
      values[row] = columns.first[row * columns.stride + column];
    }
    found.push_back(QuantileBins(values, bins));
  }
  return found;
}

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
  if (!AllFinite(values)) {
    const auto missing =
        std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
    return InvalidArgument("row {} is not a finite number; remove or impute such rows",
                           missing - values.begin());
  }
  const std::vector<double> bounds = BoundsOf(values, bins);
  if (bounds.empty()) {
    return InvalidArgument("all values are equal; a constant carries no information");
  }
  std::vector<Symbol> binned;
  binned.reserve(values.size());
  if (bounds.size() >= kFewBins) {
    for (const double value : values) {
      binned.push_back(
          static_cast<Symbol>(std::ranges::upper_bound(bounds, value) - bounds.begin()));
    }
    return binned;
  }
  for (std::size_t begin = 0; begin < values.size(); begin += kRankBlock) {
    AddSymbols(values.subspan(begin, std::min(kRankBlock, values.size() - begin)), bounds, binned);
  }
  return binned;
}

}  // namespace reveza::phi
