// Summarises the metrics that steps report, e.g. phi. The order of adding affects only rounding.
// Pure values. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/supervisor/cycle_lines.h"

namespace reveza::jobs {

struct MetricSummary {
  std::uint64_t count = 0;  // 0: the other fields are meaningless
  double min = 0;
  double mean = 0;
  double max = 0;
  double final = 0;                // value of the highest-numbered step
  std::uint64_t final_number = 0;  // number of that step

  // Adds the value of step `number`. Of two values with the same number the larger is final.
  void Add(std::uint64_t number, double value);

  bool operator==(const MetricSummary&) const = default;
};

struct NamedSummary {
  std::string name;
  MetricSummary summary;

  bool operator==(const NamedSummary&) const = default;
};

class Metrics {
 public:
  // Bounds memory, e.g. if a program uses a new name in every step. Further names are ignored.
  static constexpr std::size_t kMaxNames = 256;

  void Add(std::uint64_t number, std::span<const Metric> metrics);

  std::span<const NamedSummary> all() const { return all_; }  // in order of first appearance

 private:
  std::vector<NamedSummary> all_;
};

// Returns the metrics of all recorded cycles of these steps, of any run.
Result<Metrics> ReadMetrics(Journal& journal, std::span<const StepEntry> steps);

}  // namespace reveza::jobs
