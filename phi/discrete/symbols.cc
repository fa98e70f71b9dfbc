#include "phi/discrete/symbols.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "phi/arithmetic/finite.h"

namespace reveza::phi {
namespace {

// Up to this number of bins, each bound is found and compared by itself.
constexpr std::size_t kFewBins = 16;
// Two of a segment of each of them.
constexpr std::size_t kMaxBounds = 2 * kFewBins;
// Values that stay in the first cache between passes.
constexpr std::size_t kBlock = 1024;

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
#endif

void Code(std::span<const double> values, std::span<const double> bounds, std::int64_t* codes,
          std::int64_t* counts) {
#ifdef __x86_64__
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

// Chooses the segments by a sample of the values.
Segments SegmentsOf(std::span<const double> values, std::span<const std::size_t> ranks) {
  constexpr std::size_t kMaxSample = 4096;
  const std::size_t count = std::min(kMaxSample, values.size() / 32);
  std::vector<double> sample;
  for (std::size_t i = 0; i < count; ++i) sample.push_back(values[i * (values.size() / count)]);
  std::ranges::sort(sample);
  // Four standard deviations of the rank in the sample.
  const auto margin = static_cast<std::size_t>(2 * std::sqrt(static_cast<double>(count)));
  Segments segments;
  std::vector<std::pair<double, double>> ranges;
  for (const std::size_t rank : ranks) {
    const std::size_t middle = rank * count / values.size();
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

// Returns the values at these ranks. Orders only those of segments that hold one.
std::vector<double> ValuesAtRanks(std::span<const double> values,
                                  std::span<const std::size_t> ranks) {
  constexpr std::size_t kFewValues = 4096;
  std::vector<double> found;
  if (values.size() < kFewValues) {
    for (const std::size_t rank : ranks) {
      found.push_back(ValueAtRank({values.begin(), values.end()}, rank));
    }
    return found;
  }
  const auto [bounds, wanted] = SegmentsOf(values, ranks);
  std::vector<std::int64_t> at_least(bounds.size(), 0);
  std::vector<double> kept;
  std::array<std::int64_t, kBlock> codes = {};
  std::array<double, kBlock> inside = {};
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    Code(block, bounds, codes.data(), at_least.data());
    const std::size_t count = CopyWhere(
        block, [&](std::size_t i) { return wanted[static_cast<std::size_t>(codes[i])]; },
        inside.data());
    kept.insert(kept.end(), inside.data(), inside.data() + count);
  }
  for (const std::size_t rank : ranks) {
    // The segment that begins at or before the rank.
    std::size_t segment = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const std::size_t begin = values.size() - static_cast<std::size_t>(at_least[i]);
      if (begin <= rank) segment = i + 1, first = begin;
    }
    if (wanted[segment] == 0) {
      found.push_back(ValueAtRank({values.begin(), values.end()}, rank));
      continue;
    }
    std::vector<double> within(kept.size());
    const double low = bounds[segment - 1];
    const double high = bounds[segment];
    const auto holds = [&](std::size_t i) {
      return static_cast<int>(kept[i] >= low) & static_cast<int>(kept[i] < high);
    };
    within.resize(CopyWhere(kept, holds, within.data()));
    const std::size_t left = rank - first;
    found.push_back(within.size() < values.size() / 2 ? ValuesAtRanks(within, {&left, 1}).front()
                                                      : ValueAtRank(std::move(within), left));
  }
  return found;
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
  const auto count = static_cast<std::size_t>(bins);
  std::vector<std::size_t> ranks;
  for (std::size_t bin = 1; bin < count; ++bin) ranks.push_back(values.size() * bin / count);
  std::vector<double> bounds;
  if (count > kFewBins) {
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

}  // namespace

SymbolSeries::SymbolSeries(std::vector<Symbol> symbols) : symbols_(std::move(symbols)) {
  Symbol highest = 1;
  for (const Symbol symbol : symbols_) highest = std::max(highest, symbol);
  states_ = std::uint64_t{highest} + 1;
  bits_ = std::bit_width(highest);
  if (bits_ <= kMaxPlanes) MakePlanes();
}

void SymbolSeries::MakePlanes() {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::size_t kRows = 64;
  const std::size_t rows = symbols_.size();
  words_ = 2 * rows / kRows + 3;
  planes_.resize(static_cast<std::size_t>(bits_) * words_);
  for (std::size_t row = 0; row < rows; row += kRows) {
    std::array<std::uint8_t, kRows> low = {};
    const std::size_t count = std::min(kRows, rows - row);
    for (std::size_t i = 0; i < count; ++i) low[i] = static_cast<std::uint8_t>(symbols_[row + i]);
    const auto eights = std::bit_cast<std::array<std::uint64_t, kRows / 8>>(low);
    for (int bit = 0; bit < bits_; ++bit) {
      std::uint64_t word = 0;
      for (std::size_t i = eights.size(); i-- > 0;) {
        // Multiplied, the lowest bits of all bytes meet in the highest byte.
        word = word << 8 | ((eights[i] >> bit) & 0x0101010101010101U) * 0x0102040810204080U >> 56;
      }
      planes_[static_cast<std::size_t>(bit) * words_ + row / kRows] = word;
    }
  }
  const std::size_t shift = rows % kRows;
  for (int bit = 0; bit < bits_; ++bit) {
    std::uint64_t* const plane = planes_.data() + static_cast<std::size_t>(bit) * words_;
    // What follows the last row within its word is the first rows again when its turn comes.
    for (std::size_t i = 0; i * kRows < rows; ++i) {
      plane[rows / kRows + i] |= plane[i] << shift;
      if (shift != 0) plane[rows / kRows + i + 1] |= plane[i] >> (kRows - shift);
    }
  }
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
  std::vector<Symbol> binned(values.size());
  if (bounds.size() >= kFewBins) {
    std::ranges::transform(values, binned.begin(), [&](double value) {
      return static_cast<Symbol>(std::ranges::upper_bound(bounds, value) - bounds.begin());
    });
    return binned;
  }
  std::array<std::int64_t, kBlock> codes = {};
  std::array<std::int64_t, kFewBins> counts = {};
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    Code(block, bounds, codes.data(), counts.data());
    for (std::size_t i = 0; i < block.size(); ++i) {
      binned[begin + i] = static_cast<Symbol>(codes[i]);
    }
  }
  return binned;
}

Result<std::vector<Symbol>> JointSymbols(std::span<const std::span<const Symbol>> series) {
  std::vector<Symbol> joint(series.front().begin(), series.front().end());
  for (const std::span<const Symbol> other : series.subspan(1)) {
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
