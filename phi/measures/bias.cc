#include <algorithm>
#include <cmath>

#include "phi/measures/significance.h"

namespace reveza::phi {
namespace {

// Biases of half log-determinants, up to a constant per dimension, which cancels in every measure.
class Biases {
 public:
  Biases(int lags, std::int64_t samples) : lags_(lags), samples_(static_cast<double>(samples)) {}

  double Of(std::size_t dimensions) const {
    double sum = 0.0;
    for (std::size_t i = 1; i <= dimensions; ++i) {
      sum += 0.5 * Digamma(0.5 * (samples_ - static_cast<double>(i)));
    }
    return sum;
  }
  double Past(std::size_t variables) const { return Of(variables * Lags()); }
  double Both(std::size_t variables) const { return Of(variables * (Lags() + 1)); }
  // Bias of I(past of some; present of others).
  double Information(std::size_t from, std::size_t to) const {
    return Past(from) + Of(to) - Of(from * Lags() + to);
  }

 private:
  std::size_t Lags() const { return static_cast<std::size_t>(lags_); }

  int lags_;
  double samples_;
};

// Returns the parts between which phi_r finds the minimum information.
std::pair<std::size_t, std::size_t> LeastInformed(const GaussianModel& model,
                                                  const Partition& partition) {
  double least = HUGE_VAL;
  std::pair<std::size_t, std::size_t> sizes;
  for (const auto& from : partition.parts()) {
    for (const auto& to : partition.parts()) {
      const double value = model.MutualInformation(model.Past(from), model.Present(to));
      if (value < least) {
        least = value;
        sizes = {from.size(), to.size()};
      }
    }
  }
  return sizes;
}

}  // namespace

double Digamma(double x) {
  double value = 0.0;
  for (; x < 12.0; x += 1.0) value -= 1.0 / x;
  const double r = 1.0 / (x * x);
  return value + std::log(x) - 0.5 / x -
         r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132)))));
}

std::optional<double> BiasOf(const GaussianModel& model, const Partition& partition,
                             Measure measure, std::int64_t samples) {
  const auto all = static_cast<std::size_t>(model.variables());
  const auto dimensions = static_cast<std::int64_t>(all) * (model.lags() + 1);
  if (samples <= dimensions + 1) return std::nullopt;
  const Biases bias(model.lags(), samples);
  const double whole = bias.Information(all, all);
  double own = 0.0;
  double both = 0.0;
  double past = 0.0;
  double allowed = 0.0;
  for (const auto& part : partition.parts()) {
    own += bias.Information(part.size(), part.size());
    both += bias.Both(part.size());
    past += bias.Past(part.size());
    allowed += static_cast<double>(part.size() * part.size());
  }
  switch (measure) {
    case Measure::kInformation:
      return whole;
    case Measure::kMultiInformation:
      return both - bias.Both(all);
    case Measure::kStochasticInteraction:
      return (both - past) - (bias.Both(all) - bias.Past(all));
    case Measure::kWholeMinusSum:
      return whole - own;
    case Measure::kPhiR: {
      const auto [from, to] = LeastInformed(model, partition);
      return whole - own + bias.Information(from, to);
    }
    case Measure::kPhiG:
      return model.lags() * (static_cast<double>(all * all) - allowed) /
             (2.0 * static_cast<double>(samples));
    case Measure::kPhiStar:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace reveza::phi
