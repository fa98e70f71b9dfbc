#include "phi/measures/gaussian.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <tuple>

namespace reveza::phi {
namespace {

double LargestElement(const Matrix& matrix) {
  double largest = 0.0;
  for (const double value : matrix.values()) largest = std::max(largest, std::abs(value));
  return largest;
}

bool AllNumbers(const Matrix& matrix) {
  return std::ranges::all_of(matrix.values(), [](double value) { return std::isfinite(value); });
}

Status CheckModel(const Matrix& coupling, const Matrix& noise) {
  const int size = coupling.rows();
  if (size < 1 || coupling.columns() != size) {
    return InvalidArgument("the coupling matrix is {} x {}; it must be square", size,
                           coupling.columns());
  }
  if (noise.rows() != size || noise.columns() != size) {
    return InvalidArgument("the noise covariance is {} x {}, but the coupling {} x {}",
                           noise.rows(), noise.columns(), size, size);
  }
  if (!AllNumbers(coupling) || !AllNumbers(noise)) {
    return InvalidArgument("a matrix has an element that is not a finite number");
  }
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < i; ++j) {
      if (std::abs(noise(i, j) - noise(j, i)) > 1e-12 * LargestElement(noise)) {
        return InvalidArgument(
            "the noise covariance is not symmetric: row {}, column {} has {}, its mirror {}", i, j,
            noise(i, j), noise(j, i));
      }
    }
  }
  if (!Cholesky(noise)) {
    return InvalidArgument(
        "the noise covariance is not positive definite; each variable needs noise of its own, such "
        "as the identity");
  }
  return {};
}

// Returns the infinity norm, the largest absolute row sum.
double NormOf(const Matrix& matrix) {
  double largest = 0.0;
  for (int i = 0; i < matrix.rows(); ++i) {
    double sum = 0.0;
    for (int j = 0; j < matrix.columns(); ++j) sum += std::abs(matrix(i, j));
    largest = std::max(largest, sum);
  }
  return largest;
}

// Returns |R| |R^-1| in that norm; infinite unless R is positive definite.
double ConditionOf(const Matrix& correlation) {
  const auto lower = Cholesky(correlation);
  if (!lower) return HUGE_VAL;
  return NormOf(correlation) * NormOf(SolveCholesky(*lower, Matrix::Identity(correlation.rows())));
}

// Returns the row with the largest weight in the direction of least variance.
int MostDependentRow(const Matrix& correlation) {
  const Eigen eigen = SymmetricEigen(correlation);
  int row = 0;
  for (int i = 1; i < correlation.rows(); ++i) {
    if (std::abs(eigen.vectors(i, 0)) > std::abs(eigen.vectors(row, 0))) row = i;
  }
  return row;
}

Status CheckCondition(const Matrix& correlation, std::string_view what, int lags,
                      std::string_view cure, std::span<const std::string> names) {
  const double number = ConditionOf(correlation);
  if (number <= GaussianModel::kMaxCondition) return {};
  return InvalidArgument(
      "{} is {}: its condition number is {}, the most is {:.0e}; {} is {}determined by "
      "others: {}",
      what, std::isinf(number) ? "singular" : "nearly singular",
      std::isinf(number) ? "infinite" : fmt::format("{:.2g}", number), GaussianModel::kMaxCondition,
      VariableName(names, MostDependentRow(correlation) / lags),
      std::isinf(number) ? "" : "nearly ", cure);
}

}  // namespace

std::string VariableName(std::span<const std::string> names, int variable) {
  return names.empty() ? fmt::format("variable {}", variable)
                       : fmt::format("'{}'", names[static_cast<std::size_t>(variable)]);
}

std::optional<Matrix> StationaryCovariance(const Matrix& coupling, const Matrix& noise) {
  constexpr int kMaxDoublings = 60;
  constexpr double kUnstable = 1e150;
  Matrix sum = noise;
  Matrix power = coupling;
  for (int i = 0; i < kMaxDoublings; ++i) {
    const Matrix added = Product(power, ProductTransposed(sum, power));
    sum = Sum(sum, added);
    if (!(LargestElement(sum) < kUnstable)) return std::nullopt;
    if (LargestElement(added) <= 1e-18 * LargestElement(sum)) return sum;
    power = Product(power, power);
    if (!(LargestElement(power) < kUnstable)) return std::nullopt;
  }
  return std::nullopt;
}

double SpectralRadius(const Matrix& matrix) {
  // |A^(2^k)|^(1/2^k) tends to the radius; the scale of each square is kept as a logarithm.
  constexpr int kSquares = 64;
  Matrix power = matrix;
  double log_scale = 0.0;
  double weight = 1.0;
  for (int i = 0; i < kSquares; ++i) {
    const double largest = LargestElement(power);
    if (largest == 0.0) return 0.0;
    log_scale += weight * std::log(largest);
    for (double& value : power.values()) value /= largest;
    power = Product(power, power);
    weight *= 0.5;
  }
  return std::exp(log_scale);
}

std::string RadiusText(double radius) {
  const std::string text = fmt::format("{:.6g}", radius);
  return text == "1" && radius < 1.0 ? fmt::format("1 - {:.2g}", 1.0 - radius) : text;
}

