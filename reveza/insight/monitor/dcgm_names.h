// What dcgm-exporter calls the memory and use of GPUs, for dashboards and alerts that were made for
// it. docs/metrics.md lists the names. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reveza/insight/monitor/metrics.h"

namespace reveza::monitor {

std::span<const Metric> DcgmMetrics();

// Returns samples with indices into DcgmMetrics(). Memory in use has a sample for each program, and
// one without a program for the rest, so that the sum is what the card has in use.
std::vector<MetricSample> DcgmSamples(const Snapshot& snapshot, const std::string& host);

}  // namespace reveza::monitor
