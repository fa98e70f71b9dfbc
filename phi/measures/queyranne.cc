// Queyranne's algorithm: minimises a symmetric submodular function over all bipartitions (M.
// Queyranne 1998, Mathematical Programming 82:3; for partitions of neural systems Kitazono, Kanai,
// Oizumi 2018, Entropy 20:173). Exact for such functions, such as the mutual information between
// parts; a heuristic for others.
//
// The function is a sum of log |S_A| + log |S_B| of a bipartition (A, B), over covariances S. While
// A grows by a group u, both follow from matrices from which one row after another is eliminated:
// log |S_Au| = log |S_A| + log |(S given A)_uu|, and log |S_B without u| = log |S_B| + log
// |(S_B^-1)_uu|. A pass over all variables thus costs O(n^3), and all passes O(n^4).
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

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

// A symmetric positive definite matrix from which rows are eliminated: the others become their
// Schur complement.
class Elimination {
 public:
  explicit Elimination(Matrix matrix) : matrix_(std::move(matrix)) {
    for (int row = 0; row < matrix_.rows(); ++row) left_.push_back(row);
  }

  void Eliminate(const std::vector<int>& rows) {
    for (const int row : rows) {
      std::erase(left_, row);
      const double* const pivot = matrix_.Row(row);
      const double inverse = 1.0 / pivot[row];
      for (const int i : left_) {
        double* const out = matrix_.Row(i);
        const double factor = out[row] * inverse;
        for (const int j : left_) out[j] -= factor * pivot[j];
      }
    }
  }

  // Returns log |block of these rows|; infinity if rounding errors made it indefinite.
  double LogDeterminant(const std::vector<int>& rows) const {
    if (rows.size() == 1) return std::log(matrix_(rows[0], rows[0]));
    const auto lower = Cholesky(Submatrix(matrix_, rows, rows));
    return lower ? LogDeterminantOf(*lower) : HUGE_VAL;
  }

 private:
  Matrix matrix_;
  std::vector<int> left_;
};

// The log-determinants of one covariance, of the rows `of(group)` of groups of variables.
class Term {
 public:
  // Nothing if the covariance is singular.
  static std::optional<Term> Of(const GaussianModel& model, double sign, int first, int last) {
    Term term;
    term.sign_ = sign;
    term.rows_ = last - first + 1;
    std::vector<int> rows;
    for (int variable = 0; variable < model.variables(); ++variable) {
      for (int row = first; row <= last; ++row) rows.push_back(variable * (model.lags() + 1) + row);
    }
    term.covariance_ = Submatrix(model.joint(), rows, rows);
    const auto lower = Cholesky(term.covariance_);
    if (!lower) return std::nullopt;
    term.precision_ = SolveCholesky(*lower, Matrix::Identity(lower->rows()));
    term.Restart();
    return term;
  }

  // Makes A empty.
  void Restart() {
    given_.emplace(covariance_);
    rest_.emplace(precision_);
  }
  // Adds a group to A.
  void Add(const Group& group) {
    const std::vector<int> rows = RowsOf(group);
    given_->Eliminate(rows);
    rest_->Eliminate(rows);
  }
  // Returns the change of log |S_A| + log |S_B| when the group moves from B to A.
  double Change(const Group& group) const {
    const std::vector<int> rows = RowsOf(group);
    return sign_ * (given_->LogDeterminant(rows) + rest_->LogDeterminant(rows));
  }

 private:
  std::vector<int> RowsOf(const Group& group) const {
    std::vector<int> rows;
    for (const int variable : group) {
      for (int row = 0; row < rows_; ++row) rows.push_back(variable * rows_ + row);
    }
    return rows;
  }

  double sign_ = 1.0;
  int rows_ = 1;  // per variable
  Matrix covariance_, precision_;
  std::optional<Elimination> given_, rest_;  // S given A, and the inverse of S_B
};

// The terms of mi, si or wms, up to a factor and a constant.
std::optional<std::vector<Term>> TermsOf(const GaussianModel& model, Measure measure) {
  const int lags = model.lags();
  std::vector<std::optional<Term>> all;
  all.push_back(Term::Of(model, 1.0, 0, lags));
  if (measure != Measure::kMultiInformation) all.push_back(Term::Of(model, -1.0, 0, lags - 1));
  if (measure == Measure::kWholeMinusSum) all.push_back(Term::Of(model, -1.0, lags, lags));
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

}  // namespace

Result<MinimumPartition> PartitionSearch::Queyranne(Measure measure) const {
  // The function whose bipartitions are searched.
  const Measure searched = measure == Measure::kPhiR ? Measure::kWholeMinusSum
                           : measure == Measure::kPhiG || measure == Measure::kPhiStar
                               ? Measure::kStochasticInteraction
                               : measure;
  auto terms = TermsOf(model_, searched);
  if (!terms) return InvalidArgument("the covariance is singular; use fewer variables");
  std::vector<Group> groups;
  for (int variable = 0; variable < model_.variables(); ++variable) groups.push_back({variable});
  std::vector<Candidate> candidates;
  std::int64_t evaluations = 0;
  while (groups.size() > 1) {
    for (Term& term : *terms) term.Restart();
    std::vector<double> alone;
    for (const Group& group : groups) alone.push_back(Change(*terms, group));
    evaluations += static_cast<std::int64_t>(groups.size());
    // Order the groups so that each next one minimises f(before + it) - f(it). The last two form a
    // pendent pair: no bipartition that separates them has a lower value than the last one alone.
    for (Term& term : *terms) term.Add(groups.front());
    std::vector<std::size_t> rest;
    for (std::size_t i = 1; i < groups.size(); ++i) rest.push_back(i);
    std::size_t next_to_last = 0;
    while (rest.size() > 1) {
      evaluations += static_cast<std::int64_t>(rest.size());
      std::size_t chosen = 0;
      double least = HUGE_VAL;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        const double key = Change(*terms, groups[rest[i]]) - alone[rest[i]];
        if (key < least) {
          least = key;
          chosen = i;
        }
      }
      next_to_last = rest[chosen];
      for (Term& term : *terms) term.Add(groups[next_to_last]);
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    const std::size_t last = rest.front();
    candidates.push_back({alone[last], groups[last]});
    groups[next_to_last] = United(groups[next_to_last], groups[last]);
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(last));
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::value);
  if (searched == measure) candidates.resize(1);
  std::optional<MinimumPartition> best;
  const std::vector<int> all = model_.AllVariables();
  for (const Candidate& candidate : candidates) {
    Group others;
    std::ranges::set_difference(all, candidate.part, std::back_inserter(others));
    ASSIGN_OR_RETURN(auto partition,
                     PartitionOf({candidate.part, std::move(others)}, model_.variables()));
    ASSIGN_OR_RETURN(const auto value, Evaluate(model_, partition, measure));
    if (!best || value < best->value) best.emplace(std::move(partition), value);
  }
  const std::int64_t n = model_.variables();
  best->examined = searched == measure ? evaluations : static_cast<std::int64_t>(candidates.size());
  best->exact = measure == Measure::kMultiInformation || (n <= 2 && measure != Measure::kPhiG);
  best->method = SearchMethod::kQueyranne;
  return *std::move(best);
}

}  // namespace reveza::phi
