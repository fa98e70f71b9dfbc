#include "phi/measures/legacy.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "phi/measures/random.h"

namespace reveza::phi {
namespace {

constexpr int kMaxLags = 5;
constexpr double kApart = 0.3;
constexpr double kPenalty = 0.2;
constexpr double kMinStrength = 0.001;
constexpr double kNothing = 0.01;  // 0.001 "nats" of which 0.1 are 1

}  // namespace

double AbsoluteCorrelation(const double* x, const double* y, std::int64_t count,
                           std::int64_t stride_x, std::int64_t stride_y) {
  if (count < 2) return 0.0;
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    mean_x += x[i * stride_x];
    mean_y += y[i * stride_y];
  }
  mean_x /= static_cast<double>(count);
  mean_y /= static_cast<double>(count);
  double xx = 0.0;
  double yy = 0.0;
  double xy = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double dx = x[i * stride_x] - mean_x;
    const double dy = y[i * stride_y] - mean_y;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  if (!(xx > 0.0) || !(yy > 0.0)) return 0.0;
  return std::min(1.0, std::abs(xy) / std::sqrt(xx * yy));
}

Result<double> LegacyPairStrength(const SeriesView& series, int from, int to) {
  if (series.length < kLegacyMinStates) {
    return InvalidArgument("the mean absolute correlation needs at least {} rows, but there are {}",
                           kLegacyMinStates, series.length);
  }
  const std::int64_t count = std::min<std::int64_t>(series.length, kLegacyWindow);
  const SeriesView window = series.Part(series.length - count, count);
  const std::int64_t lags = std::min<std::int64_t>(kMaxLags, count / 3);
  double sum = 0.0;
  for (std::int64_t lag = 1; lag <= lags; ++lag) {
    sum += AbsoluteCorrelation(window.Row(0) + from, window.Row(lag) + to, count - lag,
                               window.stride, window.stride);
  }
  return sum / static_cast<double>(lags);
}

double LegacyWorkspacePhi(std::span<const LegacyRecord> records) {
  double reciprocals = 0.0;
  int kept = 0;
  for (const LegacyRecord& record : records) {
    const double apart = std::abs(record.granger - record.transfer_entropy);
    double strength = 0.5 * (record.granger + record.transfer_entropy);
    if (apart > kApart) strength *= 1.0 - kPenalty * apart;
    if (strength < kMinStrength) continue;
    reciprocals += 1.0 / strength;
    ++kept;
  }
  if (kept == 0) return kNothing;
  return std::clamp(kept / reciprocals, 0.0, 1.0);
}

double LegacyTriplePhi(const SeriesView& conscious, const SeriesView& preconscious,
                       const SeriesView& unconscious) {
  const std::int64_t count = std::min<std::int64_t>(conscious.length, kLegacyTripleWindow);
  const auto mean = [&](const SeriesView& one, const SeriesView& other) {
    double sum = 0.0;
    for (int k = 0; k < one.variables; ++k) {
      sum +=
          AbsoluteCorrelation(one.Row(one.length - count) + k, other.Row(other.length - count) + k,
                              count, one.stride, other.stride);
    }
    return sum / one.variables;
  };
  return (mean(conscious, preconscious) + mean(conscious, unconscious) +
          mean(preconscious, unconscious)) /
         3.0;
}

double LegacyCombined(double workspace, double triple) {
  if (workspace == 0.0) return triple;
  if (workspace < 0.1 && triple > 0.5) {
    const double apart = triple - workspace;
    if (apart > 0.5) return triple;
    const double weight = std::min(0.9, 0.7 + 0.4 * apart);
    return weight * triple + (1.0 - weight) * workspace;
  }
  return 0.6 * std::max(workspace, triple) + 0.4 * std::min(workspace, triple);
}

