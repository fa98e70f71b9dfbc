// Looks at a data set in a folder or bucket: is it whole, is it true, is it what its model
// promises?
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "datagen/check/outcome.h"
#include "datagen/run/destination.h"

namespace reveza::datagen::check {

struct CheckResult {
  std::vector<Outcome> outcomes;  // one a check
  uint64_t findings = 0;
  bool stopped = false;  // because it was told to
};

// Called now and then, with the rows that went by; false: to stop.
using OnRows = std::function<bool(uint64_t rows)>;

// An error where there is no data set, or none that this program knows.
Result<CheckResult> CheckData(const std::shared_ptr<Destination>& place, const OnRows& on_rows);

}  // namespace reveza::datagen::check
