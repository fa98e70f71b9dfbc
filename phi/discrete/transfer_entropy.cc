#include "phi/discrete/transfer_entropy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

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

// Consecutive samples: from row `target` of the target on, with the source's past that ends at row
// `source`.
struct Samples {
  std::int64_t target = 0;
  std::int64_t source = 0;
  std::int64_t count = 0;
};

std::int64_t FirstRow(const TransferOptions& options) {
  return std::max(options.target_history, options.delay + options.source_history - 1);
}

// Adds the samples of a trial of `length` rows that begins at row `target`, with the source of one
// that begins at `source`, moved forward by `shift` rows, circularly. Where the source's past would
// span its seam there are none.
void AddSamples(std::int64_t target, std::int64_t source, std::int64_t length, std::int64_t shift,
                const TransferOptions& options, std::vector<Samples>& samples) {
  const std::int64_t first = FirstRow(options);
  const std::int64_t ahead = shift - options.delay;
  const auto add = [&](std::int64_t begin, std::int64_t end, std::int64_t moved) {
    if (begin < end) samples.push_back({target + begin, source + begin + moved, end - begin});
  };
  add(first, std::min(length, length - ahead), ahead);
  add(std::max(first, length - ahead + options.source_history - 1), length, ahead - length);
}

// Counts the joint states of two series: by bit sets if they are few, in a table if it is small,
// else by sorting.
class Counter {
 public:
  // Tables above this number of cells would be slower than the processor's caches.
  static constexpr double kMaxCells = 1 << 20;
  static constexpr double kMaxBits = 63;

