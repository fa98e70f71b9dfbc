// phi_g: minimises half of log |Sigma_E'|, Sigma_E' = Sigma_E + D Sigma_X D^T with D = A - A', over
// the blocks of A'. The function may have several local minima, above all if the parts share noise,
// so that it is minimised from several starting points and the lowest is kept.
//
// From each start, block coordinate descent comes first: given the residuals of all other parts,
// the block of one part that minimises |Sigma_E'| follows from regressing its present on its past
// and those residuals, since |Sigma_E'| = |residuals of the others| * |residuals of this part given
// the others|. Each step lowers the determinant. If the parts share nearly all of their noise, the
// number of sweeps grows as 1 / (1 - r^2) of their correlation r; Newton's method then finishes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "phi/measures/measures.h"
#include "phi/measures/random.h"

namespace reveza::phi {
namespace {

// Starts that are always tried: two and random ones. More follow until kEnoughAgree of them lead to
// the lowest value.
constexpr int kStarts = 10;
constexpr int kMaxStarts = 50;
constexpr int kEnoughAgree = 3;
// Starts without any convergence after which there is no value.
constexpr int kMaxFailures = 2;
// Sweeps before Newton's method, and without it.
constexpr int kSweeps = 100;
constexpr int kMaxSweeps = 4000;
constexpr int kMaxNewtonSteps = 200;
// Maximum number of elements of A' for steps that solve for all of them at once.
constexpr int kMaxElements = 512;
// Minimum decrease of log |Sigma_E'| for another step to follow.
constexpr double kMinGain = 1e-15;
// Maximum decrease that the next Newton step may promise where a search that gains no more stops.
constexpr double kMaxPromise = 1e-7;
// Threshold of the ratio of the residual determinant to the product of the parts', a lower bound of
// every 1 - r^2, below which only Newton's method finishes.
constexpr double kEntangled = 0.01;
// Values of starts that count as the same minimum, in nats, beside a share of the value.
constexpr double kSameMinimum = 1e-7;

// The minimisation of one model and partition: A', and the covariances that follow from it.
class Descent {
 public:
  // Nothing if the past or the noise of the model is singular.
  static std::optional<Descent> Of(const GaussianModel& model, const Partition& partition) {
    const auto past_rows = model.Past(model.AllVariables());
    const auto present_rows = model.Present(model.AllVariables());
    Descent made;
    made.past_ = Submatrix(model.joint(), past_rows, past_rows);
    const Matrix cross = Submatrix(model.joint(), past_rows, present_rows);
    const auto lower = Cholesky(made.past_);
    if (!lower) return std::nullopt;
    made.full_ = Transposed(SolveCholesky(*lower, cross));
    const Matrix half = SolveLower(*lower, cross);
    made.noise_ = Sum(Submatrix(model.joint(), present_rows, present_rows),
                      Product(Transposed(half), half), -1.0);
    const auto noise = Cholesky(made.noise_);
    if (!noise) return std::nullopt;
    made.noise_log_determinant_ = LogDeterminantOf(*noise);
    for (const auto& part : partition.parts()) {
      std::vector<int> columns;
      for (const int variable : part) {
        for (int lag = 0; lag < model.lags(); ++lag) {
          columns.push_back(variable * model.lags() + lag);
        }
      }
      for (const int row : part) {
        for (const int column : columns) made.elements_.push_back({row, column});
      }
      made.parts_.push_back(part);
      made.columns_.push_back(std::move(columns));
    }
    return made;
  }

  const Matrix& coupling() const { return coupling_; }
  int sweeps() const { return sweeps_; }
  // log |Sigma_E'| - log |Sigma_E|.
  double Loss() const { return log_determinant_ - noise_log_determinant_; }

