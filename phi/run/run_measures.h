// Computes the measures of one run, cycle by cycle, from its recent observations.
// Not thread-safe; distinct objects may be used concurrently.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "phi/cycles/model.h"
#include "phi/measures/legacy.h"
#include "phi/measures/significance.h"
#include "phi/measures/window.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// The part of an observation that measures need and checkpoints keep.
struct CycleSample {
  float mean[kModules];
  float first[kModules];
};

class RunMeasures {
 public:
  explicit RunMeasures(const RunSettings& settings);

  // Adds the observation of `cycle`, which must follow the last one, and writes a value per measure
  // (MeasureNames) to `values`, kNotAvailable for those not due. Returns an error if measures that
  // are due cannot be computed; the other values are valid, and further cycles may be added.
  Status Add(std::uint64_t cycle, const Observation& observation, std::span<double> values);

  // Samples() returns what a checkpoint must keep, oldest first; Restore() resumes from it after
  // `cycle` cycles.
  std::vector<CycleSample> Samples() const;
  Status Restore(std::uint64_t cycle, std::span<const CycleSample> samples);

  // Returns, for each of settings.measures, the null distribution of the last window, whose modules
  // are made independent by shifts in time; nothing for i, and without a window to measure.
  std::vector<std::optional<Significance>> Nulls(int threads) const;

  // Returns the maximum number of samples in a checkpoint.
  static std::size_t RetainedSamples(const RunSettings& settings);
  // Returns the maximum memory of one object and of its samples in a checkpoint.
  static Bytes MaxBytes(const RunSettings& settings);
  // Whether measure `measure`, an index into MeasureNames, has a window that ends at `cycle`.
  static bool IsDue(const RunSettings& settings, std::size_t measure, std::uint64_t cycle);

 private:
  void Push(const CycleSample& sample);
  Status AddLegacy(std::uint64_t cycle, std::size_t rows);
  Status Measure(std::span<double> values);
  SeriesView Last(const std::vector<double>& values, std::size_t rows, std::size_t skipped) const;

  const RunSettings& settings_;
  WindowOptions options_;
  std::size_t retained_;
  std::vector<double> means_;  // rows of kModules numbers
  std::vector<double> firsts_;
  LegacyPhi legacy_;
  double workspace_ = 0;
};

}  // namespace reveza::phi
