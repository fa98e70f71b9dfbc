#include "phi/measures/phiid.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/measures.h"

namespace reveza::phi {
namespace {

constexpr std::size_t kAtoms = kPhiIdAtoms.size();

// Nodes of the lattice of two sources: redundancy of both, each of them, and both together.
constexpr std::size_t kRed = 0, kFirst = 1, kSecond = 2, kBoth = 3;

// Informations by the node of the past and of the present.
using Lattice = std::array<std::array<double, 4>, 4>;

// Which informations are the minima that mmi takes for redundancies.
struct Minima {
  std::array<std::size_t, 4> past = {};     // by node of the present: the least informed part
  std::array<std::size_t, 4> present = {};  // by node of the past
  std::pair<std::size_t, std::size_t> both = {};
};

Minima MinimaOf(const Lattice& at) {
  Minima minima;
  for (const std::size_t node : {kFirst, kSecond, kBoth}) {
    minima.past[node] = at[kFirst][node] < at[kSecond][node] ? kFirst : kSecond;
    minima.present[node] = at[node][kFirst] < at[node][kSecond] ? kFirst : kSecond;
  }
  const std::size_t first = minima.present[kFirst];
  const std::size_t second = minima.present[kSecond];
  minima.both = at[kFirst][first] <= at[kSecond][second] ? std::pair{kFirst, first}
                                                         : std::pair{kSecond, second};
  return minima;
}

void AddMinima(const Minima& minima, Lattice& at) {
  for (const std::size_t node : {kFirst, kSecond, kBoth}) {
    at[kRed][node] = at[minima.past[node]][node];
    at[node][kRed] = at[node][minima.present[node]];
  }
  at[kRed][kRed] = at[minima.both.first][minima.both.second];
}

bool SameSign(std::initializer_list<double> values) {
  const auto positive = [](double value) { return value > 0.0; };
  const auto negative = [](double value) { return value < 0.0; };
  return std::ranges::all_of(values, positive) || std::ranges::all_of(values, negative);
}

// Returns the co-information of two sources if it is a common change in surprisal, else 0.
double CommonChange(double first, double second, double both) {
  const double shared = first + second - both;
  return SameSign({first, second, both, shared}) ? shared : 0.0;
}

void AddCommonChanges(Lattice& at) {
  for (const std::size_t node : {kFirst, kSecond, kBoth}) {
    at[kRed][node] = CommonChange(at[kFirst][node], at[kSecond][node], at[kBoth][node]);
    at[node][kRed] = CommonChange(at[node][kFirst], at[node][kSecond], at[node][kBoth]);
  }
  // What all four pairs share: inclusion and exclusion along both lattices.
  const double shared = at[kRed][kFirst] + at[kRed][kSecond] - at[kRed][kBoth] + at[kFirst][kRed] +
                        at[kSecond][kRed] - at[kBoth][kRed] - at[kFirst][kFirst] -
                        at[kFirst][kSecond] - at[kSecond][kFirst] - at[kSecond][kSecond] +
                        at[kFirst][kBoth] + at[kSecond][kBoth] + at[kBoth][kFirst] +
                        at[kBoth][kSecond] - at[kBoth][kBoth];
  const bool common = SameSign(
      {at[kFirst][kFirst], at[kFirst][kSecond], at[kSecond][kFirst], at[kSecond][kSecond], shared});
  at[kRed][kRed] = common ? shared : 0.0;
}

// Inverts the sums of one lattice.
std::array<double, 4> Inverted(const std::array<double, 4>& at) {
  return {at[kRed], at[kFirst] - at[kRed], at[kSecond] - at[kRed],
          at[kBoth] - at[kFirst] - at[kSecond] + at[kRed]};
}

PhiIdAtoms AtomsOf(const Lattice& at) {
  std::array<std::array<double, 4>, 4> by_present;  // inverted along the present
  for (std::size_t past = 0; past < 4; ++past) by_present[past] = Inverted(at[past]);
  PhiIdAtoms atoms = {};
  for (std::size_t present = 0; present < 4; ++present) {
    const auto column = Inverted({by_present[kRed][present], by_present[kFirst][present],
                                  by_present[kSecond][present], by_present[kBoth][present]});
    for (std::size_t past = 0; past < 4; ++past) atoms[4 * past + present] = column[past];
  }
  return atoms;
}

Status CheckParts(const GaussianModel& model, const Partition& partition) {
  if (partition.variables() != model.variables()) {
    return InvalidArgument("the partition has {} variables, but the data {}", partition.variables(),
                           model.variables());
  }
  if (partition.parts().size() == 2) return {};
  return InvalidArgument(
      "the decomposition is defined for two parts, but the partition has {}; use two, or leave "
      "--partition out for the minimum bipartition of phi_r",
      partition.parts().size());
}

// Rows of the joint matrix: of the past, or the present, of one part or both. Nodes but kRed.
std::vector<int> RowsOf(const GaussianModel& model, const Partition& partition, bool present,
                        std::size_t node) {
  std::vector<int> variables;
  for (const std::size_t part : {kFirst, kSecond}) {
    if (node != part && node != kBoth) continue;
    const auto& own = partition.parts()[part - 1];
    variables.insert(variables.end(), own.begin(), own.end());
  }
  return present ? model.Present(variables) : model.Past(variables);
}

Lattice InformationsOf(const GaussianModel& model, const Partition& partition) {
  Lattice at = {};
  for (const std::size_t past : {kFirst, kSecond, kBoth}) {
    for (const std::size_t present : {kFirst, kSecond, kBoth}) {
      at[past][present] = model.MutualInformation(RowsOf(model, partition, false, past),
                                                  RowsOf(model, partition, true, present));
    }
  }
  return at;
}

// Half the squared Mahalanobis distances of the pairs from the mean, within some rows, of the
// covariance with divisor N - 1.
std::vector<double> HalfDistances(const GaussianModel& model, const StandardPairs& pairs,
                                  const std::vector<int>& rows) {
  const Matrix lower = *Cholesky(Submatrix(model.joint(), rows, rows));
  const double scale =
      0.5 * static_cast<double>(pairs.count - 1) / static_cast<double>(pairs.count);
  std::vector<double> distances(static_cast<std::size_t>(pairs.count));
  std::vector<double> white(rows.size());
  for (std::int64_t pair = 0; pair < pairs.count; ++pair) {
    double sum = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int row = static_cast<int>(i);
      double value = pairs.Row(pair)[rows[i]];
      for (int j = 0; j < row; ++j) value -= lower(row, j) * white[static_cast<std::size_t>(j)];
      white[i] = value / lower(row, row);
      sum += white[i] * white[i];
    }
    distances[static_cast<std::size_t>(pair)] = scale * sum;
  }
  return distances;
}

// Returns the local informations of all pairs, whose means are those of InformationsOf().
std::vector<Lattice> LocalInformationsOf(const GaussianModel& model, const Partition& partition,
                                         const StandardPairs& pairs, const Lattice& mean) {
  std::vector<Lattice> local(static_cast<std::size_t>(pairs.count));
  std::array<std::vector<double>, 4> of_past, of_present;
  for (const std::size_t node : {kFirst, kSecond, kBoth}) {
    of_past[node] = HalfDistances(model, pairs, RowsOf(model, partition, false, node));
    of_present[node] = HalfDistances(model, pairs, RowsOf(model, partition, true, node));
  }
  for (const std::size_t past : {kFirst, kSecond, kBoth}) {
    for (const std::size_t present : {kFirst, kSecond, kBoth}) {
      std::vector<int> rows = RowsOf(model, partition, false, past);
      const std::vector<int> more = RowsOf(model, partition, true, present);
      rows.insert(rows.end(), more.begin(), more.end());
      const std::vector<double> of_both = HalfDistances(model, pairs, rows);
      for (std::size_t i = 0; i < local.size(); ++i) {
        local[i][past][present] =
            mean[past][present] + of_past[past][i] + of_present[present][i] - of_both[i];
      }
    }
  }
  return local;
}

Result<Partition> PartitionFor(const GaussianModel& model, const PhiIdOptions& options) {
  if (options.partition) return *options.partition;
  PartitionSearch search(model, options.search);
  ASSIGN_OR_RETURN(auto found, search.Minimum(Measure::kPhiR));
  return std::move(found.partition);
}

}  // namespace

