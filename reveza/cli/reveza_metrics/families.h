// Converts a snapshot to the types of prometheus-cpp. A pure function.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "reveza/insight/monitor/snapshot.h"

namespace reveza::cli {

// Returns the metrics that have samples.
std::vector<prometheus::MetricFamily> FamiliesOf(const monitor::Snapshot& snapshot);

// Returns those under the names of dcgm-exporter, for a machine of that name.
std::vector<prometheus::MetricFamily> DcgmFamiliesOf(const monitor::Snapshot& snapshot,
                                                     const std::string& host);

}  // namespace reveza::cli
