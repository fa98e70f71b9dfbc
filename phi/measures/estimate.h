// Estimates the Gaussian model of the measures from time series.
//
// Uses sample covariances about the separate means of past and present rows; past and present are
// paired only within a trial. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/series.h"

namespace reveza::phi {

// Shrinkage of correlations towards 0 with variances unchanged: r_ij* = (1 - amount) r_ij, i != j.
struct Shrinkage {
  enum class Kind {
    kNone,
    kAmount,     // `amount`, 0 to 1
    kAutomatic,  // sum Var(r_ij) / sum r_ij^2: the Ledoit-Wolf rule for this target (Schaefer &
                 // Strimmer 2005, Stat Appl Genet Mol Biol 4:32, target D). Assumes independent
                 // rows; shrinks too little otherwise.
  };
  Kind kind = Kind::kNone;
  double amount = 0.0;
};

// Returns kInvalidArgument, with row and variable, if a value is not finite.
Status CheckNumbers(std::span<const SeriesView> trials, std::span<const std::string> names);

// Parses "none", "auto" or an amount from 0 to 1.
Result<Shrinkage> ParseShrinkage(std::string_view text);

struct EstimateOptions {
  int lag = 1;    // tau >= 1: rows from the latest past row to the present
  int order = 1;  // p >= 1: the past consists of rows t - tau, ..., t - tau - p + 1
  Shrinkage shrinkage = {};
  std::vector<std::string> names = {};  // of the variables, for errors; default: "variable 0", ...
};

struct Estimate {
  GaussianModel model;
  std::int64_t samples = 0;  // pairs of past and present
  double shrinkage = 0.0;    // applied amount, 0 to 1
};

// Estimates the model from trials with the same variables. Errors: a non-finite value (names row
// and variable), a constant variable, too few rows (states how many are needed), lag or order below
// 1, and those of GaussianModel::FromJoint().
Result<Estimate> EstimateModel(std::span<const SeriesView> trials, const EstimateOptions& options);
Result<Estimate> EstimateModel(const SeriesView& series, const EstimateOptions& options);

// The pairs of past and present of a series, standardised to mean 0 and variance 1 (divisor N), in
// the order of GaussianModel::joint(), by trial and time.
struct StandardPairs {
  std::int64_t count = 0;
  int width = 0;
  std::vector<double> values;

  const double* Row(std::int64_t pair) const { return values.data() + pair * width; }
};

// Returns the pairs behind the estimate of a model of the same trials and options.
StandardPairs StandardPairsOf(std::span<const SeriesView> trials, const EstimateOptions& options);

// The correlations of the variables at equal times, from all rows of all trials.
struct SimultaneousEstimate {
  Correlation correlation;
  std::int64_t samples = 0;  // rows
  double shrinkage = 0.0;    // applied amount, 0 to 1
};

// Estimates the correlations of the variables at equal times. Errors: those of EstimateModel().
Result<SimultaneousEstimate> EstimateSimultaneous(std::span<const SeriesView> trials,
                                                  const Shrinkage& shrinkage,
                                                  std::span<const std::string> names = {});

// Returns the order p in 1 .. max_order that minimises the criterion for a vector autoregression,
// with all orders fitted to the same rows by least squares:
//   AIC(p) = log |Sigma_E| + 2 p n^2 / N,   BIC(p) = log |Sigma_E| + log(N) p n^2 / N
// (Luetkepohl 2005, New Introduction to Multiple Time Series Analysis, section 4.3).
enum class OrderCriterion { kAic, kBic };
Result<int> BestOrder(std::span<const SeriesView> trials, int lag, int max_order,
                      OrderCriterion criterion, std::vector<std::string> names = {});

}  // namespace reveza::phi
