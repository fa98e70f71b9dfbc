#include "reveza/jobs/decide/peak_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "common/base/parse_number.h"

namespace reveza::jobs {
namespace {

constexpr double kMaxExcess = 2.0 / 3;  // of what the largest peak would claim too much
// A line through fewer values, or a value of fewer steps, says nothing.
constexpr std::size_t kMinValues = 3;
constexpr std::size_t kMinOfValue = 2;

std::optional<double> NumberOf(const std::string& value) {
  const auto number = ParseNumber<double>(value);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

}  // namespace

void PeakModel::Add(std::span<const Parameter> parameters, Bytes peak) {
  Sample sample;
  for (const Parameter& parameter : parameters) sample.values.push_back(parameter.value);
  sample.peak = static_cast<double>(peak);
  if (samples_.size() < kMaxSamples) {
    samples_.push_back(std::move(sample));
    return;
  }
  samples_[next_] = std::move(sample);
  next_ = (next_ + 1) % kMaxSamples;
}

std::optional<Bytes> PeakModel::Predict(std::span<const Parameter> parameters) const {
  if (samples_.size() < kMinSamples) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(samples_, {}, &Sample::peak);
  double excess = 0;
  for (const Sample& sample : samples_) excess += most.peak - sample.peak;
  excess /= static_cast<double>(samples_.size());
  std::optional<Estimate> best;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (const auto& estimate : {ByLine(i, parameters[i].value), ByValue(i, parameters[i].value)}) {
      if (estimate && (!best || estimate->excess < best->excess)) best = estimate;
    }
  }
  if (!best || best->excess > kMaxExcess * excess) return std::nullopt;
  return static_cast<Bytes>(std::max(best->peak, least.peak));
}

std::optional<PeakModel::Estimate> PeakModel::ByLine(std::size_t parameter,
                                                     const std::string& value) const {
  const auto at = NumberOf(value);
  if (!at) return std::nullopt;
  double n = 0;
  double sum_x = 0;
  double sum_y = 0;
  std::set<double> distinct;
  std::vector<std::pair<double, double>> points;
  for (const Sample& sample : samples_) {
    if (parameter >= sample.values.size()) return std::nullopt;
    const auto x = NumberOf(sample.values[parameter]);
    if (!x) return std::nullopt;
    points.emplace_back(*x, sample.peak);
    distinct.insert(*x);
    n += 1;
    sum_x += *x;
    sum_y += sample.peak;
  }
  if (distinct.size() < kMinValues) return std::nullopt;
  const double mean_x = sum_x / n;
  const double mean_y = sum_y / n;
  double covariance = 0;
  double variance = 0;
  for (const auto& [x, y] : points) {
    covariance += (x - mean_x) * (y - mean_y);
    variance += (x - mean_x) * (x - mean_x);
  }
  const double slope = covariance / variance;
  double above = 0;  // of a peak over the line, at most
  for (const auto& [x, y] : points) above = std::max(above, y - (mean_y + slope * (x - mean_x)));
  // The residuals add up to nothing, so each claim is too large by `above` on average.
  return Estimate{mean_y + slope * (*at - mean_x) + above, above};
}

std::optional<PeakModel::Estimate> PeakModel::ByValue(std::size_t parameter,
                                                      const std::string& value) const {
  struct Class {
    double most = 0;
    double sum = 0;
    std::size_t count = 0;
  };
  std::map<std::string, Class> classes;
  for (const Sample& sample : samples_) {
    if (parameter >= sample.values.size()) return std::nullopt;
    Class& known = classes[sample.values[parameter]];
    known.most = std::max(known.most, sample.peak);
    known.sum += sample.peak;
    ++known.count;
  }
  const auto own = classes.find(value);
  if (own == classes.end() || own->second.count < kMinOfValue) return std::nullopt;
  double excess = 0;
  double steps = 0;
  for (const auto& [name, known] : classes) {
    // Values of a single step would always be explained.
    if (known.count < kMinOfValue) continue;
    excess += known.most * static_cast<double>(known.count) - known.sum;
    steps += static_cast<double>(known.count);
  }
  return Estimate{own->second.most, excess / steps};
}

}  // namespace reveza::jobs
