#include "phi/measures/continuous_transfer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/chi_square.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/nearest_neighbours.h"
#include "phi/measures/random.h"
#include "phi/measures/significance.h"

namespace reveza::phi {
namespace {

using Estimator = ContinuousTransferOptions::Estimator;

struct Scale {
  double mean = 0.0;
  double factor = 1.0;  // 1 / standard deviation
};

// Returns the scale of each column; 0 as the factor of a constant.
std::vector<Scale> ScalesOf(std::span<const SeriesView> trials) {
  std::vector<Scale> scales(static_cast<std::size_t>(trials.front().variables));
  for (std::size_t column = 0; column < scales.size(); ++column) {
    double sum = 0.0;
    double count = 0.0;
    for (const SeriesView& view : trials) {
      count += static_cast<double>(view.length);
      for (std::int64_t t = 0; t < view.length; ++t) sum += view.Row(t)[column];
    }
    double squares = 0.0;
    scales[column].mean = sum / count;
    for (const SeriesView& view : trials) {
      for (std::int64_t t = 0; t < view.length; ++t) {
        const double value = view.Row(t)[column] - scales[column].mean;
        squares += value * value;
      }
    }
    scales[column].factor = squares > 0.0 ? 1.0 / std::sqrt(squares / count) : 0.0;
  }
  return scales;
}

// First row with all of its past.
std::int64_t FirstRow(const ContinuousTransferOptions& options) {
  return std::max(options.target_history, options.delay + options.source_history - 1);
}

// Where the sources of a trial come from.
struct Origin {
  std::size_t trial = 0;
  std::int64_t shift = 0;  // forward, circularly
};

// The trials as they are.
std::vector<Origin> Unmoved(std::size_t trials) {
  std::vector<Origin> origins(trials);
  for (std::size_t trial = 0; trial < trials; ++trial) origins[trial].trial = trial;
  return origins;
}

// Makes the points of the trials, each with the sources of its origin, which is as long. There are
// none where the past of the sources would span the seam of a shift.
ConditionedPoints PointsOf(std::span<const SeriesView> trials, const TransferColumns& columns,
                           const ContinuousTransferOptions& options,
                           const std::vector<Scale>& scales, std::span<const Origin> origins) {
  ConditionedPoints points = {
      .conditions = static_cast<int>(columns.targets.size()) * options.target_history +
                    static_cast<int>(columns.given.size()) * options.source_history,
      .targets = static_cast<int>(columns.targets.size()),
      .sources = static_cast<int>(columns.sources.size()) * options.source_history,
      .values = {},
      .trials = {}};
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    const SeriesView& view = trials[trial];
    points.trials.push_back(points.count());
    const SeriesView& origin = trials[origins[trial].trial];
    const auto add = [&](const SeriesView& from, std::int64_t row, int column) {
      points.values.push_back((from.Row(row)[column] - scales[column].mean) *
                              scales[column].factor);
    };
    for (std::int64_t t = FirstRow(options); t < view.length; ++t) {
      const std::int64_t latest = (t - options.delay + origins[trial].shift) % view.length;
      if (latest < options.source_history - 1) continue;
      for (const int target : columns.targets) {
        for (int i = 1; i <= options.target_history; ++i) add(view, t - i, target);
      }
      for (const int other : columns.given) {
        for (int i = 0; i < options.source_history; ++i) add(view, t - options.delay - i, other);
      }
      for (const int target : columns.targets) add(view, t, target);
      for (const int source : columns.sources) {
        for (int i = 0; i < options.source_history; ++i) add(origin, latest - i, source);
      }
    }
  }
  return points;
}

// Which column of the series each column of the points is of.
std::vector<std::string> NamesOf(const TransferColumns& columns,
                                 const ContinuousTransferOptions& options) {
  std::vector<std::string> names;
  const auto add = [&](const std::vector<int>& of, int times) {
    for (const int column : of) {
      names.insert(names.end(), static_cast<std::size_t>(times),
                   options.names[static_cast<std::size_t>(column)]);
    }
  };
  if (options.names.empty()) return names;
  add(columns.targets, options.target_history);
  add(columns.given, options.source_history);
  add(columns.targets, 1);
  add(columns.sources, options.source_history);
  return names;
}

Matrix CovarianceOf(const ConditionedPoints& points) {
  const int width = points.width();
  const auto count = static_cast<double>(points.count());
  std::vector<double> mean(static_cast<std::size_t>(width), 0.0);
  for (std::size_t i = 0; i < points.values.size(); ++i) {
    mean[i % mean.size()] += points.values[i] / count;
  }
  Matrix covariance(width, width);
  std::vector<double> row(mean.size());
  for (std::size_t at = 0; at < points.values.size(); at += mean.size()) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = points.values[at + i] - mean[i];
    for (int i = 0; i < width; ++i) {
      for (int j = 0; j <= i; ++j) covariance(i, j) += row[i] * row[j] / count;
    }
  }
  for (int i = 0; i < width; ++i) {
    for (int j = 0; j < i; ++j) covariance(j, i) = covariance(i, j);
  }
  return covariance;
}

