// Predicts the peak memory of a step from its parameters and the peaks of earlier steps of its
// command, where these explain them: a number by a line (least squares), any value by the peaks of
// steps that had it. Pure values. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

class PeakModel {
 public:
  // Before so many steps nothing is predicted.
  static constexpr std::size_t kMinSamples = 6;
  // Older samples are forgotten.
  static constexpr std::size_t kMaxSamples = 256;

  // Records the peak of a successful step.
  void Add(std::span<const Parameter> parameters, Bytes peak);

  // Returns an upper estimate for a step, without a margin: the prediction of the parameter that
  // explains the peaks best, plus the largest peak above it so far. nullopt if no parameter makes
  // claims at least a third smaller than the largest peak would, or if none tells of this step.
  std::optional<Bytes> Predict(std::span<const Parameter> parameters) const;

 private:
  struct Sample {
    std::vector<std::string> values;  // of the parameters, in their order
    double peak = 0;
  };
  // An estimate for a step, and how much the same rule claims too much on average.
  struct Estimate {
    double peak = 0;
    double excess = 0;
  };

  std::optional<Estimate> ByLine(std::size_t parameter, const std::string& value) const;
  std::optional<Estimate> ByValue(std::size_t parameter, const std::string& value) const;

  std::vector<Sample> samples_;
  std::size_t next_ = 0;  // to be replaced, once there are kMaxSamples
};

}  // namespace reveza::jobs