  // Each sets A'. False if a matrix is singular.
  //
  // Regresses each part on its own past.
  bool StartAtRegressions() {
    coupling_ = Matrix(full_.rows(), full_.columns());
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const auto lower = Cholesky(Submatrix(past_, columns_[k], columns_[k]));
      if (!lower) return false;
      const Matrix covariance = ProductTransposed(past_, full_);
      SetBlock(k, SolveCholesky(*lower, Submatrix(covariance, columns_[k], parts_[k])));
    }
    regressions_ = coupling_;
    return Update();
  }
  // Minimises the trace of Sigma_E^-1 Sigma_E', or takes the blocks of A if there are too many.
  bool StartAtInverseNoise() {
    coupling_ = Matrix(full_.rows(), full_.columns());
    for (const auto& [row, column] : elements_) coupling_(row, column) = full_(row, column);
    inverse_noise_ = coupling_;
    if (static_cast<int>(elements_.size()) > kMaxElements) return Update();
    const auto lower = Cholesky(noise_);
    if (!lower || !Update()) return false;
    const Matrix weights = SolveCholesky(*lower, Matrix::Identity(noise_.rows()));
    const auto step = Solved(Curvature(weights), Product(weights, with_past_));
    if (!step || !Move(*step, 1.0)) return false;
    inverse_noise_ = coupling_;
    return true;
  }
  // Goes from the regressions towards the inverse noise's point or past it, and adds random
  // numbers. The other two starts come first.
  bool StartAtRandom(int number) {
    if (regressions_.rows() == 0 || inverse_noise_.rows() == 0) return false;
    const RandomStream random(1, RandomPurpose::kStart, static_cast<std::uint32_t>(number));
    const bool near = number % 2 == 0;
    std::uint64_t position = 0;
    const double share = near ? 0.0 : 2.0 * random.Uniform(position++);
    coupling_ = Sum(regressions_, Sum(inverse_noise_, regressions_, -1.0), share);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const double width = (near ? 3.0 : 1.0) / std::sqrt(static_cast<double>(columns_[k].size()));
      for (const int row : parts_[k]) {
        for (const int column : columns_[k]) {
          coupling_(row, column) += width * random.Normal(position++);
        }
      }
    }
    return Update();
  }

