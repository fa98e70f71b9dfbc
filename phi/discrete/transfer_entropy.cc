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

// Counts the joint states of two series: by bit sets if they are few, in a table if it is small,
// else by sorting.
class Counter {
 public:
  // Tables above this number of cells would be slower than the processor's caches.
  static constexpr double kMaxCells = 1 << 20;
  static constexpr double kMaxBits = 63;

  Counter(const SymbolSeries& source, const SymbolSeries& target, const SymbolSeries& given,
          const TransferOptions& options)
      : source_(source),
        target_(target),
        given_(given),
        options_(options),
        symbols_(target.states()),
        source_symbols_(source.states()),
        given_symbols_(given.size() == 0 ? 1 : given.states()) {
    first_ = std::max(options.target_history, options.delay + options.source_history - 1);
    if (samples() < 1 || source.size() != target.size() || Bits() > kMaxBits) return;
    if (given.size() != 0 && given.size() != target.size()) return;
    planes_ = PlanesOfState() <= kMaxPlanes;
    if (planes_) {
      // Each bit of a state is one of a symbol.
      symbols_ = std::uint64_t{1} << target.bits();
      source_symbols_ = std::uint64_t{1} << source.bits();
      if (given.size() != 0) given_symbols_ = std::uint64_t{1} << given.bits();
    }
    source_states_ = Power(source_symbols_, options.source_history);
    own_states_ =
        Power(symbols_, options.target_history) * Power(given_symbols_, options.source_history);
    if (planes_) return;
    dense_ = std::exp2(Bits()) <= std::min(kMaxCells, 16.0 * static_cast<double>(target.size()));
    own_ = Pasts(target.symbols(), symbols_, options.target_history);
    source_codes_ = Pasts(source.symbols(), source_symbols_, options.source_history);
    if (given.size() != 0) AddGiven();
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
    if (planes_ || dense_) {
      const std::vector<std::uint32_t> all = planes_ ? CountPlanes(moved) : Table(moved);
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
  void AddGiven() {
    const auto pasts = Pasts(given_.symbols(), given_symbols_, options_.source_history);
    const std::uint64_t states = Power(given_symbols_, options_.source_history);
    for (std::int64_t t = first_; t < static_cast<std::int64_t>(target_.size()); ++t) {
      own_[t - 1] = own_[t - 1] * states + pasts[t - options_.delay];
    }
  }

  // Calls visit(own past, present, past of the source) for each sample.
  template <typename Visit>
  void ForEachRow(std::int64_t moved, const Visit& visit) const {
    const std::span<const Symbol> target = target_.symbols();
    Run(moved, [&](std::int64_t t, std::int64_t at) {
      visit(own_[t - 1], std::uint64_t{target[t]}, source_codes_[at]);
    });
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

  std::int64_t PlanesOfState() const {
    const int given = given_.size() == 0 ? 0 : given_.bits();
    return std::int64_t{target_.bits()} * (1 + options_.target_history) +
           std::int64_t{source_.bits() + given} * options_.source_history;
  }

  // Counts as Table() does: states have the source's past in their lowest bits, then the target's
  // present, and its past in the highest.
  std::vector<std::uint32_t> CountPlanes(std::int64_t moved) const {
    std::vector<BitPlane> planes;
    const auto length = static_cast<std::int64_t>(target_.size());
    const auto add = [&](const SymbolSeries& series, std::int64_t first) {
      const auto row = static_cast<std::size_t>((first % length + length) % length);
      for (int bit = 0; bit < series.bits(); ++bit) planes.push_back(series.Plane(bit, row));
    };
    const auto add_past = [&](const SymbolSeries& series, std::int64_t latest, int history) {
      for (int i = 0; i < history; ++i) add(series, latest - i);
    };
    const std::int64_t sent = first_ - options_.delay;
    add_past(source_, sent + moved, options_.source_history);
    add(target_, first_);
    if (given_.size() != 0) add_past(given_, sent, options_.source_history);
    add_past(target_, first_ - 1, options_.target_history);
    return CountStates(planes, static_cast<std::size_t>(samples()));
  }

  const SymbolSeries& source_;
  const SymbolSeries& target_;
  const SymbolSeries& given_;
  const TransferOptions& options_;
  std::uint64_t symbols_;  // of the target
  std::uint64_t source_symbols_, given_symbols_;
  std::uint64_t source_states_ = 1;
  std::uint64_t own_states_ = 1;  // of the target's past, with that of the given series
  std::int64_t first_;
  bool planes_ = false;
  bool dense_ = false;
  // Codes of the pasts that end at each row, unless states are counted by planes.
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

}  // namespace

Result<TransferEntropy> TransferEntropyOf(const SymbolSeries& source, const SymbolSeries& target,
                                          const TransferOptions& options) {
  return TransferEntropyOf(source, target, {}, options);
}

Result<TransferEntropy> TransferEntropyOf(const SymbolSeries& source, const SymbolSeries& target,
                                          const SymbolSeries& given,
                                          const TransferOptions& options) {
  if (options.target_history < 1 || options.source_history < 1 || options.delay < 1) {
    return InvalidArgument("histories and delay must be at least 1");
  }
  const Counter counter(source, target, given, options);
  if (counter.Bits() > Counter::kMaxBits) {
    return InvalidArgument(
        "{} symbols and histories of {} and {}{} have too many joint states; use fewer bins or "
        "shorter histories",
        target.states(), options.target_history, options.source_history,
        given.size() == 0 ? "" : ", with others given,");
  }
  if (counter.samples() < kMinSamples || source.size() != target.size() ||
      (given.size() != 0 && given.size() != target.size())) {
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
