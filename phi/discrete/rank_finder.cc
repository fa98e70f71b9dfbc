#include "phi/discrete/rank_finder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "phi/arithmetic/huge_pages.h"

namespace reveza::phi {
namespace {

// Two of a segment of each bin.
constexpr std::size_t kMaxBounds = 2 * kFewBins;
constexpr std::size_t kMaxSample = 4096;

// CodeByBounds with vectors of `kBytes`, because the compiler does not find that a comparison is a
// mask.
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

// Returns how far, in a sample, the rank of a value may be from where it is expected: four standard
// deviations.
std::size_t MarginOf(std::size_t sample) {
  return static_cast<std::size_t>(2 * std::sqrt(static_cast<double>(sample)));
}

double ValueAtRank(std::vector<double> values, std::size_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

void CodeByBounds(std::span<const double> values, std::span<const double> bounds,
                  std::int64_t* codes, std::int64_t* counts) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512dq") != 0) return CodeByEight(values, bounds, codes, counts);
  if (__builtin_cpu_supports("avx2") != 0) return CodeByFour(values, bounds, codes, counts);
#endif
  CodeBlock<16>(values, bounds, codes, counts);
}

std::size_t SampleOf(std::size_t rows) { return std::min(kMaxSample, rows / 32); }

RankFinder::Segments RankFinder::SegmentsOf(std::vector<double> sample, std::size_t rows,
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

RankFinder::RankFinder(std::vector<double> sample, std::size_t rows, std::vector<std::size_t> ranks)
    : rows_(rows), ranks_(std::move(ranks)) {
  const std::size_t margin = MarginOf(sample.size());
  const std::size_t per_sample = rows / sample.size();
  ReserveOnHugePages(kept_, std::min(rows, (2 * margin + 1) * ranks_.size() * per_sample));
  segments_ = SegmentsOf(std::move(sample), rows, ranks_);
  at_least_.assign(segments_.bounds.size(), 0);
}

void RankFinder::Add(std::span<const double> block) {
  std::array<std::int64_t, kRankBlock> codes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::array<double, kRankBlock> inside;       // NOLINT(cppcoreguidelines-pro-type-member-init)
  CodeByBounds(block, segments_.bounds, codes.data(), at_least_.data());
  const std::size_t count = CopyWhere(
      block, [&](std::size_t i) { return segments_.wanted[static_cast<std::size_t>(codes[i])]; },
      inside.data());
  kept_.insert(kept_.end(), inside.data(), inside.data() + count);
}

std::optional<std::vector<double>> RankFinder::Values() const {
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
    found.push_back(within.size() < rows_ / 2 ? ValuesAtRanks(within, {&left, 1}).front()
                                              : ValueAtRank({within.begin(), within.end()}, left));
  }
  return found;
}

std::vector<double> ValuesAtRanks(std::span<const double> values,
                                  std::span<const std::size_t> ranks) {
  if (values.size() >= kFewValues) {
    const std::size_t count = SampleOf(values.size());
    std::vector<double> sample;
    for (std::size_t i = 0; i < count; ++i) sample.push_back(values[i * (values.size() / count)]);
    RankFinder finder(std::move(sample), values.size(), {ranks.begin(), ranks.end()});
    for (std::size_t begin = 0; begin < values.size(); begin += kRankBlock) {
      finder.Add(values.subspan(begin, std::min(kRankBlock, values.size() - begin)));
    }
    if (auto found = finder.Values()) return *std::move(found);
  }
  std::vector<double> found;
  for (const std::size_t rank : ranks) {
    found.push_back(ValueAtRank({values.begin(), values.end()}, rank));
  }
  return found;
}

}  // namespace reveza::phi