  // Descends to a minimum; false if there is no convergence.
  bool Descend() {
    const bool newton = static_cast<int>(elements_.size()) <= kMaxElements;
    for (sweeps_ = 0; sweeps_ < (newton ? kSweeps : kMaxSweeps); ++sweeps_) {
      const double before = log_determinant_;
      const Matrix last = coupling_;
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        if (!Improve(k)) return false;
      }
      if (!Update()) return false;
      if (log_determinant_ > before) {
        coupling_ = last;
        if (!Update()) return false;
      }
      if (!Gains(before)) return !Entangled() || (newton && DescendByNewton());
    }
    return newton && DescendByNewton();
  }

 private:
  struct Element {
    int row;
    int column;
  };

  // Whether the parts share nearly all of their residuals, so that sweeps stall above the minimum.
  bool Entangled() const {
    double apart = 0.0;
    for (const auto& part : parts_) {
      const auto lower = Cholesky(Submatrix(covariance_, part, part));
      if (!lower) return true;
      apart += LogDeterminantOf(*lower);
    }
    return std::exp(log_determinant_ - apart) < kEntangled;
  }

  bool Gains(double before) const {
    return before - log_determinant_ > kMinGain * (1.0 + std::abs(before));
  }

  void SetBlock(std::size_t k, const Matrix& solved) {
    for (std::size_t r = 0; r < parts_[k].size(); ++r) {
      for (std::size_t c = 0; c < columns_[k].size(); ++c) {
        coupling_(parts_[k][r], columns_[k][c]) = solved(static_cast<int>(c), static_cast<int>(r));
      }
    }
  }

  // Computes the covariances of the residuals E' with the past, D Sigma_X, and with themselves.
  bool Update() {
    const Matrix difference = Sum(full_, coupling_, -1.0);
    with_past_ = Product(difference, past_);
    covariance_ = Sum(noise_, ProductTransposed(with_past_, difference));
    auto lower = Cholesky(covariance_);
    if (!lower) return false;
    lower_ = *std::move(lower);
    log_determinant_ = LogDeterminantOf(lower_);
    return true;
  }

  // Sets the block of one part to its minimum given the others.
  bool Improve(std::size_t index) {
    const std::vector<int>& rows = parts_[index];
    const std::vector<int>& columns = columns_[index];
    std::vector<int> others;
    for (std::size_t other = 0; other < parts_.size(); ++other) {
      if (other != index) others.insert(others.end(), parts_[other].begin(), parts_[other].end());
    }
    const int own = static_cast<int>(columns.size());
    const int size = own + static_cast<int>(others.size());
    // Regress the residuals of the part, which changes its block by the result.
    Matrix regressors(size, size);
    Matrix targets(size, static_cast<int>(rows.size()));
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j <= i; ++j) {
        if (i < own) {
          regressors(i, j) = past_(columns[i], columns[j]);
        } else if (j < own) {
          regressors(i, j) = with_past_(others[i - own], columns[j]);
        } else {
          regressors(i, j) = covariance_(others[i - own], others[j - own]);
        }
      }
      for (int j = 0; j < targets.columns(); ++j) {
        targets(i, j) =
            i < own ? with_past_(rows[j], columns[i]) : covariance_(others[i - own], rows[j]);
      }
    }
    const auto lower = Cholesky(regressors);
    if (!lower) return false;
    const Matrix solved = SolveCholesky(*lower, targets);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (int c = 0; c < own; ++c) {
        coupling_(rows[r], columns[c]) += solved(c, static_cast<int>(r));
      }
      UpdateRow(rows[r]);
    }
    return true;
  }

  // Updates the covariances after a row of A' changed.
  void UpdateRow(int row) {
    for (int k = 0; k < past_.rows(); ++k) {
      double sum = 0.0;
      for (int c = 0; c < past_.rows(); ++c)
        sum += (full_(row, c) - coupling_(row, c)) * past_(c, k);
      with_past_(row, k) = sum;
    }
    for (int j = 0; j < noise_.rows(); ++j) {
      double sum = noise_(row, j);
      for (int c = 0; c < past_.rows(); ++c)
        sum += with_past_(row, c) * (full_(j, c) - coupling_(j, c));
      covariance_(row, j) = covariance_(j, row) = sum;
    }
  }

  // Returns the curvature of half the trace of weights * Sigma_E'.
  Matrix Curvature(const Matrix& weights) const {
    const int count = static_cast<int>(elements_.size());
    Matrix result(count, count);
    for (int i = 0; i < count; ++i) {
      const auto& [row, column] = elements_[i];
      for (int j = 0; j <= i; ++j) {
        result(i, j) = weights(row, elements_[j].row) * past_(column, elements_[j].column);
      }
    }
    return result;
  }

  // Subtracts what log |Sigma_E'| lacks in curvature against its tangent, the trace.
  void SubtractCurvature(const Matrix& weights, Matrix& curvature) const {
    const Matrix effect = Product(weights, with_past_);                // present x past
    const Matrix explained = Product(Transposed(with_past_), effect);  // past x past
    for (int i = 0; i < curvature.rows(); ++i) {
      const auto& [row, column] = elements_[i];
      for (int j = 0; j <= i; ++j) {
        const Element& other = elements_[j];
        curvature(i, j) -= weights(row, other.row) * explained(column, other.column);
        curvature(i, j) -= effect(other.row, column) * effect(row, other.column);
      }
    }
  }

  // Solves curvature * step = the elements of `slope`; nothing if it is not positive definite.
  std::optional<Matrix> Solved(const Matrix& curvature, const Matrix& slope) const {
    const auto lower = Cholesky(curvature);
    if (!lower) return std::nullopt;
    Matrix target(curvature.rows(), 1);
    for (int i = 0; i < target.rows(); ++i) {
      target(i, 0) = slope(elements_[i].row, elements_[i].column);
    }
    return SolveCholesky(*lower, std::move(target));
  }

  bool Move(const Matrix& step, double share) {
    for (int i = 0; i < step.rows(); ++i) {
      coupling_(elements_[i].row, elements_[i].column) += share * step(i, 0);
    }
    return Update();
  }

  // Newton's method with a line search. Where the function is not convex, the curvature of its
  // tangent in Sigma_E' takes its place (iterated generalised least squares, Zellner 1962): log |S|
  // lies below that tangent, so that the step lowers it too.
  bool DescendByNewton() {
    for (int number = 0; number < kMaxNewtonSteps; ++number) {
      const Matrix weights = SolveCholesky(lower_, Matrix::Identity(noise_.rows()));
      const Matrix slope = Product(weights, with_past_);
      Matrix curvature = Curvature(weights);
      const Matrix tangent = curvature;
      SubtractCurvature(weights, curvature);
      auto step = Solved(curvature, slope);
      if (!step) step = Solved(tangent, slope);
      if (!step) return false;
      double promise = 0.0;
      for (int i = 0; i < step->rows(); ++i) {
        promise += slope(elements_[i].row, elements_[i].column) * (*step)(i, 0);
      }
      const double before = log_determinant_;
      const Matrix last = coupling_;
      bool lower = false;
      for (double share = 1.0; share > 1e-6 && !lower; share *= 0.5) {
        coupling_ = last;
        lower = Move(*step, share) && log_determinant_ < before;
      }
      if (!lower) {
        coupling_ = last;
        return Update() && promise < kMaxPromise;
      }
      if (!Gains(before)) return promise < kMaxPromise;
    }
    return false;
  }

  Matrix past_, full_, noise_;  // Sigma_X, A and Sigma_E
  double noise_log_determinant_ = 0.0;
  std::vector<std::vector<int>> parts_;
  std::vector<std::vector<int>> columns_;  // past columns of each part
  std::vector<Element> elements_;          // of A' that may differ from 0

  Matrix regressions_, inverse_noise_;  // starts

  Matrix coupling_;    // A'
  Matrix with_past_;   // Cov(E', X)
  Matrix covariance_;  // Sigma_E'
  Matrix lower_;       // its Cholesky factor
  double log_determinant_ = 0.0;
  int sweeps_ = 0;
};

