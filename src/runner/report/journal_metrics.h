// What the cycles of a job's steps have measured, as its journal has it. Thread-safety: none.
#pragma once

#include <span>

#include "base/error.h"
#include "runner/journal/journal.h"
#include "runner/report/metrics.h"

namespace reveza::runner {

// Of all cycles of these steps that are noted, whichever run has made them.
Result<Metrics> ReadMetrics(Journal& journal, std::span<const StepEntry> steps);

}  // namespace reveza::runner
