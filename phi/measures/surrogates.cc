#include "phi/measures/surrogates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <numeric>
#include <utility>

#include "phi/measures/significance.h"

namespace reveza::phi {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"shift", "phase", "iaaft", "trials"};

using Spectrum = std::vector<std::complex<double>>;

std::vector<double> Column(const SeriesView& view, int variable) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(view.length));
  for (std::int64_t t = 0; t < view.length; ++t) values.push_back(view.Row(t)[variable]);
  return values;
}

void SetColumn(const std::vector<double>& values, int variable, int variables,
               std::vector<double>& to) {
  for (std::size_t t = 0; t < values.size(); ++t) {
    to[t * static_cast<std::size_t>(variables) + static_cast<std::size_t>(variable)] = values[t];
  }
}

Spectrum SpectrumOf(const std::vector<double>& values) {
  return FourierTransform(Spectrum(values.begin(), values.end()), false);
}

std::vector<double> SignalOf(Spectrum spectrum) {
  spectrum = FourierTransform(std::move(spectrum), true);
  std::vector<double> values;
  values.reserve(spectrum.size());
  for (const auto& value : spectrum) values.push_back(value.real());
  return values;
}

// Multiplies each frequency by a unit number, and its mirror image by the conjugate.
void Turn(Spectrum& spectrum, const Spectrum& turns) {
  for (std::size_t k = 1; 2 * k < spectrum.size(); ++k) {
    spectrum[k] *= turns[k];
    spectrum[spectrum.size() - k] *= std::conj(turns[k]);
  }
}

// Returns the sorted values in the order of `like`.
std::vector<double> Reordered(const std::vector<double>& sorted, const std::vector<double>& like,
                              std::vector<std::size_t>& order) {
  order.resize(like.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t one, std::size_t other) {
    return like[one] != like[other] ? like[one] < like[other] : one < other;
  });
  std::vector<double> values(like.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) values[order[rank]] = sorted[rank];
  return values;
}

// Returns the common rotations of the spectra that bring `turned` closest to `now`.
Spectrum ClosestTurns(const std::vector<Spectrum>& originals, const std::vector<Spectrum>& now) {
  Spectrum turns(originals.front().size(), 1.0);
  for (std::size_t k = 1; 2 * k < turns.size(); ++k) {
    std::complex<double> sum = 0.0;
    for (std::size_t i = 0; i < originals.size(); ++i) {
      const auto product = now[i][k] * std::conj(originals[i][k]);
      const double size = std::abs(product);
      if (size > 0.0) sum += product / size;
    }
    const double size = std::abs(sum);
    if (size > 0.0) turns[k] = sum / size;
  }
  return turns;
}

// Alternates between the spectra of the originals, up to rotations common to the part, and their
// values, until the order of the values no longer changes.
void MatchValues(const std::vector<Spectrum>& originals,
                 const std::vector<std::vector<double>>& sorted,
                 std::vector<std::vector<double>>& signals) {
  constexpr int kMaxRounds = 100;
  std::vector<std::vector<std::size_t>> orders(signals.size());
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    std::vector<Spectrum> now;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      const auto last = orders[i];
      signals[i] = Reordered(sorted[i], signals[i], orders[i]);
      changed = changed || orders[i] != last;
      now.push_back(SpectrumOf(signals[i]));
    }
    if (!changed) return;
    const Spectrum turns = ClosestTurns(originals, now);
    for (std::size_t i = 0; i < signals.size(); ++i) {
      Spectrum spectrum = originals[i];
      Turn(spectrum, turns);
      signals[i] = SignalOf(std::move(spectrum));
    }
  }
  for (std::size_t i = 0; i < signals.size(); ++i) {
    signals[i] = Reordered(sorted[i], signals[i], orders[i]);
  }
}

