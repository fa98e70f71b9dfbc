#include "phi/discrete/transfer_entropy.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "phi/arithmetic/philox.h"

namespace reveza::phi {
namespace {

// Minimum number of samples.
constexpr std::int64_t kMinSamples = 10;
// Up to this number of bins, each bound is found and compared by itself.
constexpr std::size_t kFewBins = 16;

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

// Returns the entropy of counts, of which empty ones are no states.
Entropy EntropyOf(const std::vector<std::uint32_t>& counts, double samples) {
  Entropy entropy;
  for (const std::uint32_t count : counts) {
    if (count == 0) continue;
    const double share = count / samples;
    entropy.nats -= share * std::log(share);
    ++entropy.states;
  }
  entropy.correction = static_cast<double>(entropy.states - 1) / (2 * samples);
  return entropy;
}

// At least 2, so that a constant has a code of its own.
std::uint64_t SymbolsOf(std::span<const int> series) {
  const int most = series.empty() ? 0 : *std::ranges::max_element(series);
  return static_cast<std::uint64_t>(std::max(most, 1)) + 1;
}

// Counts the joint states of two series: in a table if it is small, else by sorting.
class Counter {
 public:
  // Tables above this number of cells would be slower than the processor's caches.
  static constexpr double kMaxCells = 1 << 20;
  static constexpr double kMaxBits = 63;

  Counter(std::span<const int> source, std::span<const int> target, std::span<const int> given,
          const TransferOptions& options)
      : target_(target),
        options_(options),
        symbols_(SymbolsOf(target)),
        source_symbols_(SymbolsOf(source)),
        given_symbols_(given.empty() ? 1 : SymbolsOf(given)) {
    first_ = std::max(options.target_history, options.delay + options.source_history - 1);
    if (samples() < 1 || source.size() != target.size() || Bits() > kMaxBits) return;
    if (!given.empty() && given.size() != target.size()) return;
    source_states_ = Power(source_symbols_, options.source_history);
    own_states_ =
        Power(symbols_, options.target_history) * Power(given_symbols_, options.source_history);
    dense_ = std::exp2(Bits()) <= std::min(kMaxCells, 16.0 * static_cast<double>(target.size()));
    if (options.target_history > 1) own_ = Pasts(target, symbols_, options.target_history);
    if (options.source_history > 1) {
      source_codes_ = Pasts(source, source_symbols_, options.source_history);
    }
    source_ = source;
    if (!given.empty()) AddGiven(given);
  }

  // Returns the bits of a joint state.
  double Bits() const {
    return std::log2(static_cast<double>(symbols_)) * (1 + options_.target_history) +
           (std::log2(static_cast<double>(source_symbols_)) +
            std::log2(static_cast<double>(given_symbols_))) *
               options_.source_history;
  }

  std::int64_t samples() const { return static_cast<std::int64_t>(target_.size()) - first_; }

