// The minimum information partition: of all ways to divide the variables in two, the one that loses
// least.
//
// Thread-safety: a search is for one thread; searches of one model may go beside each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "phi/arithmetic/processor.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/measures.h"
#include "phi/measures/partition.h"

namespace reveza::phi {

enum class SearchMethod { kExhaustive, kQueyranne };

// "exhaustive", "queyranne".
std::string_view NameOf(SearchMethod method);
Result<SearchMethod> SearchMethodOf(std::string_view name);

struct SearchOptions {
  SearchMethod method = SearchMethod::kExhaustive;
  // Minimise value / min(H(Y_1), H(Y_2)) instead of the value (Barrett & Seth 2011, eq. 25 has such
  // a normaliser). Differential entropy depends on units and may be negative; an error then.
  bool normalised = false;
  Instructions instructions = InstructionsOfProcessor();
};

struct MinimumPartition {
  Partition partition;
  double value = 0.0;         // of the measure, not normalised
  std::int64_t examined = 0;  // bipartitions whose value was compared
  // Whether no other bipartition can be lower: always when exhaustive, but for phi_g and phi_star
  // of more than seven variables, which are computed for the kCandidates that are lowest by
  // stochastic interaction; by Queyranne's algorithm for mi only, which is submodular.
  bool exact = true;
  SearchMethod method = SearchMethod::kExhaustive;  // that found it
};

// Memory that searches of one model after another may use again: 2^n numbers each. For one thread.
struct SearchTables {
  // Determinants by subset: of the past, the present, both, and the past of the subset with the
  // present of the others. Empty until they are needed.
  std::vector<double> past, present, both, across;
  std::vector<double> scores;
};

// What they and a search beside them take when these measures of so many variables were searched:
// 0 where all are found by Queyranne's algorithm.
Bytes TableBytes(int variables, std::span<const Measure> measures, const SearchOptions& options);

// All searches of one model share the determinants of its subsets.
class PartitionSearch {
 public:
  static constexpr int kMostExhaustive = 24;
  static constexpr int kCandidates = 100;
  static constexpr int kMostQueyranne = 200;

  // Model and tables must live as long. Without tables it has its own.
  PartitionSearch(const GaussianModel& model, const SearchOptions& options,
                  SearchTables* tables = nullptr);
  PartitionSearch(const PartitionSearch&) = delete;
  PartitionSearch& operator=(const PartitionSearch&) = delete;

  // Errors: fewer than two variables, more than the method takes (says what to use), the measure
  // `i`, which has no partition, a normaliser that is not positive, those of Evaluate.
  Result<MinimumPartition> Minimum(Measure measure);

 private:
  Result<MinimumPartition> Exhaustive(Measure measure);
  Result<MinimumPartition> Queyranne(Measure measure);
  Status MakeTables(Measure measure);
  // Into tables_.scores, ascending with the measure among bipartitions: exp of twice it, or of
  // twice stochastic interaction for phi_g and phi_star. One for each mask without the last
  // variable.
  void Score(Measure measure);
  void ScoreWithoutRedundancy();
  Result<std::vector<double>> Normalisers() const;
  Status Normalise(Measure measure);

  const GaussianModel& model_;
  SearchOptions options_;
  SearchTables own_tables_;
  SearchTables& tables_;
  bool has_past_ = false, has_present_ = false, has_both_ = false, has_across_ = false;
};

// A subset of variables that is integrated at all, and more, by its own minimum partition, than all
// sets that it is part of (Balduzzi & Tononi 2008; Hidaka & Oizumi 2018, PLoS ONE 13:e0201126).
struct Complex {
  std::vector<int> variables;
  double value = 0.0;  // of the measure at the subset's minimum partition
  bool main = false;   // no complex inside of it has more
};

inline constexpr int kMostComplexVariables = 16;

// All complexes, the most integrated first, by mi, si or wms. Each subset is taken for itself: its
// past, its present.
// Errors: another measure, more than kMostComplexVariables variables or fewer than two.
Result<std::vector<Complex>> ComplexesOf(const GaussianModel& model, Measure measure,
                                         Instructions instructions = InstructionsOfProcessor());

}  // namespace reveza::phi
