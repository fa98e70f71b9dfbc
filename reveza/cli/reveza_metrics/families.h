// Converts a snapshot to the types of prometheus-cpp. A pure function.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "reveza/insight/monitor/snapshot.h"

namespace reveza::cli {

// Returns the metrics that have samples.
std::vector<prometheus::MetricFamily> FamiliesOf(const monitor::Snapshot& snapshot);

}  // namespace reveza::cli
