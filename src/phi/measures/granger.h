// Granger causality: what the past of one variable says of another's present beyond that one's own
// past. Gaussian transfer entropy is half of it (Barnett, Barrett, Seth 2009, Phys Rev Lett
// 103:238701).
//
//   pair         F = log(var(Y_i | X_i) / var(Y_i | X_i, X_j))
//   conditional  F = log(var(Y_i | all X but X_j) / var(Y_i | all X)): of what is left when all
//                others are known (Geweke 1984, J Am Stat Assoc 79:907)
//
// X_i are the `lags` past values of variable i. In nats. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/matrix.h"

namespace reveza::phi {

struct Granger {
  // (from, to); 0 on the diagonal.
  Matrix causality;
  // The chance that independent variables give as much in so many samples: samples * F is a
  // chi-square of `lags` degrees of freedom then (Wilks). 1 on the diagonal. None for a model that
  // was not estimated.
  std::optional<Matrix> p;
};

enum class GrangerKind { kPair, kConditional };

Granger GrangerOf(const GaussianModel& model, GrangerKind kind,
                  std::optional<std::int64_t> samples);

inline double TransferEntropyOf(double causality) { return 0.5 * causality; }

}  // namespace reveza::phi
