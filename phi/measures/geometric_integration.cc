// phi_g by block coordinate descent: given the residuals of all other parts, the block of one part
// that minimises |Sigma_E'| follows from regressing its present on its past and those residuals,
// since |Sigma_E'| = |residuals of the others| * |residuals of this part given the others|. Each
// step lowers the determinant, so that the sweeps converge to a stationary point, where
// [Sigma_E'^-1 (A - A') Sigma_X] is 0 in the blocks, the optimality condition of the paper.
//
// If the parts share nearly all of their noise, the number of sweeps grows as 1 / (1 - r^2) of
// their correlation r. All blocks are then updated at once by generalised least squares with the
// latest residual covariance (Zellner 1962, iterated seemingly unrelated regressions); this lowers
// the determinant too, since log |S| lies below its tangent in S.
#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "phi/measures/measures.h"

namespace reveza::phi {
namespace {

constexpr int kMaxSweeps = 20000;
// Minimum decrease of log |Sigma_E'| per sweep for another sweep to follow.
constexpr double kMinGain = 1e-15;
// Threshold of the ratio of the residual determinant to the product of the parts', a lower bound of
// every 1 - r^2, below which all blocks are updated at once.
constexpr double kEntangled = 0.01;

// Covariances of the residuals E' = Y - A' X with past, present and themselves, updated as blocks
// of A' change.
class Residuals {
 public:
  Residuals(const GaussianModel& model, const Partition& partition)
      : past_(Submatrix(model.joint(), PastRows(model), PastRows(model))),
        present_(Submatrix(model.joint(), PresentRows(model), PresentRows(model))),
        cross_(Submatrix(model.joint(), PresentRows(model), PastRows(model))),
        coupling_(model.variables(), model.variables() * model.lags()),
        with_past_(cross_),
        with_present_(present_) {
    for (const auto& part : partition.parts()) {
      std::vector<int> columns;
      for (const int variable : part) {
        for (int lag = 0; lag < model.lags(); ++lag) {
          columns.push_back(variable * model.lags() + lag);
        }
      }
      columns_.push_back(std::move(columns));
      parts_.push_back(part);
    }
  }

  // Updates the block of one part, given the residuals of the others (initially given nothing).
  bool Improve(std::size_t index, bool given_others) {
    const std::vector<int>& rows = parts_[index];
    const std::vector<int>& columns = columns_[index];
    std::vector<int> others;
    if (given_others) {
      for (std::size_t other = 0; other < parts_.size(); ++other) {
        if (other != index) others.insert(others.end(), parts_[other].begin(), parts_[other].end());
      }
    }
    const auto lower = Cholesky(Regressors(columns, others));
    if (!lower) return false;
    const Matrix solved = SolveCholesky(*lower, Targets(rows, columns, others));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        coupling_(rows[r], columns[c]) = solved(static_cast<int>(c), static_cast<int>(r));
      }
      Update(rows[r], columns);
    }
    return true;
  }

