// Queyranne's algorithm: minimises a symmetric submodular function over all bipartitions (M.
// Queyranne 1998, Mathematical Programming 82:3; for partitions of neural systems Kitazono, Kanai,
// Oizumi 2018, Entropy 20:173). Exact for such functions, such as the mutual information between
// parts; a heuristic for others.
//
// The function is a sum of log |S_A| + log |S_B| of a bipartition (A, B), over covariances S. While
// A grows by a group u, both follow from matrices from which one row after another is eliminated:
// log |S_Au| = log |S_A| + log |(S given A)_uu|, and log |S_B without u| = log |S_B| + log
// |(S_B^-1)_uu|. A pass over all variables thus costs O(n^3), and all passes O(n^4).
//
// Threads work in lockstep: each updates some of the rows and evaluates some of the groups, and all
// take the same decisions from what is shared. The result has the same bits for any number.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/base/run_in_parallel.h"
#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/elimination.h"
#include "phi/measures/minimum_partition.h"

namespace reveza::phi {
namespace {

// Ascending variables.
using Group = std::vector<int>;

Group United(const Group& one, const Group& other) {
  Group both;
  both.reserve(one.size() + other.size());
  std::ranges::merge(one, other, std::back_inserter(both));
  return both;
}

// The log-determinants of one covariance, of the rows of groups of variables.
class Term {
 public:
  // Nothing if the covariance is singular.
  static std::optional<Term> Of(const GaussianModel& model, double sign, int first, int last,
                                Instructions instructions) {
    std::vector<int> rows;
    for (int variable = 0; variable < model.variables(); ++variable) {
      for (int row = first; row <= last; ++row) rows.push_back(variable * (model.lags() + 1) + row);
    }
    Matrix covariance = Submatrix(model.joint(), rows, rows);
    const auto lower = Cholesky(covariance);
    if (!lower) return std::nullopt;
    Matrix precision = SolveCholesky(*lower, Matrix::Identity(lower->rows()));
    return Term(sign, last - first + 1, {std::move(covariance), instructions},
                {std::move(precision), instructions});
  }

  // Makes A empty: the member's share.
  void Restart(const LockstepMember& member) {
    given_.Restart(member);
    rest_.Restart(member);
  }
  // What a group adds to A; then the addition, where `others` are the variables that are not in A:
  // the member's share.
  struct Addition {
    Elimination::Pivots given, rest;
  };
  Addition AdditionOf(const Group& group) const {
    return {.given = given_.PivotsOf(RowsOf(group)), .rest = rest_.PivotsOf(RowsOf(group))};
  }
  void Add(const Addition& addition, const Group& others, const LockstepMember& member) {
    const std::vector<int> rows = RowsOf(others);
    given_.Eliminate(addition.given, rows, member);
    rest_.Eliminate(addition.rest, rows, member);
  }
  // Returns the change of log |S_A| + log |S_B| when the group moves from B to A.
  double Change(const Group& group) const {
    const std::vector<int> rows = RowsOf(group);
    return sign_ * (given_.LogDeterminant(rows) + rest_.LogDeterminant(rows));
  }

 private:
  Term(double sign, int rows, Elimination given, Elimination rest)
      : sign_(sign), rows_(rows), given_(std::move(given)), rest_(std::move(rest)) {}

  std::vector<int> RowsOf(const Group& group) const {
    std::vector<int> rows;
    for (const int variable : group) {
      for (int row = 0; row < rows_; ++row) rows.push_back(variable * rows_ + row);
    }
    return rows;
  }

