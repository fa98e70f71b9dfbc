// Quantile bins of values.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "phi/arithmetic/finite.h"
#include "phi/arithmetic/huge_pages.h"
#include "phi/discrete/symbols.h"

namespace reveza::phi {
namespace {

// Up to this number of bins, each bound is found and compared by itself.
constexpr std::size_t kFewBins = 16;
// Two of a segment of each of them.
constexpr std::size_t kMaxBounds = 2 * kFewBins;
// Values that stay in the first cache between passes.
constexpr std::size_t kBlock = 1024;
// Rows of as many columns as are binned together, which do too.
constexpr std::size_t kColumnBlock = 256;
// Sampled values that show whether a column has more distinct values than bins.
constexpr std::size_t kFewSampled = 64;

// Writes the number of bounds at or below each value to `codes`, and adds the number of values at
// or above each bound to its count. With vectors of `kBytes`, because the compiler does not find
// that a comparison is a mask.
template <int kBytes>
[[gnu::always_inline]] inline void CodeBlock(std::span<const double> values,
                                             std::span<const double> bounds, std::int64_t* codes,
                                             std::int64_t* counts) {
  // Not aliases, in which GCC ignores the attribute here.
  typedef double Values __attribute__((vector_size(kBytes)));       // NOLINT(modernize-use-using)
  typedef std::int64_t Codes __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using)
  constexpr std::size_t kLanes = kBytes / sizeof(double);
  Codes sums[kMaxBounds] = {};
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    Values some;
    std::memcpy(&some, values.data() + i, kBytes);
    Codes coded = {};
    for (std::size_t k = 0; k < bounds.size(); ++k) {
      const Codes above = some >= bounds[k];  // -1 where it is
      coded -= above;
      sums[k] -= above;
    }
    std::memcpy(codes + i, &coded, kBytes);
  }
  std::fill_n(codes + whole, values.size() - whole, 0);
  for (std::size_t k = 0; k < bounds.size(); ++k) {
    std::int64_t each[kLanes];
    std::memcpy(each, sums + k, kBytes);
    for (const std::int64_t lane : each) counts[k] += lane;
    for (std::size_t i = whole; i < values.size(); ++i) {
      const std::int64_t above = values[i] >= bounds[k] ? 1 : 0;
      codes[i] += above;
      counts[k] += above;
    }
  }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void CodeByFour(std::span<const double> values,
                                        std::span<const double> bounds, std::int64_t* codes,
                                        std::int64_t* counts) {
  CodeBlock<32>(values, bounds, codes, counts);
}
[[gnu::target("avx512f,avx512dq")]] void CodeByEight(std::span<const double> values,
                                                     std::span<const double> bounds,
                                                     std::int64_t* codes, std::int64_t* counts) {
  CodeBlock<64>(values, bounds, codes, counts);
}
#endif

void Code(std::span<const double> values, std::span<const double> bounds, std::int64_t* codes,
          std::int64_t* counts) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512dq") != 0) return CodeByEight(values, bounds, codes, counts);
  if (__builtin_cpu_supports("avx2") != 0) return CodeByFour(values, bounds, codes, counts);
#endif
  CodeBlock<16>(values, bounds, codes, counts);
}

// Copies the values for which `holds` to `to`, without branches, which random values would
// mispredict. Returns their number; `to` has room for all.
template <typename Holds>
std::size_t CopyWhere(std::span<const double> values, const Holds& holds, double* to) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    to[count] = values[i];
    count += static_cast<std::size_t>(holds(i));
  }
  return count;
}

// Segments of values that most probably hold values at some ranks.
struct Segments {
  std::vector<double> bounds = {};        // ascending: segment i is from bounds[i - 1] to bounds[i]
  std::vector<std::uint8_t> wanted = {};  // whether a segment is one of them
};

// A sample of this many values, at equal distances, or fewer of a short series.
constexpr std::size_t kMaxSample = 4096;
std::size_t SampleOf(std::size_t rows) { return std::min(kMaxSample, rows / 32); }

// Returns how far, in a sample, the rank of a value may be from where it is expected: four standard
// deviations.
std::size_t MarginOf(std::size_t sample) {
  return static_cast<std::size_t>(2 * std::sqrt(static_cast<double>(sample)));
}

