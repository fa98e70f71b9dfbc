// The joint Gaussian distribution of past and present, of which all measures are functions.
//
// X is the past (`lags` values per variable, latest first), Y the present (one value per variable).
// A model with one lag stands for Y = A X + E with E independent of X: a vector autoregression of
// order 1, or any stationary Gaussian process observed at one lag.
//
// Thread-safe: models are immutable.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/matrix.h"

namespace reveza::phi {

class GaussianModel {
 public:
  // Maximum condition number of a correlation matrix. Above it, fewer than four of a double's
  // sixteen digits would remain in a determinant.
  static constexpr double kMaxCondition = 1e12;
  // Condition number above which users should be warned.
  static constexpr double kWarnCondition = 1e8;

  // Makes a model from the covariance of (X_0, Y_0, X_1, Y_1, ...), of size variables * (lags + 1),
  // where X_i are the `lags` past values of variable i and Y_i is its present value. If rows were
  // divided by scales beforehand, `log_scales` holds the logarithms of the scales. `names` are
  // those of the variables in errors. Errors: a variable without variance; a singular or nearly
  // singular matrix (the message names the matrix, its condition number and the variable that the
  // others determine, and unless `estimated`, no option of estimates).
  static Result<GaussianModel> FromJoint(const Matrix& joint, int lags,
                                         std::span<const double> log_scales = {},
                                         std::span<const std::string> names = {},
                                         bool estimated = true);

  // Makes the model of the stationary distribution of Y = A X + E, Sigma_X = A Sigma_X A^T +
  // Sigma_E (one lag), from the coupling A and the covariance of the noise E, both n x n. Errors:
  // wrong shapes, noise that is not symmetric and positive definite, an unstable coupling (spectral
  // radius of 1 or more).
  static Result<GaussianModel> FromCoupling(const Matrix& coupling, const Matrix& noise);

  int variables() const { return variables_; }
  int lags() const { return lags_; }

  // The joint correlation matrix, in the order of FromJoint(). Measures do not depend on units.
  const Matrix& joint() const { return joint_; }
  // Logarithm of the variance of each row of the joint matrix.
  const std::vector<double>& log_variances() const { return log_variances_; }
  // Condition number |R| |R^-1| of the joint correlation matrix R in the infinity norm, which
  // exceeds the spectral one by at most a factor of the number of rows.
  double condition() const { return condition_; }

  // Return the rows of the joint matrix that hold the past, the present or both of `variables`.
  std::vector<int> Past(std::span<const int> variables) const {
    return Rows(variables, 0, lags_ - 1);
  }
  std::vector<int> Present(std::span<const int> variables) const {
    return Rows(variables, lags_, lags_);
  }
  std::vector<int> Both(std::span<const int> variables) const { return Rows(variables, 0, lags_); }
  std::vector<int> AllVariables() const;

  // Returns log |correlation matrix of these rows|; 0 for no rows.
  double LogDeterminant(std::span<const int> rows) const;
  // Returns the mutual information of two disjoint sets of rows, in nats.
  double MutualInformation(std::span<const int> rows, std::span<const int> others) const;

 private:
  GaussianModel() = default;
  // Returns rows `first` to `last` of each variable; its last row is the present.
  std::vector<int> Rows(std::span<const int> variables, int first, int last) const;

  int variables_ = 0;
  int lags_ = 1;
  Matrix joint_;
  std::vector<double> log_variances_;
  double condition_ = 1.0;
};

// The correlation matrix of variables at equal times.
struct Correlation {
  Matrix matrix;
  double condition = 1.0;  // as GaussianModel::condition()
};

// Returns the correlations of a covariance. Errors: those of GaussianModel::FromJoint(), which
// advise `cure`.
Result<Correlation> CorrelationOf(const Matrix& covariance, std::span<const std::string> names = {},
                                  std::string_view cure = "leave it out, or use --shrinkage");

// Returns the name of a variable for messages; "variable 2" without names.
std::string VariableName(std::span<const std::string> names, int variable);

// Solves Sigma = A Sigma A^T + noise by doubling; nothing if A is not stable.
std::optional<Matrix> StationaryCovariance(const Matrix& coupling, const Matrix& noise);

// Returns the largest absolute eigenvalue, from the growth of powers of the matrix.
double SpectralRadius(const Matrix& matrix);
// Returns a radius with six digits; close below 1, by how much: "1 - 1e-11".
std::string RadiusText(double radius);

}  // namespace reveza::phi