  double sign_;
  int rows_;                  // per variable
  Elimination given_, rest_;  // S given A, and the inverse of S_B
};

// The terms of mi, si or wms, up to a factor and a constant.
std::optional<std::vector<Term>> TermsOf(const GaussianModel& model, Measure measure,
                                         Instructions instructions) {
  const int lags = model.lags();
  std::vector<std::optional<Term>> all;
  all.push_back(Term::Of(model, 1.0, 0, lags, instructions));
  if (measure != Measure::kMultiInformation) {
    all.push_back(Term::Of(model, -1.0, 0, lags - 1, instructions));
  }
  if (measure == Measure::kWholeMinusSum) {
    all.push_back(Term::Of(model, -1.0, lags, lags, instructions));
  }
  std::vector<Term> terms;
  for (auto& term : all) {
    if (!term) return std::nullopt;
    terms.push_back(*std::move(term));
  }
  return terms;
}

double Change(const std::vector<Term>& terms, const Group& group) {
  double sum = 0.0;
  for (const Term& term : terms) sum += term.Change(group);
  return sum;
}

struct Candidate {
  double value = 0.0;
  Group part;
};

// What the threads of a search share.
struct SharedSearch {
  std::vector<Term> terms;
  std::vector<double> changes;  // of the groups that each member evaluates
  StageBarrier barrier = {};
};

// The passes of one thread.
class Passes {
 public:
  Passes(SharedSearch& shared, int variables, const LockstepMember& member)
      : shared_(shared), member_(member) {
    for (int variable = 0; variable < variables; ++variable) groups_.push_back({variable});
  }

  bool Ended() const { return groups_.size() < 2; }

  // Orders the groups so that each next one minimises f(before + it) - f(it). The last two form a
  // pendent pair: no bipartition that separates them has a lower value than the last one alone,
  // which is the candidate of this pass. They become one group.
  void Next() {
    for (Term& term : shared_.terms) term.Restart(member_);
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < groups_.size(); ++i) rest.push_back(i);
    member_.Wait();
    const std::vector<double> alone = Changes(rest);
    std::size_t next_to_last = 0;
    Add(0, rest);
    while (rest.size() > 1) {
      const std::vector<double> changes = Changes(rest);
      std::size_t chosen = 0;
      double least = HUGE_VAL;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        const double key = changes[i] - alone[rest[i]];
        if (key < least) {
          least = key;
          chosen = i;
        }
      }
      next_to_last = rest[chosen];
      Add(chosen, rest);
    }
    const std::size_t last = rest.front();
    candidates_.push_back({alone[last], groups_[last]});
    groups_[next_to_last] = United(groups_[next_to_last], groups_[last]);
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(last));
  }

  std::vector<Candidate> candidates() && { return std::move(candidates_); }
  std::int64_t evaluations() const { return evaluations_; }

 private:
  // Returns the changes by these groups, of which each member computes a share.
  std::vector<double> Changes(const std::vector<std::size_t>& of) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (member_.Owns(i)) shared_.changes[i] = Change(shared_.terms, groups_[of[i]]);
    }
    member_.Wait();
    std::vector<double> changes(shared_.changes.begin(),
                                shared_.changes.begin() + static_cast<std::ptrdiff_t>(of.size()));
    evaluations_ += static_cast<std::int64_t>(of.size());
    // Others may still copy: they are waited for before the next changes.
    return changes;
  }

  // Moves a group from the rest to A.
  void Add(std::size_t chosen, std::vector<std::size_t>& rest) {
    const Group& group = groups_[rest[chosen]];
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(chosen));
    Group others;
    for (const std::size_t i : rest) {
      others.insert(others.end(), groups_[i].begin(), groups_[i].end());
    }
    std::vector<Term::Addition> additions;
    for (const Term& term : shared_.terms) additions.push_back(term.AdditionOf(group));
    // Before anyone changes what the additions were taken from.
    member_.Wait();
    for (std::size_t i = 0; i < additions.size(); ++i) {
      shared_.terms[i].Add(additions[i], others, member_);
    }
    member_.Wait();
  }

  SharedSearch& shared_;
  const LockstepMember& member_;
  std::vector<Group> groups_;
  std::vector<Candidate> candidates_;
  std::int64_t evaluations_ = 0;
};

// Returns the function whose bipartitions are searched.
Measure SearchedBy(Measure measure) {
  return measure == Measure::kPhiR ? Measure::kWholeMinusSum
         : measure == Measure::kPhiG || measure == Measure::kPhiStar
             ? Measure::kStochasticInteraction
             : measure;
}

}  // namespace