Result<Correlation> CorrelationOf(const Matrix& covariance, std::span<const std::string> names,
                                  std::string_view cure) {
  if (!AllNumbers(covariance)) {
    return InvalidArgument("the covariance has an element that is not a finite number");
  }
  const int size = covariance.rows();
  Correlation result{.matrix = Matrix::Identity(size)};
  for (int i = 0; i < size; ++i) {
    if (!(covariance(i, i) > 0.0)) {
      return InvalidArgument("{} has no variance; leave it out", VariableName(names, i));
    }
    for (int j = 0; j < i; ++j) {
      const double value =
          covariance(i, j) / (std::sqrt(covariance(i, i)) * std::sqrt(covariance(j, j)));
      result.matrix(i, j) = result.matrix(j, i) = value;
    }
  }
  RETURN_IF_ERROR(CheckCondition(result.matrix, "the correlation matrix", 1, cure, names));
  result.condition = ConditionOf(result.matrix);
  return result;
}

Result<GaussianModel> GaussianModel::FromJoint(const Matrix& joint, int lags,
                                               std::span<const double> log_scales,
                                               std::span<const std::string> names, bool estimated) {
  const int size = joint.rows();
  if (lags < 1 || size < lags + 1 || joint.columns() != size || size % (lags + 1) != 0) {
    return Fail(Error::Code::kInternal, "a joint covariance of the wrong shape");
  }
  if (!AllNumbers(joint)) {
    return InvalidArgument(
        "the covariance of past and present has an element that is not a finite number");
  }
  GaussianModel model;
  model.variables_ = size / (lags + 1);
  model.lags_ = lags;
  model.joint_ = Matrix(size, size);
  std::vector<double> scale(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) {
    if (!(joint(i, i) > 0.0)) {
      return InvalidArgument("{} has no variance; leave it out",
                             VariableName(names, i / (lags + 1)));
    }
    scale[i] = std::sqrt(joint(i, i));
    const double log_scale = log_scales.empty() ? 0.0 : log_scales[i];
    model.log_variances_.push_back(std::log(joint(i, i)) + 2.0 * log_scale);
  }
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      model.joint_(i, j) = i == j ? 1.0 : 0.5 * (joint(i, j) + joint(j, i)) / (scale[i] * scale[j]);
    }
  }
  const std::vector<int> all = model.AllVariables();
  model.condition_ = ConditionOf(model.joint_);
  if (model.condition_ <= kMaxCondition) return model;
  const std::string_view cure =
      estimated ? "leave it out, or use --shrinkage" : "leave it out, or give it more noise";
  for (const auto& [rows, what, each] :
       {std::tuple{model.Past(all), "the correlation matrix of the past", lags},
        std::tuple{model.Present(all), "the correlation matrix of the present", 1}}) {
    auto checked = CheckCondition(Submatrix(model.joint_, rows, rows), what, each, cure, names);
    if (!checked) return std::unexpected(checked.error());
  }
  auto checked =
      CheckCondition(model.joint_, "the joint correlation matrix of past and present", lags + 1,
                     estimated ? "the past leaves no noise; use a longer --tau, or --shrinkage"
                               : "the past leaves no noise; give it more",
                     names);
  return std::unexpected(checked.error());
}

Result<GaussianModel> GaussianModel::FromCoupling(const Matrix& coupling, const Matrix& noise) {
  RETURN_IF_ERROR(CheckModel(coupling, noise));
  const double radius = SpectralRadius(coupling);
  // The radius is known up to rounding. Closer to 1, a stationary covariance has no correct digit.
  constexpr double kHighestRadius = 1.0 - 1e-13;
  if (!(radius < kHighestRadius)) {
    return InvalidArgument(
        "the coupling matrix is not stable: its spectral radius is {}, but must be below 1; divide "
        "the matrix by a larger number",
        RadiusText(radius));
  }
  const auto covariance = StationaryCovariance(coupling, noise);
  if (!covariance) {
    return InvalidArgument(
        "the covariance of the model, with spectral radius {}, exceeds the range of numbers; "
        "divide the noise covariance by a larger number, or check the coupling matrix",
        RadiusText(radius));
  }
  const int size = coupling.rows();
  const Matrix cross = Product(coupling, *covariance);
  Matrix joint(2 * size, 2 * size);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      joint(2 * i, 2 * j) = (*covariance)(i, j);
      joint(2 * i + 1, 2 * j + 1) = (*covariance)(i, j);
      joint(2 * i + 1, 2 * j) = cross(i, j);
      joint(2 * j, 2 * i + 1) = cross(i, j);
    }
  }
  return FromJoint(joint, 1, {}, {}, false);
}

std::vector<int> GaussianModel::Rows(std::span<const int> variables, int first, int last) const {
  std::vector<int> rows;
  for (const int variable : variables) {
    for (int i = first; i <= last; ++i) rows.push_back(variable * (lags_ + 1) + i);
  }
  return rows;
}

std::vector<int> GaussianModel::AllVariables() const {
  std::vector<int> all(static_cast<std::size_t>(variables_));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

double GaussianModel::LogDeterminant(std::span<const int> rows) const {
  const auto lower = Cholesky(Submatrix(joint_, rows, rows));
  // Principal submatrices of a well-conditioned matrix are positive definite.
  return lower ? LogDeterminantOf(*lower) : -HUGE_VAL;
}

double GaussianModel::MutualInformation(std::span<const int> rows,
                                        std::span<const int> others) const {
  std::vector<int> both(rows.begin(), rows.end());
  both.insert(both.end(), others.begin(), others.end());
  return 0.5 * (LogDeterminant(rows) + LogDeterminant(others) - LogDeterminant(both));
}

}  // namespace reveza::phi
