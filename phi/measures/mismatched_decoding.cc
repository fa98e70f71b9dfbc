// phi_star. With M = L^T A_D^T C_D^-1 A_D L, Sigma_X = L L^T, and its eigenvalues e_i,
//
//   I*(beta) = 1/2 sum_i log(1 + beta e_i) + 1/2 beta tr(C_D^-1 Sigma_Y) - 1/2 beta^2 sum_i g_i /
//              (1 + beta e_i) - 1/2 beta n,
//
// where g_i are the diagonal elements of V^T L^T A_D^T C_D^-1 Sigma_Y C_D^-1 A_D L V: after one
// decomposition each beta costs n divisions. I* is concave in beta, so its slope is bisected.
#include <algorithm>
#include <cmath>
#include <vector>

#include "phi/measures/measures.h"

namespace reveza::phi {
namespace {

// A_D L, the effect of the whitened past in the decoder, and C_D^-1; both are block-diagonal.
struct Decoder {
  Matrix effect;
  Matrix precision;
};

Decoder DecoderOf(const GaussianModel& model, const Partition& partition, const Matrix& lower) {
  const int size = model.variables();
  const int lags = model.lags();
  Matrix regression(size, size * lags);
  Matrix precision(size, size);
  for (const auto& part : partition.parts()) {
    const auto past = model.Past(part);
    const auto present = model.Present(part);
    const auto own = Cholesky(Submatrix(model.joint(), past, past));
    const Matrix cross = Submatrix(model.joint(), past, present);
    const Matrix block = SolveCholesky(*own, cross);  // its transpose is A_D
    const Matrix half = SolveLower(*own, cross);
    const Matrix noise =
        Sum(Submatrix(model.joint(), present, present), Product(Transposed(half), half), -1.0);
    const int count = static_cast<int>(part.size());
    const Matrix inverse = SolveCholesky(*Cholesky(noise), Matrix::Identity(count));
    for (int i = 0; i < count; ++i) {
      const int row = part[i];
      for (int j = 0; j < count; ++j) {
        const int column = part[j];
        precision(row, column) = inverse(i, j);
        for (int lag = 0; lag < lags; ++lag) {
          regression(row, column * lags + lag) = block(j * lags + lag, i);
        }
      }
    }
  }
  return {.effect = Product(regression, lower), .precision = std::move(precision)};
}

class DecodedInformation {
 public:
  DecodedInformation(const Decoder& decoder, const Matrix& present) {
    const Matrix weighted = Product(decoder.precision, decoder.effect);  // C_D^-1 A_D L
    const Eigen eigen = SymmetricEigen(Product(Transposed(decoder.effect), weighted));
    const Matrix turned = Product(weighted, eigen.vectors);
    const Matrix spread = Product(present, turned);
    for (int i = 0; i < turned.columns(); ++i) {
      double sum = 0.0;
      for (int k = 0; k < turned.rows(); ++k) sum += turned(k, i) * spread(k, i);
      eigenvalues_.push_back(std::max(0.0, eigen.values[i]));
      weights_.push_back(sum);
    }
    trace_ = -present.rows();
    for (int i = 0; i < present.rows(); ++i) {
      for (int k = 0; k < present.rows(); ++k) trace_ += decoder.precision(i, k) * present(k, i);
    }
  }

  double At(double beta) const {
    double value = beta * trace_;
    for (std::size_t i = 0; i < eigenvalues_.size(); ++i) {
      const double one = 1.0 + beta * eigenvalues_[i];
      value += std::log1p(beta * eigenvalues_[i]) - beta * beta * weights_[i] / one;
    }
    return 0.5 * value;
  }

  double SlopeAt(double beta) const {
    double value = trace_;
    for (std::size_t i = 0; i < eigenvalues_.size(); ++i) {
      const double one = 1.0 + beta * eigenvalues_[i];
      value += eigenvalues_[i] / one - beta * weights_[i] * (1.0 + one) / (one * one);
    }
    return 0.5 * value;
  }

 private:
  std::vector<double> eigenvalues_;
  std::vector<double> weights_;
  double trace_ = 0.0;  // tr(C_D^-1 Sigma_Y) - n
};

}  // namespace

MismatchedDecoding MismatchedDecodingOf(const GaussianModel& model, const Partition& partition) {
  constexpr double kMaxBeta = 1e6;
  constexpr int kBisections = 100;
  const auto all = model.AllVariables();
  const auto past = model.Past(all);
  const auto present = model.Present(all);
  const auto lower = Cholesky(Submatrix(model.joint(), past, past));
  const DecodedInformation decoded(DecoderOf(model, partition, *lower),
                                   Submatrix(model.joint(), present, present));
  double low = 0.0;
  double high = 1.0;
  while (high < kMaxBeta && decoded.SlopeAt(high) > 0.0) high *= 2.0;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (low + high);
    (decoded.SlopeAt(middle) > 0.0 ? low : high) = middle;
  }
  const double beta = 0.5 * (low + high);
  // A decoder cannot tell more than there is, nor less than nothing, except by rounding.
  const double information = std::max(0.0, model.MutualInformation(past, present));
  return {.value = std::clamp(information - decoded.At(beta), 0.0, information), .beta = beta};
}

}  // namespace reveza::phi
