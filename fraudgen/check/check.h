// Validates a data set in a folder or bucket: files, keys, values within and between rows,
// distributions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/check/outcome.h"
#include "fraudgen/output/destination.h"

namespace reveza::fraudgen::check {

struct CheckResult {
  std::vector<Outcome> outcomes;  // one per check
  uint64_t findings = 0;          // failed checks
  bool stopped = false;           // by the callback
};

// Called periodically with the number of rows read. Returning false stops the check.
using OnRows = std::function<bool(uint64_t rows)>;

// Checks the data set at `place`. kNotFound: no manifests; kIncompatible: made by an unknown model.
Result<CheckResult> CheckData(const std::shared_ptr<Destination>& place, const OnRows& on_rows);

// Returns "116 checks passed", or how many failed or were skipped.
std::string SummaryOf(const CheckResult& result);

}  // namespace reveza::fraudgen::check
