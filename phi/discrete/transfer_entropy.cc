#include "phi/discrete/transfer_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "phi/arithmetic/philox.h"

namespace reveza::phi {
namespace {

// Minimum number of samples.
constexpr std::int64_t kMinSamples = 10;

struct Entropy {
  double nats = 0;
  double correction = 0;
  std::int64_t states = 0;
};

// Returns the entropy of sorted keys.
Entropy EntropyOf(std::vector<std::uint64_t>& keys) {
  std::ranges::sort(keys);
  Entropy entropy;
  const auto samples = static_cast<double>(keys.size());
  for (std::size_t begin = 0; begin < keys.size();) {
    std::size_t end = begin;
    while (end < keys.size() && keys[end] == keys[begin]) ++end;
    const double share = static_cast<double>(end - begin) / samples;
    entropy.nats -= share * std::log(share);
    ++entropy.states;
    begin = end;
  }
  entropy.correction = static_cast<double>(entropy.states - 1) / (2 * samples);
  return entropy;
}

int SymbolsOf(std::span<const int> series) {
  return series.empty() ? 0 : *std::ranges::max_element(series) + 1;
}

class Counter {
 public:
  Counter(std::span<const int> target, const TransferOptions& options, int symbols)
      : target_(target), options_(options), symbols_(static_cast<std::uint64_t>(symbols)) {
    first_ = std::max(options.target_history, options.delay + options.source_history - 1);
  }

  std::int64_t samples() const { return static_cast<std::int64_t>(target_.size()) - first_; }

  TransferEntropy Count(std::span<const int> source, std::int64_t moved) {
    std::vector<std::uint64_t> own, with_own, with_both, both;
    const auto length = static_cast<std::int64_t>(target_.size());
    for (std::int64_t t = first_; t < length; ++t) {
      std::uint64_t past = 0;
      for (int i = 1; i <= options_.target_history; ++i)
        past = past * symbols_ + At(target_, t - i);
      std::uint64_t pasts = past;
      for (int i = 0; i < options_.source_history; ++i) {
        const std::int64_t at = t - options_.delay - i + moved;
        pasts = pasts * symbols_ + At(source, at >= length ? at - length : at);
      }
      own.push_back(past);
      with_own.push_back(past * symbols_ + At(target_, t));
      both.push_back(pasts);
      with_both.push_back(pasts * symbols_ + At(target_, t));
    }
    const Entropy of_own = EntropyOf(own);
    const Entropy of_with_own = EntropyOf(with_own);
    const Entropy of_both = EntropyOf(both);
    const Entropy of_all = EntropyOf(with_both);
    TransferEntropy found;
    found.samples = samples();
    found.states = of_all.states;
    // Clamp rounding errors below 0.
    found.plug_in = std::max(0.0, of_with_own.nats - of_own.nats - of_all.nats + of_both.nats);
    found.corrected = found.plug_in + of_with_own.correction - of_own.correction -
                      of_all.correction + of_both.correction;
    return found;
  }

 private:
  static std::uint64_t At(std::span<const int> series, std::int64_t time) {
    return static_cast<std::uint64_t>(series[time]);
  }

  std::span<const int> target_;
  const TransferOptions& options_;
  std::uint64_t symbols_;
  std::int64_t first_;
};

// Returns the shift of surrogate `number`, large enough that the histories do not overlap.
std::int64_t SurrogateShift(std::uint64_t seed, int number, std::int64_t length,
                            std::int64_t min_shift) {
  const PhiloxBlock block =
      Philox({{static_cast<std::uint32_t>(number), 0, 0, 0}},
             {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}});
  const std::uint64_t drawn = std::uint64_t{block.word[1]} << 32 | block.word[0];
  const auto places = static_cast<std::uint64_t>(std::max<std::int64_t>(1, length - 2 * min_shift));
  return min_shift + static_cast<std::int64_t>(drawn % places);
}

// Returns the lower bound of each bin except the first; empty if all values are equal.
std::vector<double> BoundsOf(std::span<const double> values, int bins) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  std::vector<double> distinct = sorted;
  const auto repeated = std::ranges::unique(distinct);
  distinct.erase(repeated.begin(), repeated.end());
  // With few distinct values, each is a symbol.
  if (distinct.size() <= static_cast<std::size_t>(bins)) {
    distinct.erase(distinct.begin());
    return distinct;
  }
  std::vector<double> bounds;
  for (int bin = 1; bin < bins; ++bin) {
    const double bound =
        sorted[sorted.size() * static_cast<std::size_t>(bin) / static_cast<std::size_t>(bins)];
    // A bin that starts at the minimum would leave the first one empty.
    bounds.push_back(std::max(bound, distinct[1]));
  }
  const auto same = std::ranges::unique(bounds);
  bounds.erase(same.begin(), same.end());
  return bounds;
}

}  // namespace

Result<std::vector<int>> QuantileBins(std::span<const double> values, int bins) {
  if (bins < 2) {
    return InvalidArgument("{} bins are too few; use at least 2", bins);
  }
  if (values.size() < static_cast<std::size_t>(bins)) {
    return InvalidArgument("{} values are too few for {} bins", values.size(), bins);
  }
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (!std::isfinite(values[row])) {
      return InvalidArgument("row {} is not a finite number; remove or impute such rows", row + 1);
    }
  }
  const std::vector<double> bounds = BoundsOf(values, bins);
  if (bounds.empty()) {
    return InvalidArgument("all values are equal; a constant carries no information");
  }
  std::vector<int> binned;
  for (const double value : values) {
    binned.push_back(static_cast<int>(std::ranges::upper_bound(bounds, value) - bounds.begin()));
  }
  return binned;
}

Result<TransferEntropy> TransferEntropyOf(std::span<const int> source, std::span<const int> target,
                                          const TransferOptions& options) {
  if (options.target_history < 1 || options.source_history < 1 || options.delay < 1) {
    return InvalidArgument("histories and delay must be at least 1");
  }
  const int symbols = std::max({SymbolsOf(source), SymbolsOf(target), 2});
  const int places = 1 + options.target_history + options.source_history;
  if (places * std::log2(symbols) > 63) {
    return InvalidArgument(
        "{} symbols and histories of {} and {} have too many joint states; use fewer bins or "
        "shorter histories",
        symbols, options.target_history, options.source_history);
  }
  Counter counter(target, options, symbols);
  if (counter.samples() < kMinSamples || source.size() != target.size()) {
    return InvalidArgument(
        "{} rows are too few; these histories need at least {}", target.size(),
        static_cast<std::int64_t>(target.size()) - counter.samples() + kMinSamples);
  }
  TransferEntropy found = counter.Count(source, 0);
  if (options.surrogates == 0) return found;
  const auto length = static_cast<std::int64_t>(target.size());
  const std::int64_t min_shift =
      std::min<std::int64_t>(length / 4, options.delay + options.source_history);
  double sum = 0;
  int at_least = 0;
  for (int number = 0; number < options.surrogates; ++number) {
    const double value =
        counter.Count(source, SurrogateShift(options.seed, number, length, min_shift)).plug_in;
    sum += value;
    if (value >= found.plug_in) ++at_least;
  }
  found.null_mean = sum / options.surrogates;
  found.p = (1.0 + at_least) / (1.0 + options.surrogates);
  return found;
}

}  // namespace reveza::phi
