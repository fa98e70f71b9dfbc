// The minimum information partition (MIP): the bipartition of the variables that minimises a
// measure.
//
// Thread-safe: searches do not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "phi/arithmetic/processor.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/measures.h"
#include "phi/measures/partition.h"

namespace reveza::phi {

enum class SearchMethod { kExhaustive, kQueyranne };

// Returns "exhaustive" or "queyranne".
std::string_view NameOf(SearchMethod method);
// Parses a name; the error lists the names.
Result<SearchMethod> ParseSearchMethod(std::string_view name);

// How far a search is: `done` of `all` passes of Queyranne's algorithm, which take equally long, or
// of the bipartitions that it leaves to be evaluated. The first, before any pass, has an estimate.
enum class SearchStage { kPasses, kCandidates };
struct SearchProgress {
  Measure measure;
  SearchStage stage;
  std::size_t done;
  std::size_t all;
  double expected_seconds = 0.0;  // of all passes
};

// Returns about how many numbers all passes of Queyranne's algorithm update (queyranne.cc).
double QueyranneOperations(int variables, int lags, Measure measure);

struct SearchOptions {
  SearchMethod method = SearchMethod::kExhaustive;
  // Minimise value / min(H(Y_1), H(Y_2)) instead of the value (cf. Barrett & Seth 2011, eq. 25).
  // Differential entropy depends on units and may be negative, which is an error.
  bool normalised = false;
  Instructions instructions = SupportedInstructions();
  // Of one search by Queyranne's algorithm; its result does not depend on their number.
  int threads = 1;
  // Called from one of these threads at a time, if set.
  std::function<void(const SearchProgress&)> progress = {};
};

struct MinimumPartition {
  Partition partition;
  double value = 0.0;         // of the measure, not normalised
  std::int64_t examined = 0;  // bipartitions that were compared
  // Whether the minimum is guaranteed. True for exhaustive searches, except phi_g, whose own
  // minimisation is not exact, and phi_star of more than seven variables; both are evaluated for
  // the kCandidates lowest by stochastic interaction. For Queyranne's algorithm true for mi only,
  // which is submodular.
  bool exact = true;
  SearchMethod method = SearchMethod::kExhaustive;  // that was used
};

// Searches of one model. An exhaustive one computes the determinants of subsets and of their
// complements a block at a time and keeps none.
class PartitionSearch {
 public:
  static constexpr int kMaxExhaustive = 24;
  static constexpr int kCandidates = 100;
  static constexpr int kMaxQueyranne = 200;

  // `model` must outlive the search.
  PartitionSearch(const GaussianModel& model, SearchOptions options)
      : model_(model), options_(std::move(options)) {}

  // Returns the minimum information bipartition. Errors: fewer than two variables, more than the
  // method supports (the message names the alternative), the measure `i`, which has no partition, a
  // normaliser that is not positive, and those of Evaluate().
  Result<MinimumPartition> Minimum(Measure measure) const;

 private:
  Result<MinimumPartition> Exhaustive(Measure measure) const;
  Result<MinimumPartition> Queyranne(Measure measure) const;  // queyranne.cc
  // Returns the scores and masks of the bipartitions to evaluate, by ascending score.
  Result<std::vector<std::pair<double, std::uint64_t>>> Lowest(Measure measure) const;

  const GaussianModel& model_;
  SearchOptions options_;
};

// Minimum log-determinant of a search; the exponential of smaller ones would underflow.
inline constexpr double kMinLogDeterminant = -600.0;

// A subset of variables whose measure at its own minimum partition is positive and exceeds that of
// all its supersets (Balduzzi & Tononi 2008; Hidaka & Oizumi 2018, PLoS ONE 13:e0201126).
struct Complex {
  std::vector<int> variables;
  double value = 0.0;  // of the measure at the subset's minimum partition
  bool main = false;   // no complex within it has a higher value
};

inline constexpr int kMaxComplexVariables = 16;

// Returns all complexes by mi, si or wms, in descending order of the measure. Each subset is
// evaluated on its own past and present. Errors: another measure, fewer than two variables or more
// than kMaxComplexVariables.
Result<std::vector<Complex>> ComplexesOf(const GaussianModel& model, Measure measure,
                                         Instructions instructions = SupportedInstructions());

}  // namespace reveza::phi
