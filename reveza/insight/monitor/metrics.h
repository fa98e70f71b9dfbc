// Converts snapshots to Prometheus metrics; reveza-metrics serves them.
//
// Labels identify GPUs, programs (by name) and jobs, never steps or processes, which bounds their
// cardinality. Unavailable values have no sample. docs/metrics.md lists all metrics. Pure
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

enum class MetricType { kGauge, kCounter, kHistogram };

struct Metric {
  const char* name;
  MetricType type;
  const char* labels;  // comma-separated
  const char* help;
};
std::span<const Metric> AllMetrics();

struct MetricSample {
  std::size_t metric = 0;  // index into AllMetrics()
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
  std::optional<Durations> durations;  // of a histogram
};
std::vector<MetricSample> MetricSamples(const Snapshot& snapshot);

}  // namespace reveza::monitor
