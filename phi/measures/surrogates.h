// Surrogate series, whose parts are independent of each other and otherwise like those of the data.
//
// Thread-safe: pure functions. Results depend on the seed and the number of the surrogate only.
#pragma once

#include <cstdint>
#include <span>
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
  kTrials,  // takes each part but the first from a random other trial, without replacement
};

// Fewest trials whose permutations are enough for small p-values.
inline constexpr std::size_t kMinPermutedTrials = 5;

// Returns "shift", "phase", "iaaft" or "trials".
std::string_view NameOf(SurrogateKind kind);
// Parses a name; "auto" is kTrials for at least kMinPermutedTrials trials, and else kShift.
Result<SurrogateKind> ParseSurrogateKind(std::string_view name, std::size_t trials);

// Returns the trials in random order, from the draws of `random` at `position` on, which moves past
// them.
std::vector<std::size_t> ShuffledTrials(std::size_t trials, const RandomStream& random,
                                        std::uint64_t& position);

// The trials, or segments between seams, of one surrogate.
struct Surrogate {
  std::vector<std::vector<double>> values;
  std::vector<SeriesView> views;
};

// Makes surrogate `number` of the trials. Trials of different lengths that are combined are cut to
// the shortest.
Surrogate SurrogateOf(std::span<const SeriesView> trials,
                      const std::vector<std::vector<int>>& parts, SurrogateKind kind,
                      std::uint64_t seed, std::uint32_t number);

}  // namespace reveza::phi
