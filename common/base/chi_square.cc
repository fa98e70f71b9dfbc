#include "common/base/chi_square.h"

#include <cmath>

namespace reveza {
namespace {

constexpr int kMaxTerms = 10'000;
constexpr double kTiny = 1e-300;
constexpr double kPrecision = 1e-16;

// The regularized lower incomplete gamma function P(a, x) by its series; converges for x < a + 1.
double LowerGammaSeries(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (int n = 1; n < kMaxTerms && term > sum * kPrecision; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

// The regularized upper incomplete gamma function Q(a, x) by Lentz's continued fraction; for
// x >= a + 1.
double UpperGammaFraction(double a, double x) {
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / b;
  double product = d;
  for (int n = 1; n < kMaxTerms; ++n) {
    const double factor = -n * (n - a);
    b += 2;
    d = factor * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + factor / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    product *= d * c;
    if (std::abs(d * c - 1) < kPrecision) break;
  }
  return product * std::exp(a * std::log(x) - x - std::lgamma(a));
}

}  // namespace

double ChiSquareTail(double value, double degrees) {
  if (degrees <= 0 || value <= 0) return 1;
  const double a = degrees / 2;
  const double x = value / 2;
  return x < a + 1 ? 1 - LowerGammaSeries(a, x) : UpperGammaFraction(a, x);
}

}  // namespace reveza