void TurnPhases(const SeriesView& from, const std::vector<int>& part, const RandomStream& random,
                std::uint64_t first, bool keep_values, std::vector<double>& to) {
  Spectrum turns(static_cast<std::size_t>(from.length), 1.0);
  for (std::size_t k = 1; k < turns.size(); ++k) {
    turns[k] = std::polar(1.0, 2.0 * std::numbers::pi * random.Uniform(first + k));
  }
  std::vector<Spectrum> originals;
  std::vector<std::vector<double>> sorted, signals;
  for (const int i : part) {
    sorted.push_back(Column(from, i));
    originals.push_back(SpectrumOf(sorted.back()));
    std::ranges::sort(sorted.back());
    Spectrum turned = originals.back();
    Turn(turned, turns);
    signals.push_back(SignalOf(std::move(turned)));
  }
  if (keep_values) MatchValues(originals, sorted, signals);
  for (std::size_t i = 0; i < part.size(); ++i) {
    SetColumn(signals[i], part[i], from.variables, to);
  }
}

// A contiguous copy of a trial.
std::vector<double> Copied(const SeriesView& view) {
  std::vector<double> values;
  for (std::int64_t t = 0; t < view.length; ++t) {
    values.insert(values.end(), view.Row(t), view.Row(t) + view.variables);
  }
  return values;
}

// Adds the rows of `values`, split before each of the sorted rows `seams`.
void AddSegments(const std::vector<double>& values, const SeriesView& like,
                 const std::vector<std::int64_t>& seams, std::vector<SeriesView>& views) {
  const SeriesView whole = {values.data(), like.length, like.variables, like.variables};
  std::int64_t begin = 0;
  for (const std::int64_t seam : seams) {
    if (seam > begin) views.push_back(whole.Part(begin, seam - begin));
    begin = std::max(begin, seam);
  }
  if (begin < like.length) views.push_back(whole.Part(begin, like.length - begin));
}

Surrogate Shifted(std::span<const SeriesView> trials, const std::vector<std::vector<int>>& parts,
                  const RandomStream& random) {
  Surrogate made;
  std::vector<std::vector<std::int64_t>> seams;
  std::uint64_t position = 0;
  for (const SeriesView& from : trials) {
    std::vector<double>& to = made.values.emplace_back(Copied(from));
    seams.emplace_back();
    if (from.length < 2) continue;
    for (std::size_t k = 1; k < parts.size(); ++k) {
      const std::int64_t offset = 1 + random.UniformInt(position++, from.length - 1);
      seams.back().push_back(from.length - offset);
      for (std::int64_t t = 0; t < from.length; ++t) {
        const double* const source = from.Row((t + offset) % from.length);
        for (const int i : parts[k]) to[t * from.variables + i] = source[i];
      }
    }
    std::ranges::sort(seams.back());
  }
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    AddSegments(made.values[trial], trials[trial], seams[trial], made.views);
  }
  return made;
}

Surrogate Permuted(std::span<const SeriesView> trials, const std::vector<std::vector<int>>& parts,
                   const RandomStream& random) {
  std::vector<std::vector<std::size_t>> sources(parts.size());
  std::uint64_t position = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (k > 0) {
      sources[k] = ShuffledTrials(trials.size(), random, position);
    } else {
      sources[k].resize(trials.size());
      std::iota(sources[k].begin(), sources[k].end(), std::size_t{0});
    }
  }
  Surrogate made;
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    const std::int64_t length = trials[trial].length;
    const int variables = trials[trial].variables;
    std::vector<double>& to = made.values.emplace_back(Copied(trials[trial]));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const SeriesView& from = trials[sources[k][trial]];
      for (std::int64_t t = 0; t < length; ++t) {
        for (const int i : parts[k]) to[t * variables + i] = from.Row(t)[i];
      }
    }
    made.views.push_back({nullptr, length, variables, variables});
  }
  for (std::size_t i = 0; i < made.views.size(); ++i) made.views[i].values = made.values[i].data();
  return made;
}

}  // namespace

