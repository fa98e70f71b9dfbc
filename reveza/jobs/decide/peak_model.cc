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

std::optional<double> NumberOf(std::string_view value) {
  const auto number = ParseNumber<double>(value);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// Fits again after so many samples for each new one.
constexpr std::size_t kSamplesPerFit = 8;

}  // namespace

void PeakModel::Add(const Parameters& parameters, Bytes peak) {
  Sample sample;
  for (const auto parameter : parameters) {
    sample.values.emplace_back(parameter.value);
    sample.numbers.push_back(NumberOf(parameter.value));
  }
  sample.peak = static_cast<double>(peak);
  const bool surprises = Surprises(sample);
  if (samples_.size() < kMaxSamples) {
    samples_.push_back(std::move(sample));
  } else {
    samples_[next_] = std::move(sample);
    next_ = (next_ + 1) % kMaxSamples;
  }
  ++unfitted_;
  if (samples_.size() < kMinSamples) return;
  if (surprises || unfitted_ * kSamplesPerFit >= samples_.size()) Fit();
}

std::optional<Bytes> PeakModel::Predict(const Parameters& parameters) const {
  if (lines_.empty()) return std::nullopt;
  std::vector<std::string> values;
  std::vector<std::optional<double>> numbers;
  for (const auto parameter : parameters) {
    values.emplace_back(parameter.value);
    numbers.push_back(NumberOf(parameter.value));
  }
  const auto best = Best(values, numbers);
  if (!best || best->excess > max_excess_) return std::nullopt;
  return static_cast<Bytes>(std::max(best->peak, least_));
}

std::size_t PeakModel::ParameterCount() const {
  return std::ranges::min(samples_, {}, [](const Sample& one) { return one.values.size(); })
      .values.size();
}

bool PeakModel::Surprises(const Sample& sample) const {
  const auto best = Best(sample.values, sample.numbers);
  return best && sample.peak > best->peak;
}

std::optional<PeakModel::Estimate> PeakModel::Best(
    std::span<const std::string> values, std::span<const std::optional<double>> numbers) const {
  std::optional<Estimate> best;
  const auto consider = [&best](const Estimate& estimate) {
    if (!best || estimate.excess < best->excess) best = estimate;
  };
  for (std::size_t i = 0; i < std::min(values.size(), lines_.size()); ++i) {
    // The residuals add up to nothing, so each claim is too large by `above` on average.
    if (const auto& line = lines_[i]; line && numbers[i]) {
      consider(
          {line->mean_y + line->slope * (*numbers[i] - line->mean_x) + line->above, line->above});
    }
    const auto own = classes_[i].by_value.find(values[i]);
    if (own == classes_[i].by_value.end() || own->second.count < kMinOfValue) continue;
    consider({own->second.most, classes_[i].excess});
  }
  return best;
}

void PeakModel::Fit() {
  unfitted_ = 0;
  lines_.clear();
  classes_.clear();
  const auto [least, most] = std::ranges::minmax(samples_, {}, &Sample::peak);
  double excess = 0;
  for (const Sample& sample : samples_) excess += most.peak - sample.peak;
  least_ = least.peak;
  max_excess_ = kMaxExcess * excess / static_cast<double>(samples_.size());
  // Claims cannot become a third smaller.
  if (least.peak >= kMaxExcess * most.peak) return;
  for (std::size_t i = 0; i < ParameterCount(); ++i) {
    lines_.push_back(FitLine(i));
    classes_.push_back(FitClasses(i));
  }
}

std::optional<PeakModel::Line> PeakModel::FitLine(std::size_t parameter) const {
  Line line;
  std::set<double> distinct;
  const auto n = static_cast<double>(samples_.size());
  for (const Sample& sample : samples_) {
    const auto& x = sample.numbers[parameter];
    if (!x) return std::nullopt;
    if (distinct.size() < kMinValues) distinct.insert(*x);
    line.mean_x += *x / n;
    line.mean_y += sample.peak / n;
  }
  if (distinct.size() < kMinValues) return std::nullopt;
  double covariance = 0;
  double variance = 0;
  for (const Sample& sample : samples_) {
    const double x = *sample.numbers[parameter] - line.mean_x;
    covariance += x * (sample.peak - line.mean_y);
    variance += x * x;
  }
  line.slope = covariance / variance;
  for (const Sample& sample : samples_) {
    const double x = *sample.numbers[parameter] - line.mean_x;
    line.above = std::max(line.above, sample.peak - (line.mean_y + line.slope * x));
  }
  return line;
}

PeakModel::Classes PeakModel::FitClasses(std::size_t parameter) const {
  Classes classes;
  for (const Sample& sample : samples_) {
    Class& known = classes.by_value[sample.values[parameter]];
    known.most = std::max(known.most, sample.peak);
    known.sum += sample.peak;
    ++known.count;
  }
  double steps = 0;
  for (const auto& [name, known] : classes.by_value) {
    // Values of a single step would always be explained.
    if (known.count < kMinOfValue) continue;
    classes.excess += known.most * static_cast<double>(known.count) - known.sum;
    steps += static_cast<double>(known.count);
  }
  if (steps > 0) classes.excess /= steps;
  return classes;
}

}  // namespace reveza::jobs