double QueyranneOperations(int variables, int lags, Measure measure) {
  // In each pass every row is eliminated once from two matrices of each term: from the rows that
  // remain, half of them on average, to their right, of half the width on average.
  const auto of_term = [&](int rows) { return 0.5 * std::pow(variables * rows, 3); };
  const Measure searched = SearchedBy(measure);
  double sum = of_term(lags + 1);
  if (searched != Measure::kMultiInformation) sum += of_term(lags);
  if (searched == Measure::kWholeMinusSum) sum += of_term(1);
  return (variables - 1) * sum;
}

Result<MinimumPartition> PartitionSearch::Queyranne(Measure measure) const {
  const Measure searched = SearchedBy(measure);
  auto terms = TermsOf(model_, searched, options_.instructions);
  if (!terms) return InvalidArgument("the covariance is singular; use fewer variables");
  const int variables = model_.variables();
  SharedSearch shared = {.terms = *std::move(terms),
                         .changes = std::vector<double>(static_cast<std::size_t>(variables))};
  std::vector<Candidate> candidates;
  std::int64_t evaluations = 0;
  const auto report = [&](SearchStage stage, std::size_t done, std::size_t all) {
    if (options_.progress) options_.progress({measure, stage, done, all, 0.0});
  };
  const int threads = std::min(options_.threads, variables);
  if (options_.progress) {
    const int lags = model_.lags();
    const int width = variables * (lags + 1);
    const double each =
        Elimination::SecondsPerUpdate(static_cast<std::size_t>(width), options_.instructions);
    options_.progress(
        {.measure = measure,
         .stage = SearchStage::kPasses,
         .done = 0,
         .all = static_cast<std::size_t>(variables) - 1,
         .expected_seconds = each * QueyranneOperations(variables, lags, measure) / threads});
  }
  RunInParallel(threads, [&](int index, int count) {
    const LockstepMember member = {.barrier = shared.barrier, .index = index, .count = count};
    Passes passes(shared, variables, member);
    for (std::size_t done = 1; !passes.Ended(); ++done) {
      passes.Next();
      if (index == 0) report(SearchStage::kPasses, done, static_cast<std::size_t>(variables) - 1);
    }
    if (index != 0) return;
    evaluations = passes.evaluations();
    candidates = std::move(passes).candidates();
  });
  std::ranges::stable_sort(candidates, {}, &Candidate::value);
  if (searched == measure) candidates.resize(1);
  std::vector<std::optional<Result<MinimumPartition>>> found(candidates.size());
  const std::vector<int> all = model_.AllVariables();
  std::mutex mutex;
  std::size_t evaluated = 0;
  const auto evaluate = [&](const Candidate& candidate) -> Result<MinimumPartition> {
    Group others;
    std::ranges::set_difference(all, candidate.part, std::back_inserter(others));
    ASSIGN_OR_RETURN(auto partition, PartitionOf({candidate.part, std::move(others)}, variables));
    ASSIGN_OR_RETURN(const auto value, Evaluate(model_, partition, measure));
    return MinimumPartition{.partition = std::move(partition), .value = value};
  };
  ParallelFor(options_.threads, candidates.size(), [&] {
    return [&](std::size_t i) {
      found[i] = evaluate(candidates[i]);
      const std::lock_guard lock(mutex);
      report(SearchStage::kCandidates, ++evaluated, candidates.size());
    };
  });
  for (const auto& each : found) {
    if (!*each) return std::unexpected(each->error());
  }
  auto best =
      ***std::ranges::min_element(found, {}, [](const auto& each) { return (*each)->value; });
  best.examined = searched == measure ? evaluations : static_cast<std::int64_t>(found.size());
  best.exact =
      measure == Measure::kMultiInformation || (variables <= 2 && measure != Measure::kPhiG);
  best.method = SearchMethod::kQueyranne;
  return best;
}

}  // namespace reveza::phi