std::string_view NameOf(SurrogateKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Result<SurrogateKind> ParseSurrogateKind(std::string_view name, std::span<const SeriesView> trials,
                                         std::size_t recorded) {
  // Trials without any complete row are no trials.
  const std::size_t enough = std::min(recorded, trials.size());
  if (name == "auto") {
    return enough >= kMinPermutedTrials && HaveOneLength(trials) ? SurrogateKind::kTrials
                                                                 : SurrogateKind::kShift;
  }
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    return InvalidArgument(
        "--surrogate: unknown method '{}'; use auto, shift, phase, iaaft or trials", name);
  }
  const auto kind = static_cast<SurrogateKind>(found - kNames.begin());
  if (kind == SurrogateKind::kTrials && enough < kMinPermutedTrials) {
    return InvalidArgument(
        "--surrogate trials: {} trials have too few permutations; use at least {} trials, or shift",
        enough, kMinPermutedTrials);
  }
  return kind;
}

bool HaveOneLength(std::span<const SeriesView> trials) {
  return std::ranges::all_of(
      trials, [&](const SeriesView& trial) { return trial.length == trials.front().length; });
}

std::int64_t CommonLength(std::span<const SeriesView> trials) {
  std::vector<std::int64_t> lengths;
  for (const SeriesView& trial : trials) lengths.push_back(trial.length);
  std::ranges::sort(lengths, std::greater());
  std::int64_t best = 0;
  std::int64_t most = -1;
  for (std::size_t kept = std::min(kMinPermutedTrials, lengths.size()); kept <= lengths.size();
       ++kept) {
    const std::int64_t length = lengths[kept - 1];
    if (length * static_cast<std::int64_t>(kept) < most) continue;
    most = length * static_cast<std::int64_t>(kept);
    best = length;
  }
  return best;
}

std::string CutNote(std::int64_t rows, std::size_t kept, std::size_t trials) {
  return fmt::format(
      "surrogates of permuted trials need one length: measured are the first {} rows of {} of {} "
      "trials",
      rows, kept, trials);
}

Status CheckSurrogates(std::span<const SeriesView> trials, SurrogateKind kind) {
  if (kind != SurrogateKind::kTrials || HaveOneLength(trials)) return {};
  return InvalidArgument(
      "trials of several lengths cannot be permuted; cut them to one length, or use shift");
}

std::vector<std::size_t> ShuffledTrials(std::size_t trials, const RandomStream& random,
                                        std::uint64_t& position) {
  std::vector<std::size_t> order(trials);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = trials; left > 1; --left) {
    const auto drawn = random.UniformInt(position++, static_cast<std::int64_t>(left));
    std::swap(order[left - 1], order[static_cast<std::size_t>(drawn)]);
  }
  return order;
}

Surrogate SurrogateOf(std::span<const SeriesView> trials,
                      const std::vector<std::vector<int>>& parts, SurrogateKind kind,
                      std::uint64_t seed, std::uint32_t number) {
  if (kind == SurrogateKind::kShift) {
    return Shifted(trials, parts, RandomStream(seed, RandomPurpose::kShift, number));
  }
  if (kind == SurrogateKind::kTrials) {
    return Permuted(trials, parts, RandomStream(seed, RandomPurpose::kTrial, number));
  }
  Surrogate made;
  const RandomStream random(seed, RandomPurpose::kPhase, number);
  std::uint64_t position = 0;
  for (const SeriesView& from : trials) {
    std::vector<double>& to = made.values.emplace_back(Copied(from));
    for (const auto& part : parts) {
      TurnPhases(from, part, random, position, kind == SurrogateKind::kIaaft, to);
      position += static_cast<std::uint64_t>(from.length);
    }
    made.views.push_back({nullptr, from.length, from.variables, from.variables});
  }
  for (std::size_t i = 0; i < made.views.size(); ++i) made.views[i].values = made.values[i].data();
  return made;
}

}  // namespace reveza::phi
