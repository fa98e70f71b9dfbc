#include "phi/discrete/transfer_entropy.h"

#include <algorithm>
#include <cmath>
#include <utility>

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
std::uint64_t SymbolsOf(std::span<const Symbol> series) {
  Symbol most = 1;
  for (const Symbol symbol : series) most = std::max(most, symbol);
  return std::uint64_t{most} + 1;
}

// Counts the joint states of two series: in a table if it is small, else by sorting.
class Counter {
 public:
  // Tables above this number of cells would be slower than the processor's caches.
  static constexpr double kMaxCells = 1 << 20;
  static constexpr double kMaxBits = 63;
  // A table of their pairs stays in the first cache.
  static constexpr std::size_t kMaxPaired = 64;

  Counter(std::span<const Symbol> source, std::span<const Symbol> target,
          std::span<const Symbol> given, const TransferOptions& options)
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
    if (own_states_ * symbols_ * source_states_ <= kMaxPaired) Narrow();
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
  static std::vector<std::uint64_t> Pasts(std::span<const Symbol> series, std::uint64_t symbols,
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
  void AddGiven(std::span<const Symbol> given) {
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

  // Makes codes of one byte for Table(), where there are few joint states.
  void Narrow() {
    own_bytes_.resize(static_cast<std::size_t>(samples()));
    const Symbol* const presents = target_.data() + first_;
    if (own_.empty()) {
      Join(presents - 1, presents);
    } else {
      Join(own_.data() + first_ - 1, presents);
    }
    const auto narrow = [](auto code) { return static_cast<std::uint8_t>(code); };
    source_bytes_.resize(target_.size());
    if (source_codes_.empty()) {
      std::ranges::transform(source_, source_bytes_.begin(), narrow);
    } else {
      std::ranges::transform(source_codes_, source_bytes_.begin(), narrow);
    }
  }

  template <typename Code>
  void Join(const Code* pasts, const Symbol* presents) {
    // Held here, because a byte that is written could be part of anything.
    std::uint8_t* const bytes = own_bytes_.data();
    const std::size_t count = own_bytes_.size();
    const auto symbols = static_cast<std::uint16_t>(symbols_);
    const auto states = static_cast<std::uint16_t>(source_states_);
    for (std::size_t i = 0; i < count; ++i) {
      const auto joined =
          static_cast<std::uint16_t>(static_cast<std::uint16_t>(pasts[i]) * symbols + presents[i]);
      bytes[i] = static_cast<std::uint8_t>(static_cast<std::uint16_t>(joined * states));
    }
  }

  std::vector<std::uint32_t> Table(std::int64_t moved) const {
    std::vector<std::uint32_t> counts(own_states_ * symbols_ * source_states_);
    if (own_bytes_.empty()) {
      ForEachRow(moved, [&](std::uint64_t past, std::uint64_t present, std::uint64_t source) {
        ++counts[(past * symbols_ + present) * source_states_ + source];
      });
      return counts;
    }
    std::vector<std::uint8_t> codes(own_bytes_.size());
    Run(moved, [&](std::int64_t t, std::int64_t at) {
      const auto i = static_cast<std::size_t>(t - first_);
      codes[i] =
          static_cast<std::uint8_t>(own_bytes_[i] + source_bytes_[static_cast<std::size_t>(at)]);
    });
    // Two rows at a time: half as many counts, which moreover seldom wait for each other.
    std::vector<std::uint32_t> pairs(kMaxPaired * kMaxPaired);
    for (std::size_t i = 1; i < codes.size(); i += 2) {
      ++pairs[codes[i - 1] * kMaxPaired + codes[i]];
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i] == 0) continue;
      counts[i / kMaxPaired] += pairs[i];
      counts[i % kMaxPaired] += pairs[i];
    }
    if (codes.size() % 2 != 0) ++counts[codes.back()];
    return counts;
  }

  std::span<const Symbol> target_;
  const TransferOptions& options_;
  std::uint64_t symbols_;  // of the target
  std::uint64_t source_symbols_, given_symbols_;
  std::uint64_t source_states_ = 1;
  std::uint64_t own_states_ = 1;  // of the target's past, with that of the given series
  std::int64_t first_;
  bool dense_ = false;
  std::span<const Symbol> source_;
  // Codes of the pasts that end at each row, for histories of more than one value.
  std::vector<std::uint64_t> own_, source_codes_;
  std::vector<std::uint8_t> own_bytes_, source_bytes_;
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

}  // namespace

Result<TransferEntropy> TransferEntropyOf(std::span<const Symbol> source,
                                          std::span<const Symbol> target,
                                          const TransferOptions& options) {
  return TransferEntropyOf(source, target, {}, options);
}

Result<TransferEntropy> TransferEntropyOf(std::span<const Symbol> source,
                                          std::span<const Symbol> target,
                                          std::span<const Symbol> given,
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