  // Counts with the source moved forward by this many steps, circularly.
  TransferEntropy Count(std::int64_t moved) const {
    Entropy of_own, of_with_own, of_both, of_all;
    if (dense_) {
      const std::vector<std::uint32_t> all = Table(moved);
      std::vector<std::uint32_t> with_own(all.size() / source_states_);
      std::vector<std::uint32_t> both(all.size() / symbols_);
      std::vector<std::uint32_t> own(both.size() / source_states_);
      for (std::size_t cell = 0; cell < all.size(); ++cell) {
        const std::size_t at_source = cell % source_states_;
        const std::size_t at_own = cell / source_states_;
        with_own[at_own] += all[cell];
        both[at_own / symbols_ * source_states_ + at_source] += all[cell];
        own[at_own / symbols_] += all[cell];
      }
      const auto total = static_cast<double>(samples());
      of_own = EntropyOf(own, total);
      of_with_own = EntropyOf(with_own, total);
      of_both = EntropyOf(both, total);
      of_all = EntropyOf(all, total);
    } else {
      std::vector<std::uint64_t> own, with_own, both, all;
      ForEachRow(moved, [&](std::uint64_t past, std::uint64_t present, std::uint64_t source) {
        own.push_back(past);
        with_own.push_back(past * symbols_ + present);
        both.push_back(past * source_states_ + source);
        all.push_back((past * symbols_ + present) * source_states_ + source);
      });
      of_own = EntropyOf(own);
      of_with_own = EntropyOf(with_own);
      of_both = EntropyOf(both);
      of_all = EntropyOf(all);
    }
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
  static std::uint64_t Power(std::uint64_t base, int exponent) {
    std::uint64_t power = 1;
    for (int i = 0; i < exponent; ++i) power *= base;
    return power;
  }

  // Returns the code of each row's value and its predecessors, `history` in all, circularly.
  static std::vector<std::uint64_t> Pasts(std::span<const int> series, std::uint64_t symbols,
                                          int history) {
    const auto length = static_cast<std::int64_t>(series.size());
    const std::uint64_t oldest = Power(symbols, history - 1);
    std::vector<std::uint64_t> codes;
    codes.reserve(series.size());
    std::uint64_t code = 0;
    for (std::int64_t t = 1 - history; t < length; ++t) {
      const auto value = static_cast<std::uint64_t>(series[t < 0 ? t + length : t]);
      // Drop the oldest value and append this one.
      code = code % oldest * symbols + value;
      if (t >= 0) codes.push_back(code);
    }
    return codes;
  }

  // Extends the target's own past by that of the given series, which ends `delay` steps before.
  void AddGiven(std::span<const int> given) {
    const auto pasts = Pasts(given, given_symbols_, options_.source_history);
    const std::uint64_t states = Power(given_symbols_, options_.source_history);
    if (own_.empty()) own_ = Pasts(target_, symbols_, 1);
    for (std::int64_t t = first_; t < static_cast<std::int64_t>(target_.size()); ++t) {
      own_[t - 1] = own_[t - 1] * states + pasts[t - options_.delay];
    }
  }

  // Calls visit(own past, present, past of the source) for each sample.
  template <typename Visit>
  void ForEachRow(std::int64_t moved, const Visit& visit) const {
    const auto through = [&](const auto& own, const auto& source) {
      Run(moved, [&](std::int64_t t, std::int64_t at) {
        visit(static_cast<std::uint64_t>(own[t - 1]), static_cast<std::uint64_t>(target_[t]),
              static_cast<std::uint64_t>(source[at]));
      });
    };
    if (own_.empty() && source_codes_.empty()) {
      through(target_, source_);
    } else if (own_.empty()) {
      through(target_, source_codes_);
    } else if (source_codes_.empty()) {
      through(own_, source_);
    } else {
      through(own_, source_codes_);
    }
  }

  // Calls row(t, t - delay + moved, around the end) for each sample.
  template <typename Row>
  void Run(std::int64_t moved, const Row& row) const {
    const auto length = static_cast<std::int64_t>(target_.size());
    const std::int64_t back = options_.delay - moved;
    const std::int64_t wrap = std::clamp(length + back, first_, length);
    for (std::int64_t t = first_; t < wrap; ++t) row(t, t - back);
    for (std::int64_t t = wrap; t < length; ++t) row(t, t - back - length);
  }

  std::vector<std::uint32_t> Table(std::int64_t moved) const {
    std::vector<std::uint32_t> counts(own_states_ * symbols_ * source_states_);
    ForEachRow(moved, [&](std::uint64_t past, std::uint64_t present, std::uint64_t source) {
      ++counts[(past * symbols_ + present) * source_states_ + source];
    });
    return counts;
  }

  std::span<const int> target_;
  const TransferOptions& options_;
  std::uint64_t symbols_;  // of the target
  std::uint64_t source_symbols_, given_symbols_;
  std::uint64_t source_states_ = 1;
  std::uint64_t own_states_ = 1;  // of the target's past, with that of the given series
  std::int64_t first_;
  bool dense_ = false;
  std::span<const int> source_;
  // Codes of the pasts that end at each row, for histories of more than one value.
  std::vector<std::uint64_t> own_, source_codes_;
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

// Returns the value of this rank: from those between two values of a sample, which most probably
// enclose it, or else from all.
double ValueOfRank(std::span<const double> values, std::size_t rank) {
  constexpr std::size_t kSample = 4096;
  constexpr std::size_t kMargin = 128;  // ranks of the sample: four standard deviations
  std::vector<double> found;
  std::size_t below = 0;
  if (values.size() >= 16 * kSample) {
    std::vector<double> sample;
    const std::size_t step = values.size() / kSample;
    for (std::size_t i = 0; i < kSample; ++i) sample.push_back(values[i * step]);
    std::ranges::sort(sample);
    const std::size_t middle = rank * kSample / values.size();
    const double low = sample[middle - std::min(middle, kMargin)];
    const double high = sample[std::min(middle + kMargin, kSample - 1)];
    found.reserve(values.size() * 3 * kMargin / kSample);
    for (const double value : values) {
      below += value < low ? 1 : 0;
      if (value >= low && value <= high) found.push_back(value);
    }
  }
  if (rank < below || rank - below >= found.size()) {
    found.assign(values.begin(), values.end());
    below = 0;
  }
  const auto place = found.begin() + static_cast<std::ptrdiff_t>(rank - below);
  std::nth_element(found.begin(), place, found.end());
  return *place;
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
  std::vector<double> sorted;
  if (count > kFewBins) {
    sorted.assign(values.begin(), values.end());
    std::ranges::sort(sorted);
  }
  std::vector<double> bounds;
  for (std::size_t bin = 1; bin < count; ++bin) {
    const std::size_t rank = values.size() * bin / count;
    bounds.push_back(sorted.empty() ? ValueOfRank(values, rank) : sorted[rank]);
  }
  // A bin that starts at the minimum would leave the first one empty.
  const double lowest = std::ranges::min(values);
  if (bounds.front() == lowest) {
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
  std::vector<int> binned(values.size(), 0);
  if (bounds.size() >= kFewBins) {
    std::ranges::transform(values, binned.begin(), [&](double value) {
      return static_cast<int>(std::ranges::upper_bound(bounds, value) - bounds.begin());
    });
    return binned;
  }
  // In blocks that stay in the cache, and without branches, which random values would mispredict.
  constexpr std::size_t kBlock = 1024;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, values.size());
    for (const double bound : bounds) {
      for (std::size_t i = begin; i < end; ++i) binned[i] += values[i] >= bound ? 1 : 0;
    }
  }
  return binned;
}

std::vector<int> JointSymbols(std::span<const std::vector<int>> series) {
  std::vector<int> joint = series.front();
  for (const std::vector<int>& other : series.subspan(1)) {
    std::map<std::pair<int, int>, int> symbols;
    for (std::size_t row = 0; row < joint.size(); ++row) {
      const auto next = static_cast<int>(symbols.size());
      joint[row] = symbols.try_emplace({joint[row], other[row]}, next).first->second;
    }
  }
  return joint;
}

Result<TransferEntropy> TransferEntropyOf(std::span<const int> source, std::span<const int> target,
                                          const TransferOptions& options) {
  return TransferEntropyOf(source, target, {}, options);
}

Result<TransferEntropy> TransferEntropyOf(std::span<const int> source, std::span<const int> target,
                                          std::span<const int> given,
                                          const TransferOptions& options) {
  if (options.target_history < 1 || options.source_history < 1 || options.delay < 1) {
    return InvalidArgument("histories and delay must be at least 1");
  }
  const Counter counter(source, target, given, options);
  if (counter.Bits() > Counter::kMaxBits) {
    return InvalidArgument(
        "{} symbols and histories of {} and {}{} have too many joint states; use fewer bins or "
        "shorter histories",
        SymbolsOf(target), options.target_history, options.source_history,
        given.empty() ? "" : ", with others given,");
  }
  if (counter.samples() < kMinSamples || source.size() != target.size() ||
      (!given.empty() && given.size() != target.size())) {
    return InvalidArgument(
        "{} rows are too few; these histories need at least {}", target.size(),
        static_cast<std::int64_t>(target.size()) - counter.samples() + kMinSamples);
  }
  TransferEntropy found = counter.Count(0);
  if (options.surrogates == 0) return found;
  const auto length = static_cast<std::int64_t>(target.size());
  const std::int64_t min_shift =
      std::min<std::int64_t>(length / 4, options.delay + options.source_history);
  double sum = 0;
  int at_least = 0;
  for (int number = 0; number < options.surrogates; ++number) {
    const double value =
        counter.Count(SurrogateShift(options.seed, number, length, min_shift)).plug_in;
    sum += value;
    if (value >= found.plug_in) ++at_least;
  }
  found.null_mean = sum / options.surrogates;
  found.p = (1.0 + at_least) / (1.0 + options.surrogates);
  return found;
}

}  // namespace reveza::phi
