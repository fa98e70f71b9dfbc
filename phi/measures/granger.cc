#include "phi/measures/granger.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/chi_square.h"
#include "phi/measures/significance.h"

namespace reveza::phi {
namespace {

// Returns log of the residual variance of one variable's present given these rows.
double LogResidual(const GaussianModel& model, int variable, std::vector<int> known) {
  const double before = model.LogDeterminant(known);
  const int self[] = {variable};
  known.push_back(model.Present(self).front());
  return model.LogDeterminant(known) - before;
}

Matrix AdjustedOffDiagonal(const Matrix& p) {
  std::vector<double> pairs;
  for (int i = 0; i < p.rows(); ++i) {
    for (int j = 0; j < p.columns(); ++j) {
      if (i != j) pairs.push_back(p(i, j));
    }
  }
  const std::vector<double> adjusted = AdjustedP(pairs);
  Matrix q = Matrix::Identity(p.rows());
  auto next = adjusted.begin();
  for (int i = 0; i < p.rows(); ++i) {
    for (int j = 0; j < p.columns(); ++j) {
      if (i != j) q(i, j) = *next++;
    }
  }
  return q;
}

}  // namespace

Granger GrangerOf(const GaussianModel& model, GrangerKind kind,
                  std::optional<std::int64_t> samples) {
  const int variables = model.variables();
  Granger result{.causality = Matrix(variables, variables), .p = {}, .q = {}};
  Matrix p = Matrix::Identity(variables);
  for (int to = 0; to < variables; ++to) {
    for (int from = 0; from < variables; ++from) {
      if (from == to) continue;
      std::vector<int> without;
      for (int i = 0; i < variables; ++i) {
        if (i == to || (kind == GrangerKind::kConditional && i != from)) without.push_back(i);
      }
      std::vector<int> with = without;
      with.push_back(from);
      // More predictors cannot increase the variance, except by rounding.
      const double value = std::max(0.0, LogResidual(model, to, model.Past(without)) -
                                             LogResidual(model, to, model.Past(with)));
      result.causality(from, to) = value;
      if (!samples) continue;
      p(from, to) = ChiSquareTail(static_cast<double>(*samples) * value, model.lags());
    }
  }
  if (!samples) return result;
  result.q = AdjustedOffDiagonal(p);
  result.p = std::move(p);
  return result;
}

}  // namespace reveza::phi