// Returns the largest loss from cutting only what enters one part, which is at most that of cutting
// everything between parts, and has one minimum: I(Y_k; X | X_k).
double LowerBound(const GaussianModel& model, const Partition& partition) {
  const auto past = model.Past(model.AllVariables());
  double bound = 0.0;
  for (const auto& part : partition.parts()) {
    const auto present = model.Present(part);
    bound = std::max(bound, model.MutualInformation(past, present) -
                                model.MutualInformation(model.Past(part), present));
  }
  return bound;
}

}  // namespace

Result<GeometricIntegration> GeometricIntegrationOf(const GaussianModel& model,
                                                    const Partition& partition) {
  auto descent = Descent::Of(model, partition);
  GeometricIntegration best;
  best.value = HUGE_VAL;
  std::vector<double> minima;
  while (descent &&
         (best.starts < kStarts || (best.agreed < kEnoughAgree && best.starts < kMaxStarts))) {
    if (minima.empty() && best.starts == kMaxFailures) break;
    const int start = best.starts++;
    const bool started = start == 0   ? descent->StartAtRegressions()
                         : start == 1 ? descent->StartAtInverseNoise()
                                      : descent->StartAtRandom(start);
    if (!started || !descent->Descend()) continue;
    minima.push_back(std::max(0.0, 0.5 * descent->Loss()));
    if (minima.back() < best.value) {
      best.value = minima.back();
      best.coupling = descent->coupling();
      best.sweeps = descent->sweeps();
    }
    best.agreed = static_cast<int>(std::ranges::count_if(minima, [&](double value) {
      return value - best.value <= kSameMinimum * (1.0 + best.value);
    }));
  }
  if (minima.empty()) {
    return Fail(Error::Code::kUnavailable,
                "phi_g: no minimum found from {} starts; the covariance is too nearly singular; "
                "shrinkage or fewer variables may help",
                best.starts);
  }
  best.at_least = std::min(LowerBound(model, partition), best.value);
  return best;
}

}  // namespace reveza::phi