  // Updates the blocks of all parts for residuals whose covariance has this Cholesky factor.
  bool ImproveAll(const Matrix& covariance_factor) {
    const Matrix weights = SolveCholesky(covariance_factor, Matrix::Identity(present_.rows()));
    struct Unknown {
      int row;
      int column;
    };
    std::vector<Unknown> unknowns;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      for (const int row : parts_[k]) {
        for (const int column : columns_[k]) unknowns.push_back({row, column});
      }
    }
    const int count = static_cast<int>(unknowns.size());
    Matrix normal(count, count);
    Matrix target(count, 1);
    const Matrix weighted = Product(weights, cross_);
    for (int i = 0; i < count; ++i) {
      const auto& [row, column] = unknowns[i];
      for (int j = 0; j <= i; ++j) {
        const auto& other = unknowns[j];
        normal(i, j) = weights(row, other.row) * past_(column, other.column);
      }
      target(i, 0) = weighted(row, column);
    }
    const auto lower = Cholesky(normal);
    if (!lower) return false;
    const Matrix solved = SolveCholesky(*lower, target);
    for (int i = 0; i < count; ++i) {
      const auto& [row, column] = unknowns[i];
      coupling_(row, column) = solved(i, 0);
    }
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      for (const int row : parts_[k]) Update(row, columns_[k]);
    }
    return true;
  }

  // Whether the parts share nearly all of their residuals, whose covariance has this determinant.
  bool Entangled(const Matrix& covariance, double log_determinant) const {
    double apart = 0;
    for (const auto& part : parts_) {
      const auto lower = Cholesky(Submatrix(covariance, part, part));
      if (!lower) return true;
      apart += LogDeterminantOf(*lower);
    }
    return std::exp(log_determinant - apart) < kEntangled;
  }

  // Cov(E', E').
  Matrix Covariance() const {
    return Sum(with_present_, ProductTransposed(with_past_, coupling_), -1.0);
  }
  // |Sigma_E| of the full model.
  std::optional<double> LogDeterminantOfFull() const {
    const auto past = Cholesky(past_);
    if (!past) return std::nullopt;
    const Matrix half = SolveLower(*past, Transposed(cross_));
    const auto rest = Cholesky(Sum(present_, Product(Transposed(half), half), -1.0));
    if (!rest) return std::nullopt;
    return LogDeterminantOf(*rest);
  }
  const Matrix& coupling() const { return coupling_; }

 private:
  static std::vector<int> PastRows(const GaussianModel& model) {
    return model.Past(model.AllVariables());
  }
  static std::vector<int> PresentRows(const GaussianModel& model) {
    return model.Present(model.AllVariables());
  }

  // Returns Cov(E'_i, E'_j) from the maintained rows.
  double ResidualCovariance(int i, int j) const {
    double sum = with_present_(i, j);
    for (int k = 0; k < past_.rows(); ++k) sum -= with_past_(i, k) * coupling_(j, k);
    return sum;
  }

  Matrix Regressors(const std::vector<int>& columns, const std::vector<int>& others) const {
    const int own = static_cast<int>(columns.size());
    const int size = own + static_cast<int>(others.size());
    Matrix result(size, size);
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j <= i; ++j) {
        if (i < own) {
          result(i, j) = past_(columns[i], columns[j]);
        } else if (j < own) {
          result(i, j) = with_past_(others[i - own], columns[j]);
        } else {
          result(i, j) = ResidualCovariance(others[i - own], others[j - own]);
        }
      }
    }
    return result;
  }

  Matrix Targets(const std::vector<int>& rows, const std::vector<int>& columns,
                 const std::vector<int>& others) const {
    const int own = static_cast<int>(columns.size());
    Matrix result(own + static_cast<int>(others.size()), static_cast<int>(rows.size()));
    for (int j = 0; j < result.columns(); ++j) {
      const int row = rows[j];
      for (int i = 0; i < result.rows(); ++i) {
        result(i, j) = i < own ? cross_(row, columns[i]) : with_present_(others[i - own], row);
      }
    }
    return result;
  }

  // Updates the covariances after row `row` of A' changed in `columns`.
  void Update(int row, const std::vector<int>& columns) {
    for (int k = 0; k < past_.rows(); ++k) {
      double sum = cross_(row, k);
      for (const int c : columns) sum -= coupling_(row, c) * past_(c, k);
      with_past_(row, k) = sum;
    }
    for (int j = 0; j < present_.rows(); ++j) {
      double sum = present_(row, j);
      for (const int c : columns) sum -= coupling_(row, c) * cross_(j, c);
      with_present_(row, j) = sum;
    }
  }

  Matrix past_;
  Matrix present_;
  Matrix cross_;         // Cov(Y, X)
  Matrix coupling_;      // A'
  Matrix with_past_;     // Cov(E', X)
  Matrix with_present_;  // Cov(E', Y)
  std::vector<std::vector<int>> parts_;
  std::vector<std::vector<int>> columns_;  // past columns of each part
};

}  // namespace

Result<GeometricIntegration> GeometricIntegrationOf(const GaussianModel& model,
                                                    const Partition& partition) {
  const auto failed = [](std::string_view what) {
    return InvalidArgument(
        "phi_g: {}; the data are too nearly singular; use --shrinkage, or fewer variables", what);
  };
  Residuals residuals(model, partition);
  const auto full = residuals.LogDeterminantOfFull();
  if (!full) return failed("the covariance of the noise is not positive definite");
  const std::size_t parts = partition.parts().size();
  for (std::size_t k = 0; k < parts; ++k) {
    if (!residuals.Improve(k, false)) return failed("the past of a part is singular");
  }
  double before = HUGE_VAL;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    const Matrix covariance = residuals.Covariance();
    const auto lower = Cholesky(covariance);
    if (!lower) return failed("the covariance of the residuals is not positive definite");
    const double now = LogDeterminantOf(*lower);
    if (!(before - now > kMinGain * (1.0 + std::abs(now)))) {
      return GeometricIntegration{.value = std::max(0.0, 0.5 * (std::min(before, now) - *full)),
                                  .coupling = residuals.coupling(),
                                  .sweeps = sweep};
    }
    before = now;
    if (residuals.Entangled(covariance, now)) {
      if (!residuals.ImproveAll(*lower)) return failed("residuals of the parts are singular");
      continue;
    }
    for (std::size_t k = 0; k < parts; ++k) {
      if (!residuals.Improve(k, true)) return failed("residuals of the parts are singular");
    }
  }
  return failed(fmt::format("no convergence after {} sweeps", kMaxSweeps));
}

}  // namespace reveza::phi