// Chooses the segments of `rows` values by a sample of them.
Segments SegmentsOf(std::vector<double> sample, std::size_t rows,
                    std::span<const std::size_t> ranks) {
  const std::size_t count = sample.size();
  std::ranges::sort(sample);
  const std::size_t margin = MarginOf(count);
  Segments segments;
  std::vector<std::pair<double, double>> ranges;
  for (const std::size_t rank : ranks) {
    const std::size_t middle = rank * count / rows;
    const double low = sample[middle - std::min(middle, margin)];
    const double high = sample[std::min(middle + margin, count - 1)];
    ranges.emplace_back(low, std::nextafter(high, std::numeric_limits<double>::infinity()));
    segments.bounds.insert(segments.bounds.end(), {ranges.back().first, ranges.back().second});
  }
  std::ranges::sort(segments.bounds);
  const auto same = std::ranges::unique(segments.bounds);
  segments.bounds.erase(same.begin(), same.end());
  segments.wanted.assign(segments.bounds.size() + 1, 0);
  for (std::size_t i = 1; i < segments.bounds.size(); ++i) {
    segments.wanted[i] = std::ranges::any_of(ranges, [&](const auto& range) {
      return range.first <= segments.bounds[i - 1] && segments.bounds[i] <= range.second;
    });
  }
  return segments;
}

double ValueAtRank(std::vector<double> values, std::size_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

std::vector<double> ValuesAtRanks(std::span<const double> values,
                                  std::span<const std::size_t> ranks);

// Finds the values at some ranks of a long series, which comes in blocks. Keeps and orders only
// those of segments that hold one.
class RankFinder {
 public:
  RankFinder(std::vector<double> sample, std::size_t rows, std::vector<std::size_t> ranks)
      : rows_(rows), ranks_(std::move(ranks)) {
    const std::size_t margin = MarginOf(sample.size());
    const std::size_t per_sample = rows / sample.size();
    ReserveOnHugePages(kept_, std::min(rows, (2 * margin + 1) * ranks_.size() * per_sample));
    segments_ = SegmentsOf(std::move(sample), rows, ranks_);
    at_least_.assign(segments_.bounds.size(), 0);
  }

  // Adds at most kBlock values.
  void Add(std::span<const double> block) {
    std::array<std::int64_t, kBlock> codes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::array<double, kBlock> inside;       // NOLINT(cppcoreguidelines-pro-type-member-init)
    Code(block, segments_.bounds, codes.data(), at_least_.data());
    const std::size_t count = CopyWhere(
        block, [&](std::size_t i) { return segments_.wanted[static_cast<std::size_t>(codes[i])]; },
        inside.data());
    kept_.insert(kept_.end(), inside.data(), inside.data() + count);
  }

  // Returns the values; nothing if the sample misled.
  std::optional<std::vector<double>> Values() const {
    std::vector<double> found;
    for (const std::size_t rank : ranks_) {
      // The segment that begins at or before the rank.
      std::size_t segment = 0;
      std::size_t first = 0;
      for (std::size_t i = 0; i < at_least_.size(); ++i) {
        const std::size_t begin = rows_ - static_cast<std::size_t>(at_least_[i]);
        if (begin <= rank) segment = i + 1, first = begin;
      }
      if (segments_.wanted[segment] == 0) return std::nullopt;
      const auto room = std::make_unique_for_overwrite<double[]>(kept_.size());
      const double low = segments_.bounds[segment - 1];
      const double high = segments_.bounds[segment];
      const auto holds = [&](std::size_t i) {
        return static_cast<int>(kept_[i] >= low) & static_cast<int>(kept_[i] < high);
      };
      const std::span within(room.get(), CopyWhere(kept_, holds, room.get()));
      const std::size_t left = rank - first;
      found.push_back(within.size() < rows_ / 2
                          ? ValuesAtRanks(within, {&left, 1}).front()
                          : ValueAtRank({within.begin(), within.end()}, left));
    }
    return found;
  }

 private:
  std::size_t rows_;
  std::vector<std::size_t> ranks_;
  Segments segments_;
  std::vector<std::int64_t> at_least_;  // values at or above each bound
  std::vector<double> kept_;
};

// Fewer values are ordered as they are.
constexpr std::size_t kFewValues = 4096;

std::vector<double> ValuesAtRanks(std::span<const double> values,
                                  std::span<const std::size_t> ranks) {
  if (values.size() >= kFewValues) {
    const std::size_t count = SampleOf(values.size());
    std::vector<double> sample;
    for (std::size_t i = 0; i < count; ++i) sample.push_back(values[i * (values.size() / count)]);
    RankFinder finder(std::move(sample), values.size(), {ranks.begin(), ranks.end()});
    for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
      finder.Add(values.subspan(begin, std::min(kBlock, values.size() - begin)));
    }
    if (auto found = finder.Values()) return *std::move(found);
  }
  std::vector<double> found;
  for (const std::size_t rank : ranks) {
    found.push_back(ValueAtRank({values.begin(), values.end()}, rank));
  }
  return found;
}

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

// Appends the symbols of at most kBlock values.
void AddSymbols(std::span<const double> block, std::span<const double> bounds,
                std::vector<Symbol>& symbols) {
  std::array<std::int64_t, kBlock> codes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::array<std::int64_t, kFewBins> counts = {};
  Code(block, bounds, codes.data(), counts.data());
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
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    AddSymbols(values.subspan(begin, std::min(kBlock, values.size() - begin)), bounds, binned);
  }
  return binned;
}

}  // namespace reveza::phi
