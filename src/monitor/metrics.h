// A snapshot as figures for Prometheus: names, labels, values; who serves them is elsewhere.
//
// Labels are of machines, GPUs, programs by name and jobs, never of steps or processes: their
// number stays small. What is not available has no sample. docs/metrics.md is the list for people.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "monitor/snapshot.h"

namespace reveza::monitor {

struct Metric {
  const char* name;
  bool counts;         // only grows, but when who counts begins anew; else it goes up and down
  const char* labels;  // with commas between; empty: none
  const char* meaning;
};
std::span<const Metric> AllMetrics();

struct MetricSample {
  std::size_t metric = 0;  // index into AllMetrics()
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};
std::vector<MetricSample> MetricSamples(const Snapshot& snapshot);

}  // namespace reveza::monitor
