// Integrated information decomposition (PhiID): how much of I(X; Y), the information of the past
// about the present, is redundant (r), unique to part 1 (x) or 2 (y), or synergistic (s), in the
// past and in the present: 16 atoms, such as `xts`, what only the past of part 1 says and only both
// presents together say (Mediano, Rosas, Carhart-Harris, Seth, Barrett 2019, arXiv:1909.02297,
// doi:10.48550/arXiv.1909.02297). All values are in nats.
//
// The atoms follow by Moebius inversion from 16 informations of the product of two lattices: nine
// mutual informations between X_1, X_2, X and Y_1, Y_2, Y, and seven redundancies, by
//
//   mmi  the minimum mutual information of the sources (Barrett 2015, Phys Rev E 91:052802,
//        doi:10.1103/PhysRevE.91.052802), or of the four pairs of sources and targets
//   ccs  the mean of the local co-information where it and the local informations it is made of
//        have the same sign: the common change in surprisal (Ince 2017, Entropy 19:318,
//        doi:10.3390/e19070318), of the Gaussian distribution itself, not of Ince's maximum entropy
//        distribution; for the redundancy of both, the co-information of all four pairs
//
// Both as in the phyid package. Local values are those of each pair of past and present; their mean
// is the value of the atom. As there, they are of the covariance with divisor N - 1.
//
// Pure functions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/estimate.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/minimum_partition.h"
#include "phi/measures/partition.h"
#include "phi/measures/series.h"
#include "phi/measures/significance.h"

namespace reveza::phi {

enum class PhiIdRedundancy { kMmi, kCcs };

// Parses "mmi" or "ccs".
Result<PhiIdRedundancy> ParsePhiIdRedundancy(std::string_view name);
std::string_view NameOf(PhiIdRedundancy redundancy);

// In the order of kPhiIdAtoms.
using PhiIdAtoms = std::array<double, 16>;

// The past, "t" for "to", and the present.
inline constexpr std::array<std::string_view, 16> kPhiIdAtoms = {
    "rtr", "rtx", "rty", "rts", "xtr", "xtx", "xty", "xts",
    "ytr", "ytx", "yty", "yts", "str", "stx", "sty", "sts"};

// Returns the mode of information dynamics of an atom (Mediano et al. 2019): storage,
// copy, transfer, erasure, downward or upward causation.
std::string_view PhiIdModeOf(std::size_t atom);

// Returns the sum of the atoms that are not information of one part about itself. With mmi it is
// phi_r.
double PhiRFrom(const PhiIdAtoms& atoms);

// Returns the atoms by mmi, which depend on the model only. Errors: not two parts, or another
// number of variables.
Result<PhiIdAtoms> PhiIdOf(const GaussianModel& model, const Partition& partition);

// Returns the expected bias of the atoms by mmi (as BiasOf()), with the minima taken as given;
// nothing if there are too few samples.
std::optional<PhiIdAtoms> PhiIdBias(const GaussianModel& model, const Partition& partition,
                                    std::int64_t samples);

struct PhiId {
  Partition partition;
  PhiIdAtoms mean = {};
  std::vector<PhiIdAtoms> local = {};  // by pair of past and present, if asked for
};

struct PhiIdOptions {
  PhiIdRedundancy redundancy = PhiIdRedundancy::kMmi;
  EstimateOptions estimate = {};
  std::optional<Partition> partition = {};  // default: the minimum bipartition of phi_r,
  SearchOptions search = {};                // found so
  bool local = false;
};

// Decomposes a series. Errors: those of EstimateModel() and PhiIdOf(); shrinkage with local values
// or ccs, which need covariances without it.
Result<PhiId> DecomposeSeries(std::span<const SeriesView> trials, const PhiIdOptions& options);

// Tests each atom against surrogates whose parts are independent, or whose variables are if the
// partition is searched, as TestAgainstSurrogates(). Nothing for xtx and yty, to which the
// independence of the parts says little.
Result<std::array<std::optional<Significance>, 16>> TestPhiId(std::span<const SeriesView> trials,
                                                              const PhiIdOptions& options,
                                                              const PhiIdAtoms& atoms,
                                                              const SurrogateOptions& surrogates);

}  // namespace reveza::phi