  // The series must have the same length, and Bits() must not exceed kMaxBits to count.
  Counter(const SymbolSeries& source, const SymbolSeries& target, const SymbolSeries& given,
          const TransferOptions& options)
      : source_(source),
        target_(target),
        given_(given),
        options_(options),
        symbols_(target.states()),
        source_symbols_(source.states()),
        given_symbols_(given.size() == 0 ? 1 : given.states()) {
    if (Bits() > kMaxBits) return;
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

  TransferEntropy Count(std::span<const Samples> samples) const {
    TransferEntropy found;
    for (const Samples& some : samples) found.samples += some.count;
    Entropy of_own, of_with_own, of_both, of_all;
    if (planes_ || dense_) {
      const std::vector<std::uint32_t> all = planes_ ? CountPlanes(samples) : Table(samples);
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
      const auto total = static_cast<double>(found.samples);
      of_own = EntropyOf(own, total);
      of_with_own = EntropyOf(with_own, total);
      of_both = EntropyOf(both, total);
      of_all = EntropyOf(all, total);
    } else {
      std::vector<std::uint64_t> own, with_own, both, all;
      ForEachRow(samples, [&](std::uint64_t past, std::uint64_t present, std::uint64_t source) {
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

  // Returns the code of each row's value and its predecessors, `history` in all. The first rows,
  // which have fewer, are not used.
  static std::vector<std::uint64_t> Pasts(std::span<const Symbol> series, std::uint64_t symbols,
                                          int history) {
    const std::uint64_t oldest = Power(symbols, history - 1);
    std::vector<std::uint64_t> codes;
    codes.reserve(series.size());
    std::uint64_t code = 0;
    for (const Symbol value : series) {
      // Drop the oldest value and append this one.
      code = code % oldest * symbols + value;
      codes.push_back(code);
    }
    return codes;
  }

  // Extends the target's own past by that of the given series, which ends `delay` steps before.
  void AddGiven() {
    const auto pasts = Pasts(given_.symbols(), given_symbols_, options_.source_history);
    const std::uint64_t states = Power(given_symbols_, options_.source_history);
    for (std::int64_t t = FirstRow(options_); t < static_cast<std::int64_t>(target_.size()); ++t) {
      own_[t - 1] = own_[t - 1] * states + pasts[t - options_.delay];
    }
  }

  // Calls visit(own past, present, past of the source) for each sample.
  template <typename Visit>
  void ForEachRow(std::span<const Samples> samples, const Visit& visit) const {
    const std::span<const Symbol> target = target_.symbols();
    for (const auto& [first, source, count] : samples) {
      for (std::int64_t i = 0; i < count; ++i) {
        visit(own_[first + i - 1], std::uint64_t{target[first + i]}, source_codes_[source + i]);
      }
    }
  }

  std::vector<std::uint32_t> Table(std::span<const Samples> samples) const {
    std::vector<std::uint32_t> counts(own_states_ * symbols_ * source_states_);
    ForEachRow(samples, [&](std::uint64_t past, std::uint64_t present, std::uint64_t source) {
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
  std::vector<std::uint32_t> CountPlanes(std::span<const Samples> samples) const {
    std::vector<std::uint32_t> counts(own_states_ * symbols_ * source_states_);
    for (const auto& [first, source, count] : samples) {
      std::vector<BitPlane> planes;
      const auto add = [&](const SymbolSeries& series, std::int64_t latest, int history) {
        for (std::int64_t row = latest; row > latest - history; --row) {
          for (int bit = 0; bit < series.bits(); ++bit) {
            planes.push_back(series.Plane(bit, static_cast<std::size_t>(row)));
          }
        }
      };
      add(source_, source, options_.source_history);
      add(target_, first, 1);
      if (given_.size() != 0) add(given_, first - options_.delay, options_.source_history);
      add(target_, first - 1, options_.target_history);
      const auto some = CountStates(planes, static_cast<std::size_t>(count));
      for (std::size_t state = 0; state < counts.size(); ++state) counts[state] += some[state];
    }
    return counts;
  }

  const SymbolSeries& source_;
  const SymbolSeries& target_;
  const SymbolSeries& given_;
  const TransferOptions& options_;
  std::uint64_t symbols_;  // of the target
  std::uint64_t source_symbols_, given_symbols_;
  std::uint64_t source_states_ = 1;
  std::uint64_t own_states_ = 1;  // of the target's past, with that of the given series
  bool planes_ = false;
  bool dense_ = false;
  // Codes of the pasts that end at each row, unless states are counted by planes.
  std::vector<std::uint64_t> own_, source_codes_;
};

// Returns 64 random bits of the trial, or the step, of surrogate `number`.
std::uint64_t Drawn(std::uint64_t seed, int number, std::size_t step) {
  const PhiloxBlock block =
      Philox({{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(step), 0, 0}},
             {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}});
  return std::uint64_t{block.word[1]} << 32 | block.word[0];
}

// Returns the samples of the trials with the source as it is.
std::vector<Samples> UnmovedSamples(std::span<const std::int64_t> trials,
                                    const TransferOptions& options) {
  std::vector<Samples> samples;
  std::int64_t begin = 0;
  for (const std::int64_t length : trials) {
    AddSamples(begin, begin, length, 0, options, samples);
    begin += length;
  }
  return samples;
}

// Returns the samples of surrogate `number`: with the source of other trials, of one length, or
// moved by so much that its histories do not overlap those of the data.
std::vector<Samples> SurrogateSamples(const TransferTrials& trials, const TransferOptions& options,
                                      int number) {
  const std::vector<std::int64_t>& lengths = trials.lengths;
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = order.size(); trials.permuted && left > 1; --left) {
    std::swap(order[left - 1], order[Drawn(options.seed, number, left) % left]);
  }
  std::vector<Samples> samples;
  std::int64_t begin = 0;
  for (std::size_t trial = 0; trial < lengths.size(); ++trial) {
    const std::int64_t length = lengths[trial];
    if (trials.permuted) {
      const auto source = static_cast<std::int64_t>(order[trial]) * length;
      AddSamples(begin, source, length, 0, options, samples);
    } else {
      const std::int64_t least =
          std::min<std::int64_t>(length / 4, options.delay + options.source_history);
      const auto places = static_cast<std::uint64_t>(std::max<std::int64_t>(1, length - 2 * least));
      const auto drawn = static_cast<std::int64_t>(Drawn(options.seed, number, trial) % places);
      AddSamples(begin, begin, length, least + drawn, options, samples);
    }
    begin += length;
  }
  return samples;
}

// Returns kInvalidArgument unless the series fit together and are long enough.
Status CheckLengths(const SymbolSeries& source, const SymbolSeries& target,
                    const SymbolSeries& given, const TransferTrials& trials,
                    const TransferOptions& options) {
  const auto rows = static_cast<std::int64_t>(target.size());
  std::int64_t lost = 0;
  for (const std::int64_t length : trials.lengths)
    lost += std::min<std::int64_t>(length, FirstRow(options));
  const std::int64_t all =
      std::accumulate(trials.lengths.begin(), trials.lengths.end(), std::int64_t{0});
  if (source.size() != target.size() || all != rows ||
      (given.size() != 0 && given.size() != target.size())) {
    return InvalidArgument("source, target, what is given and their trials have different lengths");
  }
  if (trials.permuted &&
      std::ranges::adjacent_find(trials.lengths, std::not_equal_to()) != trials.lengths.end()) {
    return InvalidArgument("trials of several lengths cannot be permuted");
  }
  if (rows - lost >= kMinSamples) return {};
  return InvalidArgument("{} rows are too few; these histories need at least {}", rows,
                         lost + kMinSamples);
}

}  // namespace

Result<TransferEntropy> TransferEntropyOf(const SymbolSeries& source, const SymbolSeries& target,
                                          const TransferOptions& options) {
  return TransferEntropyOf(source, target, {}, options);
}

Result<TransferEntropy> TransferEntropyOf(const SymbolSeries& source, const SymbolSeries& target,
                                          const SymbolSeries& given,
                                          const TransferOptions& options) {
  const auto rows = static_cast<std::int64_t>(target.size());
  return TransferEntropyOf(source, target, given, {.lengths = {rows}}, options);
}

Result<TransferEntropy> TransferEntropyOf(const SymbolSeries& source, const SymbolSeries& target,
                                          const SymbolSeries& given, const TransferTrials& trials,
                                          const TransferOptions& options) {
  if (options.target_history < 1 || options.source_history < 1 || options.delay < 1) {
    return InvalidArgument("histories and delay must be at least 1");
  }
  RETURN_IF_ERROR(CheckLengths(source, target, given, trials, options));
  const Counter counter(source, target, given, options);
  if (counter.Bits() > Counter::kMaxBits) {
    return InvalidArgument(
        "{} symbols and histories of {} and {}{} have too many joint states; use fewer bins or "
        "shorter histories",
        target.states(), options.target_history, options.source_history,
        given.size() == 0 ? "" : ", with others given,");
  }
  TransferEntropy found = counter.Count(UnmovedSamples(trials.lengths, options));
  if (options.surrogates == 0) return found;
  double sum = 0;
  int at_least = 0;
  for (int number = 0; number < options.surrogates; ++number) {
    const double value = counter.Count(SurrogateSamples(trials, options, number)).plug_in;
    sum += value;
    if (value >= found.plug_in) ++at_least;
  }
  found.null_mean = sum / options.surrogates;
  found.p = (1.0 + at_least) / (1.0 + options.surrogates);
  return found;
}

}  // namespace reveza::phi
