#include "phi/measures/matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace reveza::phi {

Matrix::Matrix(int rows, int columns)
    : rows_(rows),
      columns_(columns),
      values_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 0.0) {}

Matrix::Matrix(std::initializer_list<std::initializer_list<double>> rows)
    : rows_(static_cast<int>(rows.size())),
      columns_(rows.size() == 0 ? 0 : static_cast<int>(rows.begin()->size())) {
  for (const auto& row : rows) values_.insert(values_.end(), row.begin(), row.end());
}

Matrix Matrix::Identity(int size) {
  Matrix identity(size, size);
  for (int i = 0; i < size; ++i) identity(i, i) = 1.0;
  return identity;
}

Matrix Transposed(const Matrix& matrix) {
  Matrix result(matrix.columns(), matrix.rows());
  for (int i = 0; i < matrix.rows(); ++i) {
    for (int j = 0; j < matrix.columns(); ++j) result(j, i) = matrix(i, j);
  }
  return result;
}

Matrix Product(const Matrix& left, const Matrix& right) {
  Matrix result(left.rows(), right.columns());
  for (int i = 0; i < left.rows(); ++i) {
    double* const out = result.Row(i);
    for (int k = 0; k < left.columns(); ++k) {
      const double factor = left(i, k);
      const double* const row = right.Row(k);
      for (int j = 0; j < right.columns(); ++j) out[j] += factor * row[j];
    }
  }
  return result;
}

Matrix ProductTransposed(const Matrix& left, const Matrix& right) {
  return Product(left, Transposed(right));
}

Matrix Sum(const Matrix& left, const Matrix& right, double factor_of_right) {
  Matrix result = left;
  const std::span<const double> added = right.values();
  for (std::size_t i = 0; i < added.size(); ++i) result.values()[i] += factor_of_right * added[i];
  return result;
}

Matrix Submatrix(const Matrix& matrix, std::span<const int> rows, std::span<const int> columns) {
  Matrix result(static_cast<int>(rows.size()), static_cast<int>(columns.size()));
  for (int i = 0; i < result.rows(); ++i) {
    const double* const row = matrix.Row(rows[i]);
    for (int j = 0; j < result.columns(); ++j) {
      result(i, j) = row[columns[j]];
    }
  }
  return result;
}

std::optional<Matrix> Cholesky(const Matrix& matrix) {
  const int size = matrix.rows();
  Matrix lower(size, size);
  for (int i = 0; i < size; ++i) {
    double* const row = lower.Row(i);
    for (int j = 0; j <= i; ++j) {
      const double* const other = lower.Row(j);
      double sum = matrix(i, j);
      for (int k = 0; k < j; ++k) sum -= row[k] * other[k];
      if (j < i) {
        row[j] = sum / other[j];
      } else {
        // Written so that NaN is rejected, too.
        if (!(sum > 0.0) || std::isinf(sum)) return std::nullopt;
        row[i] = std::sqrt(sum);
      }
    }
  }
  return lower;
}

double LogDeterminantOf(const Matrix& lower) {
  double sum = 0.0;
  for (int i = 0; i < lower.rows(); ++i) sum += std::log(lower(i, i));
  return 2.0 * sum;
}

Matrix SolveLower(const Matrix& lower, Matrix right) {
  for (int i = 0; i < lower.rows(); ++i) {
    double* const out = right.Row(i);
    for (int k = 0; k < i; ++k) {
      const double factor = lower(i, k);
      const double* const row = right.Row(k);
      for (int j = 0; j < right.columns(); ++j) out[j] -= factor * row[j];
    }
    for (int j = 0; j < right.columns(); ++j) out[j] /= lower(i, i);
  }
  return right;
}

Matrix SolveLowerTransposed(const Matrix& lower, Matrix right) {
  for (int i = lower.rows() - 1; i >= 0; --i) {
    double* const out = right.Row(i);
    for (int k = i + 1; k < lower.rows(); ++k) {
      const double factor = lower(k, i);
      const double* const row = right.Row(k);
      for (int j = 0; j < right.columns(); ++j) out[j] -= factor * row[j];
    }
    for (int j = 0; j < right.columns(); ++j) out[j] /= lower(i, i);
  }
  return right;
}

Matrix SolveCholesky(const Matrix& lower, Matrix right) {
  return SolveLowerTransposed(lower, SolveLower(lower, std::move(right)));
}

namespace {

// Rotates rows and columns p and q so that element (p, q) becomes 0. Returns whether it was
// significantly different from 0.
bool Rotate(Matrix& a, Matrix& vectors, int p, int q) {
  const double off = a(p, q);
  if (std::abs(off) <= 1e-17 * std::sqrt(std::abs(a(p, p) * a(q, q)))) return false;
  const double theta = (a(q, q) - a(p, p)) / (2.0 * off);
  const double t = (theta >= 0.0 ? 1.0 : -1.0) / (std::abs(theta) + std::hypot(theta, 1.0));
  const double c = 1.0 / std::hypot(t, 1.0);
  const double s = t * c;
  const auto turn = [c, s](double& x, double& y) {
    const double first = x;
    x = c * first - s * y;
    y = s * first + c * y;
  };
  const int size = a.rows();
  for (int k = 0; k < size; ++k) turn(a(k, p), a(k, q));
  for (int k = 0; k < size; ++k) turn(a(p, k), a(q, k));
  a(p, q) = a(q, p) = 0.0;
  for (int k = 0; k < size; ++k) turn(vectors(k, p), vectors(k, q));
  return true;
}

}  // namespace

Eigen SymmetricEigen(Matrix matrix) {
  constexpr int kMaxSweeps = 60;
  const int size = matrix.rows();
  Matrix vectors = Matrix::Identity(size);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool turned = false;
    for (int p = 0; p < size; ++p) {
      for (int q = p + 1; q < size; ++q) turned |= Rotate(matrix, vectors, p, q);
    }
    if (!turned) break;
  }
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int i) { return matrix(i, i); });
  Eigen result{.values = {}, .vectors = Matrix(size, size)};
  for (int j = 0; j < size; ++j) {
    const int from = order[j];
    result.values.push_back(matrix(from, from));
    for (int i = 0; i < size; ++i) result.vectors(i, j) = vectors(i, from);
  }
  return result;
}

}  // namespace reveza::phi