Result<PhiIdRedundancy> ParsePhiIdRedundancy(std::string_view name) {
  for (const auto redundancy : {PhiIdRedundancy::kMmi, PhiIdRedundancy::kCcs}) {
    if (NameOf(redundancy) == name) return redundancy;
  }
  return InvalidArgument("--phiid: unknown redundancy '{}'; use mmi or ccs", name);
}

std::string_view NameOf(PhiIdRedundancy redundancy) {
  return redundancy == PhiIdRedundancy::kMmi ? "mmi" : "ccs";
}

std::string_view PhiIdModeOf(std::size_t atom) {
  const std::size_t past = atom / 4;
  const std::size_t present = atom % 4;
  if (past == present) return "storage";
  if (past == kBoth) return "downward causation";
  if (present == kBoth) return "upward causation";
  if (past == kRed) return "erasure";
  return present == kRed ? "copy" : "transfer";
}

double PhiRFrom(const PhiIdAtoms& atoms) {
  double sum = 0.0;
  for (std::size_t atom = 0; atom < kAtoms; ++atom) {
    const std::string_view mode = PhiIdModeOf(atom);
    const bool synergy = atom / 4 == kBoth || atom % 4 == kBoth;
    if (synergy || mode == "transfer") sum += atoms[atom];
  }
  return sum;
}

