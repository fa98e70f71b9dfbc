// Granger causality: how much the past of one variable improves the prediction of another's present
// beyond the latter's own past. Gaussian transfer entropy is half of it (Barnett, Barrett, Seth
// 2009, Phys Rev Lett 103:238701).
//
//   pair         F = log(var(Y_i | X_i) / var(Y_i | X_i, X_j))
//   conditional  F = log(var(Y_i | all X but X_j) / var(Y_i | all X)), given all other variables
//                (Geweke 1984, J Am Stat Assoc 79:907)
//
// X_i are the `lags` past values of variable i. Values are in nats. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/matrix.h"

namespace reveza::phi {

struct Granger {
  // Rows: sources, columns: targets; 0 on the diagonal.
  Matrix causality;
  // p-values under the null hypothesis of no causality, where samples * F follows a chi-square
  // distribution with `lags` degrees of freedom (Wilks); 1 on the diagonal. Empty for models that
  // were not estimated from data.
  std::optional<Matrix> p;
  // These, adjusted for the false discovery rate over all pairs (AdjustedP()).
  std::optional<Matrix> q;
};

enum class GrangerKind { kPair, kConditional };

// Computes the causality of all ordered pairs, with p-values if `samples` is given.
Granger GrangerOf(const GaussianModel& model, GrangerKind kind,
                  std::optional<std::int64_t> samples);

// Returns the Gaussian transfer entropy in nats.
inline double TransferEntropyOf(double causality) { return 0.5 * causality; }

}  // namespace reveza::phi