Result<double> LegacyPhi::Add(const SeriesView& series) {
  for (int from = 0; from < series.variables; ++from) {
    for (int to = 0; to < series.variables; ++to) {
      if (from == to) continue;
      ASSIGN_OR_RETURN(const auto strength, LegacyPairStrength(series, from, to));
      records_.push_back({.granger = strength, .transfer_entropy = 0.0});
    }
  }
  while (records_.size() > kLegacyRecords) records_.pop_front();
  const std::vector<LegacyRecord> last(records_.begin(), records_.end());
  return LegacyWorkspacePhi(last);
}

namespace {

// Returns phi_ws of independent noise, one value per replicate.
std::vector<double> NoiseWorkspaces(int modules, int window, int replicates, std::uint64_t seed) {
  const int pairs = modules * (modules - 1);
  const int cycles = (kLegacyRecords + pairs - 1) / pairs;
  const int length = window + cycles - 1;
  std::vector<double> drawn;
  std::vector<double> values(static_cast<std::size_t>(length) * static_cast<std::size_t>(modules));
  for (int replicate = 0; replicate < replicates; ++replicate) {
    const RandomStream random(seed, RandomPurpose::kNullSeries,
                              static_cast<std::uint32_t>(replicate));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.Normal(i);
    LegacyPhi legacy;
    double last = 0.0;
    for (int cycle = 0; cycle < cycles; ++cycle) {
      const SeriesView view = {values.data() + static_cast<std::ptrdiff_t>(cycle) * modules, window,
                               modules, modules};
      last = legacy.Add(view).value_or(0.0);
    }
    drawn.push_back(last);
  }
  return drawn;
}

// Returns phi_c of independent noise, one value per replicate.
std::vector<double> NoiseTriples(int dimension, int replicates, std::uint64_t seed) {
  constexpr int kMaxDrawn = 64;
  constexpr std::int64_t kRows = kLegacyTripleWindow;
  const int columns = std::min(dimension, kMaxDrawn);
  const std::size_t size = static_cast<std::size_t>(kRows) * static_cast<std::size_t>(columns);
  std::vector<double> values(3 * size);
  std::vector<double> drawn;
  double mean = 0.0;
  for (int replicate = 0; replicate < replicates; ++replicate) {
    const RandomStream random(seed, RandomPurpose::kNullTriple,
                              static_cast<std::uint32_t>(replicate));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.Normal(i);
    const auto member = [&](std::size_t which) {
      return SeriesView{values.data() + which * size, kRows, columns, columns};
    };
    drawn.push_back(LegacyTriplePhi(member(0), member(1), member(2)));
    mean += drawn.back() / replicates;
  }
  const double shrunk = std::sqrt(static_cast<double>(columns) / dimension);
  for (double& value : drawn) value = mean + (value - mean) * shrunk;
  return drawn;
}

LegacyNull NullOfDraws(std::vector<double> drawn) {
  std::ranges::sort(drawn);
  const auto count = static_cast<double>(drawn.size());
  LegacyNull null;
  for (const double value : drawn) null.mean += value / count;
  for (const double value : drawn) {
    null.deviation += (value - null.mean) * (value - null.mean) / std::max(1.0, count - 1);
  }
  null.deviation = std::sqrt(null.deviation);
  const auto at = [&](double share) {
    return drawn[static_cast<std::size_t>(share * (count - 1))];
  };
  null.low = at(0.025);
  null.high = at(0.975);
  return null;
}

}  // namespace

LegacyNull LegacyNullOf(int modules, int window, int replicates, std::uint64_t seed) {
  return NullOfDraws(NoiseWorkspaces(modules, window, replicates, seed));
}

LegacyNull LegacyCombinedNullOf(int modules, int dimension, int replicates, std::uint64_t seed) {
  std::vector<double> drawn = NoiseWorkspaces(modules, kLegacyWindow, replicates, seed);
  const std::vector<double> triples = NoiseTriples(dimension, replicates, seed);
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = LegacyCombined(drawn[i], triples[i]);
  return NullOfDraws(std::move(drawn));
}

}  // namespace reveza::phi
