// From a time series to the Gaussian model that the measures are functions of.
//
// Sample covariances about the mean of past and of present rows (each its own), pairs of rows only
// within one trial. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/series.h"

namespace reveza::phi {

// How correlations are drawn towards 0, variances being kept: r_ij* = (1 - amount) r_ij for i != j.
struct Shrinkage {
  enum class Kind {
    kNone,
    kAmount,     // `amount` is given, 0 to 1
    kAutomatic,  // sum Var(r_ij) / sum r_ij^2: Ledoit & Wolf's rule for this target (Schaefer &
                 // Strimmer 2005, Stat Appl Genet Mol Biol 4:32, target D). It supposes rows that
                 // are independent; where they are not, it draws too little.
  };
  Kind kind = Kind::kNone;
  double amount = 0.0;
};

struct EstimateOptions {
  int lag = 1;    // tau: rows from the latest row of the past to the present
  int order = 1;  // p: rows t - tau, t - tau - 1, ..., t - tau - p + 1 are the past
  Shrinkage shrinkage = {};
};

struct Estimate {
  GaussianModel model;
  std::int64_t samples = 0;  // pairs of past and present
  double shrinkage = 0.0;    // what was used
};

// All trials must have the same variables. Errors: a value that is not a finite number (row and
// variable named), a variable that does not change, too few rows (says how many it takes), lag or
// order below 1, and those of GaussianModel::FromJoint.
Result<Estimate> EstimateModel(std::span<const SeriesView> trials, const EstimateOptions& options);
Result<Estimate> EstimateModel(const SeriesView& series, const EstimateOptions& options);

// Which order p = 1 .. most describes the data best as a vector autoregression, all fitted to the
// same rows by least squares:
//   AIC(p) = log |Sigma_E| + 2 p n^2 / N,   BIC(p) = log |Sigma_E| + log(N) p n^2 / N
// (Luetkepohl 2005, New Introduction to Multiple Time Series Analysis, section 4.3).
enum class OrderCriterion { kAic, kBic };
Result<int> BestOrder(std::span<const SeriesView> trials, int lag, int most,
                      OrderCriterion criterion);

}  // namespace reveza::phi
