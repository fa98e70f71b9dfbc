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
#include "reveza/jobs/definition/step_parameters.h"

namespace reveza::jobs {

class PeakModel {
 public:
  // Before so many steps nothing is predicted.
  static constexpr std::size_t kMinSamples = 6;
  // Older samples are forgotten.
  static constexpr std::size_t kMaxSamples = 256;

  // Records the peak of a successful step. Fits again after every eighth as many samples as there
  // are, and at once when the peak is above what was predicted.
  void Add(const Parameters& parameters, Bytes peak);

  // Returns an upper estimate for a step, without a margin: the prediction of the parameter that
  // explains the peaks best, plus the largest peak above it so far. nullopt if no parameter makes
  // claims at least a third smaller than the largest peak would, or if none tells of this step.
  std::optional<Bytes> Predict(const Parameters& parameters) const;

 private:
  struct Sample {
    std::vector<std::string> values;             // of the parameters, in their order
    std::vector<std::optional<double>> numbers;  // the values that are numbers
    double peak = 0;
  };
  // An estimate for a step, and how much the same rule claims too much on average.
  struct Estimate {
    double peak = 0;
    double excess = 0;
  };
  struct Line {
    double mean_x = 0;
    double mean_y = 0;
    double slope = 0;
    double above = 0;  // of a peak over the line, at most
  };
  // The peaks of steps that had the same value.
  struct Class {
    double most = 0;
    double sum = 0;
    std::size_t count = 0;
  };
  struct Classes {
    std::map<std::string, Class> by_value;
    double excess = 0;
  };

  std::size_t ParameterCount() const;
  bool Surprises(const Sample& sample) const;
  void Fit();
  std::optional<Line> FitLine(std::size_t parameter) const;
  Classes FitClasses(std::size_t parameter) const;
  std::optional<Estimate> Best(std::span<const std::string> values,
                               std::span<const std::optional<double>> numbers) const;

  std::vector<Sample> samples_;
  std::size_t next_ = 0;      // to be replaced, once there are kMaxSamples
  std::size_t unfitted_ = 0;  // samples added since the last fit
  // What was fitted; no rules where none is worth it.
  double least_ = 0;
  double max_excess_ = 0;
  std::vector<std::optional<Line>> lines_;  // by parameter
  std::vector<Classes> classes_;            // by parameter
};

}  // namespace reveza::jobs
