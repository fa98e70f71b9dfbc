// Small dense row-major matrices and the algebra that the measures need. Thread-compatible values.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace reveza::phi {

class Matrix {
 public:
  Matrix() = default;
  // A zero matrix.
  Matrix(int rows, int columns);
  // Rows must have equal lengths.
  Matrix(std::initializer_list<std::initializer_list<double>> rows);

  static Matrix Identity(int size);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  double& operator()(int row, int column) { return values_[Index(row, column)]; }
  double operator()(int row, int column) const { return values_[Index(row, column)]; }
  const double* Row(int row) const { return values_.data() + Index(row, 0); }
  double* Row(int row) { return values_.data() + Index(row, 0); }
  // All elements, row by row.
  std::span<double> values() { return values_; }
  std::span<const double> values() const { return values_; }

  bool operator==(const Matrix&) const = default;

 private:
  std::size_t Index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
           static_cast<std::size_t>(column);
  }

  int rows_ = 0;
  int columns_ = 0;
  std::vector<double> values_;
};

Matrix Transposed(const Matrix& matrix);
// Products and sums require matching shapes.
Matrix Product(const Matrix& left, const Matrix& right);
// Returns left * right^T.
Matrix ProductTransposed(const Matrix& left, const Matrix& right);
// Returns left + factor_of_right * right.
Matrix Sum(const Matrix& left, const Matrix& right, double factor_of_right = 1.0);
Matrix Submatrix(const Matrix& matrix, std::span<const int> rows, std::span<const int> columns);

// Returns the lower triangle L of matrix = L L^T; nothing if the matrix is not positive definite.
// Reads the lower triangle only.
std::optional<Matrix> Cholesky(const Matrix& matrix);
// Returns log |L L^T|.
double LogDeterminantOf(const Matrix& lower);
// Solve L X = right and L^T X = right.
Matrix SolveLower(const Matrix& lower, Matrix right);
Matrix SolveLowerTransposed(const Matrix& lower, Matrix right);
// Solves L L^T X = right.
Matrix SolveCholesky(const Matrix& lower, Matrix right);

// Eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns. Jacobi rotations
// keep even the smallest eigenvalues accurate, which condition numbers depend on.
struct Eigen {
  std::vector<double> values;
  Matrix vectors;
};
Eigen SymmetricEigen(Matrix matrix);

}  // namespace reveza::phi