// I(x; y | z) of Gaussian points.
Result<double> GaussianInformation(const ConditionedPoints& points,
                                   std::span<const std::string> names) {
  ASSIGN_OR_RETURN(const auto correlation,
                   CorrelationOf(CovarianceOf(points), names, "leave it out"));
  std::vector<int> rows(static_cast<std::size_t>(points.width()));
  std::iota(rows.begin(), rows.end(), 0);
  const auto half_log = [&](bool with_y, bool with_x) {
    std::vector<int> chosen;
    for (const int row : rows) {
      const bool of_y = row >= points.conditions && row < points.conditions + points.targets;
      const bool of_x = row >= points.conditions + points.targets;
      if ((of_y && !with_y) || (of_x && !with_x)) continue;
      chosen.push_back(row);
    }
    const auto lower = Cholesky(Submatrix(correlation.matrix, chosen, chosen));
    return lower ? 0.5 * LogDeterminantOf(*lower) : -HUGE_VAL;
  };
  // More predictors cannot increase the variance, except by rounding.
  return std::max(0.0, half_log(true, false) + half_log(false, true) - half_log(false, false) -
                           half_log(true, true));
}

// Its expectation if there is no influence and rows are independent (as BiasOf()).
double GaussianBias(const ConditionedPoints& points) {
  const auto bias = [&](int dimensions) {
    double sum = 0.0;
    for (int i = 1; i <= dimensions; ++i) {
      sum += 0.5 * Digamma(0.5 * static_cast<double>(points.count() - i));
    }
    return sum;
  };
  return bias(points.conditions + points.targets) + bias(points.conditions + points.sources) -
         bias(points.conditions) - bias(points.width());
}

Result<double> InformationOf(const ConditionedPoints& points,
                             const ContinuousTransferOptions& options,
                             std::span<const std::string> names) {
  return options.estimator == Estimator::kGauss
             ? GaussianInformation(points, names)
             : NearestNeighbourInformation(points, options.neighbours, options.window);
}

Status CheckColumns(std::span<const SeriesView> trials, const TransferColumns& columns,
                    const ContinuousTransferOptions& options) {
  if (options.surrogate != SurrogateKind::kShift && options.surrogate != SurrogateKind::kTrials) {
    return InvalidArgument("surrogates of a source are shifted, or of other trials");
  }
  RETURN_IF_ERROR(CheckSurrogates(trials, options.surrogate));
  if (options.target_history < 1 || options.source_history < 1 || options.delay < 1) {
    return InvalidArgument("histories and delay must be at least 1");
  }
  if (trials.empty() || columns.sources.empty() || columns.targets.empty()) {
    return InvalidArgument("transfer entropy needs a source and a target");
  }
  std::vector<int> all = columns.sources;
  all.insert(all.end(), columns.targets.begin(), columns.targets.end());
  all.insert(all.end(), columns.given.begin(), columns.given.end());
  std::ranges::sort(all);
  if (all.front() < 0 || all.back() >= trials.front().variables) {
    return InvalidArgument("a column is out of range");
  }
  const auto twice = std::ranges::adjacent_find(all);
  if (twice == all.end()) return {};
  return InvalidArgument("{} is used twice, as source, target or given",
                         VariableName(options.names, *twice));
}

