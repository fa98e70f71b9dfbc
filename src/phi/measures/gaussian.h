// The joint Gaussian distribution of past and present that all measures are functions of.
//
// X is the past (`lags` values of each variable, the latest first), Y the present (one value of
// each). A model of one lag stands for Y = A X + E with E independent of X: a vector autoregression
// of order 1, or any stationary Gaussian process looked at through one lag.
//
// Thread-safety: a model does not change once made; any number of threads may read it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "phi/measures/matrix.h"

namespace reveza::phi {

class GaussianModel {
 public:
  // A larger condition number of a correlation matrix is an error: of sixteen digits of a double
  // fewer than four would be left in a determinant.
  static constexpr double kMostCondition = 1e12;
  // A larger one is worth a word to the user.
  static constexpr double kManyCondition = 1e8;

  // From the covariance of (X_0, Y_0, X_1, Y_1, ...), where X_i are the `lags` past values of
  // variable i and Y_i is its present one: size variables * (lags + 1).
  // Errors: a variable without variance; a matrix that is singular or nearly so (named, with its
  // condition number and the variable that the others determine).
  // Where rows were divided by something before, `log_scales` has its logarithms, for the
  // variances.
  static Result<GaussianModel> FromJoint(const Matrix& joint, int lags,
                                         std::span<const double> log_scales = {});

  // From the coupling A and the covariance of the noise E, both n by n: the stationary distribution
  // of Y = A X + E, Sigma_X = A Sigma_X A^T + Sigma_E (one lag).
  // Errors: shapes, noise that is not symmetric or not positive definite, a coupling that is not
  // stable (spectral radius 1 or more, named).
  static Result<GaussianModel> FromCoupling(const Matrix& coupling, const Matrix& noise);

  int variables() const { return variables_; }
  int lags() const { return lags_; }

  // The joint correlation matrix, ordered as in FromJoint. The measures do not depend on units.
  const Matrix& joint() const { return joint_; }
  // log of the variance that each row of the joint matrix had.
  const std::vector<double>& log_variances() const { return log_variances_; }
  // Condition number of the joint correlation matrix R: |R| |R^-1| in the norm of the largest sum
  // of absolute values of a row, which is at most as many times that of eigenvalues as R has rows.
  double condition() const { return condition_; }

  // Rows of the joint matrix that are the past, the present or both of some variables.
  std::vector<int> Past(std::span<const int> variables) const;
  std::vector<int> Present(std::span<const int> variables) const;
  std::vector<int> Both(std::span<const int> variables) const;
  std::vector<int> AllVariables() const;

  // log |correlation matrix of these rows|; 0 for none.
  double LogDeterminant(std::span<const int> rows) const;
  // Mutual information of two disjoint sets of rows, in nats.
  double MutualInformation(std::span<const int> rows, std::span<const int> others) const;

 private:
  GaussianModel() = default;

  int variables_ = 0;
  int lags_ = 1;
  Matrix joint_;
  std::vector<double> log_variances_;
  double condition_ = 1.0;
};

// Sigma of Sigma = A Sigma A^T + noise, by doubling; none where A is not stable.
std::optional<Matrix> StationaryCovariance(const Matrix& coupling, const Matrix& noise);

// The largest absolute eigenvalue, from the growth of powers of the matrix.
double SpectralRadius(const Matrix& matrix);

}  // namespace reveza::phi
