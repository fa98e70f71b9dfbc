// Surrogate series, whose parts are independent of each other and otherwise like those of the data.
//
// Thread-safe: pure functions. Results depend on the seed and the number of the surrogate only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/random.h"
#include "phi/measures/series.h"

namespace reveza::phi {

enum class SurrogateKind {
  kShift,   // shifts each part but the first circularly by a random time; the seam, where the end
            // meets the beginning, splits the surrogate, so that no pair spans it
  kPhase,   // randomises the Fourier phases of each part, by the same angles for its variables,
            // which preserves spectra and cross-spectra within parts (Prichard & Theiler 1994, Phys
            // Rev Lett 73:951); the values become Gaussian
  kIaaft,   // as kPhase, and preserves the values of each variable too, by iteration (Schreiber &
            // Schmitz 1996, Phys Rev Lett 77:635; for several variables 2000, Physica D 142:346)
  kTrials,  // takes each part but the first from a random other trial, without replacement. Trials
            // have one length: a surrogate of fewer rows than the data would be more biased
};

// Fewest trials whose permutations are enough for small p-values.
inline constexpr std::size_t kMinPermutedTrials = 5;

// Returns "shift", "phase", "iaaft" or "trials".
std::string_view NameOf(SurrogateKind kind);
// Parses a name; "auto" is kTrials for at least kMinPermutedTrials trials of one length, and else
// kShift. Gaps split trials: `recorded` is how many there were before.
Result<SurrogateKind> ParseSurrogateKind(std::string_view name, std::span<const SeriesView> trials,
                                         std::size_t recorded);

bool HaveOneLength(std::span<const SeriesView> trials);
// Returns the length to which to cut trials, leaving out shorter ones, so that the most rows are
// left in at least kMinPermutedTrials of them.
std::int64_t CommonLength(std::span<const SeriesView> trials);
// Returns what to say of trials that were cut so.
std::string CutNote(std::int64_t rows, std::size_t kept, std::size_t trials);
// Returns kInvalidArgument if surrogates of this kind cannot be made of the trials.
Status CheckSurrogates(std::span<const SeriesView> trials, SurrogateKind kind);

// Returns the trials in random order, from the draws of `random` at `position` on, which moves past
// them.
std::vector<std::size_t> ShuffledTrials(std::size_t trials, const RandomStream& random,
                                        std::uint64_t& position);

// The trials, or segments between seams, of one surrogate.
struct Surrogate {
  std::vector<std::vector<double>> values;
  std::vector<SeriesView> views;
};

// Makes surrogate `number` of the trials, which CheckSurrogates() accepts.
Surrogate SurrogateOf(std::span<const SeriesView> trials,
                      const std::vector<std::vector<int>>& parts, SurrogateKind kind,
                      std::uint64_t seed, std::uint32_t number);

}  // namespace reveza::phi