Status CheckVariation(const TransferColumns& columns, const ContinuousTransferOptions& options,
                      const std::vector<Scale>& scales) {
  for (const auto* const of : {&columns.sources, &columns.targets, &columns.given}) {
    for (const int column : *of) {
      if (scales[static_cast<std::size_t>(column)].factor > 0.0) continue;
      return InvalidArgument("{} is constant; choose others with --columns",
                             VariableName(options.names, column));
    }
  }
  return {};
}

Status CheckSamples(std::span<const SeriesView> trials, const ContinuousTransferOptions& options,
                    int width) {
  std::int64_t samples = 0;
  for (const SeriesView& view : trials) {
    samples += std::max<std::int64_t>(0, view.length - FirstRow(options));
  }
  // With fewer, a covariance would be singular.
  if (samples >= width + 2) return {};
  return InvalidArgument(
      "too short: {} rows have a past of {} rows, but {} values each need at least {}; use more "
      "rows, or shorter histories",
      samples, FirstRow(options), width, width + 2);
}

// Draws the origins of the sources of surrogate `number`.
std::vector<Origin> OriginsOf(std::span<const SeriesView> trials,
                              const ContinuousTransferOptions& options, std::uint32_t number) {
  std::vector<Origin> origins = Unmoved(trials.size());
  if (options.surrogate == SurrogateKind::kTrials) {
    std::uint64_t position = 0;
    const RandomStream random(options.seed, RandomPurpose::kTrial, number);
    const auto order = ShuffledTrials(trials.size(), random, position);
    for (std::size_t trial = 0; trial < order.size(); ++trial) origins[trial].trial = order[trial];
    return origins;
  }
  const std::int64_t near = options.delay + options.source_history;
  const RandomStream random(options.seed, RandomPurpose::kSource, number);
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    // Large enough that the histories do not overlap.
    const std::int64_t length = trials[trial].length;
    const std::int64_t least = std::min(length / 4, near);
    const std::int64_t places = std::max<std::int64_t>(1, length - 2 * least);
    origins[trial].shift = least + random.UniformInt(trial, places);
  }
  return origins;
}

// Compares with surrogates.
Status Test(std::span<const SeriesView> trials, const TransferColumns& columns,
            const ContinuousTransferOptions& options, const std::vector<Scale>& scales,
            ContinuousTransfer& found) {
  std::vector<double> null;
  for (int number = 0; number < options.surrogates; ++number) {
    const auto origins = OriginsOf(trials, options, static_cast<std::uint32_t>(number));
    ASSIGN_OR_RETURN(
        const double value,
        InformationOf(PointsOf(trials, columns, options, scales, origins), options, {}));
    null.push_back(value);
  }
  const Significance test = SignificanceOf(found.nats, std::move(null));
  found.null_mean = test.null_mean;
  found.p = test.p;
  return {};
}

}  // namespace

Result<ContinuousTransfer> ContinuousTransferOf(std::span<const SeriesView> trials,
                                                const TransferColumns& columns,
                                                const ContinuousTransferOptions& options) {
  RETURN_IF_ERROR(CheckColumns(trials, columns, options));
  const std::vector<Scale> scales = ScalesOf(trials);
  RETURN_IF_ERROR(CheckVariation(columns, options, scales));
  const ConditionedPoints points =
      PointsOf(trials, columns, options, scales, Unmoved(trials.size()));
  RETURN_IF_ERROR(CheckSamples(trials, options, points.width()));
  ContinuousTransfer found;
  ASSIGN_OR_RETURN(found.nats, InformationOf(points, options, NamesOf(columns, options)));
  found.samples = points.count();
  if (options.estimator == Estimator::kGauss) {
    found.corrected = found.nats - GaussianBias(points);
    found.p = ChiSquareTail(2.0 * static_cast<double>(found.samples) * found.nats,
                            points.sources * points.targets);
  }
  if (options.surrogates > 0) {
    RETURN_IF_ERROR(Test(trials, columns, options, scales, found));
  }
  return found;
}

}  // namespace reveza::phi
