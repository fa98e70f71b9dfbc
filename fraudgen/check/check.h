// Validates a data set in a folder or bucket: makes it again from its settings and compares.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/check/comparison.h"
#include "fraudgen/check/differences.h"
#include "fraudgen/check/outcome.h"
#include "fraudgen/output/destination.h"

namespace reveza::fraudgen::check {

struct CheckResult {
  std::vector<Outcome> outcomes;       // one per check
  std::vector<FileDifferences> files;  // that differ
  uint64_t findings = 0;               // failed checks
  bool stopped = false;                // by the callback
};

// Checks the data set at `place` on `threads` threads. kNotFound: no manifests; kIncompatible: made
// by an unknown or newer model.
Result<CheckResult> CheckData(const std::shared_ptr<Destination>& place, int threads,
                              const OnRows& on_rows);

// Returns "16 checks passed", or how many failed or were skipped.
std::string SummaryOf(const CheckResult& result);

}  // namespace reveza::fraudgen::check