Result<PhiIdAtoms> PhiIdOf(const GaussianModel& model, const Partition& partition) {
  RETURN_IF_ERROR(CheckParts(model, partition));
  Lattice at = InformationsOf(model, partition);
  AddMinima(MinimaOf(at), at);
  return AtomsOf(at);
}

std::optional<PhiIdAtoms> PhiIdBias(const GaussianModel& model, const Partition& partition,
                                    std::int64_t samples) {
  const std::int64_t dimensions = std::int64_t{model.variables()} * (model.lags() + 1);
  if (!CheckParts(model, partition) || samples <= dimensions + 1) return std::nullopt;
  // Of half a log-determinant, up to a constant per dimension, which cancels.
  const auto bias = [&](std::size_t count) {
    double sum = 0.0;
    for (std::size_t i = 1; i <= count; ++i) {
      sum += 0.5 * Digamma(0.5 * static_cast<double>(samples - static_cast<std::int64_t>(i)));
    }
    return sum;
  };
  Lattice at = {};
  for (const std::size_t past : {kFirst, kSecond, kBoth}) {
    for (const std::size_t present : {kFirst, kSecond, kBoth}) {
      const std::size_t from = RowsOf(model, partition, false, past).size();
      const std::size_t to = RowsOf(model, partition, true, present).size();
      at[past][present] = bias(from) + bias(to) - bias(from + to);
    }
  }
  AddMinima(MinimaOf(InformationsOf(model, partition)), at);
  return AtomsOf(at);
}

Result<PhiId> DecomposeSeries(std::span<const SeriesView> trials, const PhiIdOptions& options) {
  ASSIGN_OR_RETURN(const auto estimate, EstimateModel(trials, options.estimate));
  ASSIGN_OR_RETURN(auto partition, PartitionFor(estimate.model, options));
  RETURN_IF_ERROR(CheckParts(estimate.model, partition));
  const bool by_local = options.local || options.redundancy == PhiIdRedundancy::kCcs;
  if (by_local && estimate.shrinkage > 0.0) {
    return InvalidArgument(
        "local values and ccs need covariances without shrinkage; leave --shrinkage out, or use "
        "mmi");
  }
  Lattice mean = InformationsOf(estimate.model, partition);
  const Minima minima = MinimaOf(mean);
  PhiId result{.partition = std::move(partition)};
  if (by_local) {
    const StandardPairs pairs = StandardPairsOf(trials, options.estimate);
    for (Lattice& at : LocalInformationsOf(estimate.model, result.partition, pairs, mean)) {
      if (options.redundancy == PhiIdRedundancy::kMmi) {
        AddMinima(minima, at);
      } else {
        AddCommonChanges(at);
      }
      result.local.push_back(AtomsOf(at));
    }
  }
  if (options.redundancy == PhiIdRedundancy::kMmi) {
    AddMinima(minima, mean);
    result.mean = AtomsOf(mean);
  } else {
    for (const PhiIdAtoms& atoms : result.local) {
      for (std::size_t i = 0; i < kAtoms; ++i) result.mean[i] += atoms[i];
    }
    for (double& value : result.mean) value /= static_cast<double>(result.local.size());
  }
  if (!options.local) result.local = {};
  return result;
}

Result<std::array<std::optional<Significance>, 16>> TestPhiId(std::span<const SeriesView> trials,
                                                              const PhiIdOptions& options,
                                                              const PhiIdAtoms& atoms,
                                                              const SurrogateOptions& surrogates) {
  if (surrogates.count < 1 || trials.empty()) {
    return InvalidArgument("a test needs at least one surrogate");
  }
  RETURN_IF_ERROR(CheckSurrogates(trials, surrogates.kind));
  std::vector<std::vector<int>> parts;
  if (options.partition) parts = options.partition->parts();
  for (int i = 0; !options.partition && i < trials.front().variables; ++i) parts.push_back({i});
  PhiIdOptions of_surrogates = options;
  of_surrogates.local = false;
  std::vector<Result<PhiId>> drawn(static_cast<std::size_t>(surrogates.count),
                                   Fail(Error::Code::kInternal, "not drawn"));
  ParallelFor(surrogates.threads, drawn.size(), [&] {
    return [&](std::size_t i) {
      const Surrogate surrogate = SurrogateOf(trials, parts, surrogates.kind, surrogates.seed,
                                              static_cast<std::uint32_t>(i));
      drawn[i] = DecomposeSeries(surrogate.views, of_surrogates);
    };
  });
  for (const auto& one : drawn) {
    if (!one) return std::unexpected(one.error());
  }
  std::array<std::optional<Significance>, 16> tests;
  for (std::size_t atom = 0; atom < kAtoms; ++atom) {
    if (kPhiIdAtoms[atom] == "xtx" || kPhiIdAtoms[atom] == "yty") continue;
    std::vector<double> null;
    for (const auto& one : drawn) null.push_back(one->mean[atom]);
    tests[atom] = SignificanceOf(atoms[atom], std::move(null));
  }
  return tests;
}

}  // namespace reveza::phi
