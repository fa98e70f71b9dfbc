// The measures of one run, cycle by cycle, from what was observed of it lately.
// Not safe from several threads; different objects are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "phi/cycles/model.h"
#include "phi/measures/legacy.h"
#include "phi/measures/window.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// What the measures need of a cycle, and a checkpoint keeps.
struct Glance {
  float mean[kModules];
  float first[kModules];
};

class RunMeasures {
 public:
  explicit RunMeasures(const RunSettings& settings);

  // What is measured after the cycle `cycle`, into as many `values` as MeasureNames has;
  // kNotAvailable where there is none. Cycles come one after the other. Error: some that are due
  // cannot be measured, and why the first cannot; the others are there, and so is what comes after.
  Status Add(std::uint64_t cycle, const Observation& observation, std::span<double> values);

  // The glances that a checkpoint must keep to go on, oldest first, and going on with them after
  // `cycle` cycles.
  std::vector<Glance> Glances() const;
  Status Restore(std::uint64_t cycle, std::span<const Glance> glances);

  // So many are kept at most.
  static std::size_t KeptOf(const RunSettings& settings);
  // Memory that one may take, and its glances in a checkpoint.
  static Bytes MostBytes(const RunSettings& settings);
  // Whether the measure of this number in MeasureNames looks at a window that ends here.
  static bool IsDue(const RunSettings& settings, std::size_t measure, std::uint64_t cycle);

 private:
  void Push(const Glance& glance);
  Status AddLegacy(std::uint64_t cycle, std::size_t rows);
  Status Measure(std::span<double> values);
  SeriesView Last(const std::vector<double>& values, std::size_t rows, std::size_t skipped) const;

  const RunSettings& settings_;
  WindowOptions options_;
  std::size_t kept_;
  std::vector<double> means_;  // rows of kModules numbers
  std::vector<double> firsts_;
  LegacyPhi legacy_;
  double workspace_ = 0;
};

}  // namespace reveza::phi
