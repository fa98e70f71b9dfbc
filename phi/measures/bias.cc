#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

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

// Autocovariances of each variable, by lag from 0, of rows of the same trial.
struct Autocovariances {
  std::vector<std::vector<double>> of;  // by variable
  std::int64_t pairs = 0;               // of the longest lag
};

Autocovariances AutocovariancesOf(std::span<const SeriesView> trials, int lags) {
  constexpr std::int64_t kMaxRows = 1 << 16;
  std::vector<SeriesView> views;
  std::int64_t rows = 0;
  for (const SeriesView& trial : trials) {
    views.push_back(trial.Part(0, std::min(trial.length, kMaxRows - rows)));
    rows += views.back().length;
  }
  const auto variables = static_cast<std::size_t>(trials.front().variables);
  std::vector<double> mean(variables, 0.0);
  for (const SeriesView& view : views) {
    for (std::int64_t t = 0; t < view.length; ++t) {
      for (std::size_t i = 0; i < variables; ++i) mean[i] += view.Row(t)[i];
    }
  }
  for (double& value : mean) value /= static_cast<double>(std::max<std::int64_t>(1, rows));
  const auto count = static_cast<std::size_t>(lags) + 1;
  Autocovariances found = {.of = {variables, std::vector<double>(count, 0.0)}};
  for (int lag = 0; lag <= lags; ++lag) {
    found.pairs = 0;
    for (const SeriesView& view : views) {
      for (std::int64_t t = lag; t < view.length; ++t, ++found.pairs) {
        const double* const now = view.Row(t);
        const double* const past = view.Row(t - lag);
        for (std::size_t i = 0; i < variables; ++i) {
          found.of[i][static_cast<std::size_t>(lag)] += (now[i] - mean[i]) * (past[i] - mean[i]);
        }
      }
    }
    for (auto& one : found.of)
      one[static_cast<std::size_t>(lag)] /= static_cast<double>(found.pairs);
  }
  return found;
}

// Returns the partial autocorrelation at the longest lag (Levinson-Durbin recursion); 0 if an
// earlier one leaves nothing.
double PartialAutocorrelation(const std::vector<double>& covariances) {
  double left = covariances.front();
  double partial = 0.0;
  std::vector<double> weights;
  for (std::size_t lag = 1; lag < covariances.size(); ++lag) {
    if (!(left > 1e-12 * covariances.front())) return 0.0;
    partial = covariances[lag];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      partial -= weights[i] * covariances[lag - 1 - i];
    }
    partial /= left;
    const std::vector<double> before = weights;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= partial * before[before.size() - 1 - i];
    }
    weights.push_back(partial);
    left *= 1.0 - partial * partial;
  }
  return partial;
}

}  // namespace

std::vector<double> LongMemories(std::span<const SeriesView> trials, int history) {
  const Autocovariances found = AutocovariancesOf(trials, history + 1);
  // Three standard errors of rows without longer memory.
  const double most = 3.0 / std::sqrt(static_cast<double>(found.pairs));
  std::vector<double> partial;
  for (const auto& covariances : found.of) {
    const double value = found.pairs > 0 ? PartialAutocorrelation(covariances) : 0.0;
    partial.push_back(std::abs(value) > most ? value : 0.0);
  }
  return partial;
}

std::string BiasNote(std::span<const SeriesView> trials, std::span<const std::string> names) {
  std::string note = "bias-corrected values hold for independent rows only";
  const std::vector<double> correlations = LongMemories(trials, 0);
  const auto dependent =
      std::ranges::find_if(correlations, [](double value) { return value != 0.0; });
  if (dependent != correlations.end()) {
    note += fmt::format("; do not use them here: {} has an autocorrelation of {:.2f}",
                        VariableName(names, static_cast<int>(dependent - correlations.begin())),
                        *dependent);
  }
  return note + "; surrogates test significance";
}

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
