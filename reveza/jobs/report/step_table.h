// The steps of a job as a table: parameters, outcome, time, memory and reported metrics.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

// Cells are numbers, strings or null (unknown). Times are Unix seconds, memory is in bytes.
struct StepTable {
  std::vector<std::string> columns;  // unique
  std::vector<std::vector<nlohmann::json>> rows;
};

// The columns of MakeStepTable() between parameters and metrics.
inline constexpr std::array<std::string_view, 8> kStepColumns = {
    "state", "attempts", "outcome", "code", "began", "seconds", "cpu_seconds", "peak"};

// The column after `step`, if the job has several commands: the number of the step's.
inline constexpr std::string_view kCommandColumn = "command";

// Returns a row for each step, in order: `step`, `command`, its parameters, `state`, `attempts`,
// and of the last attempt `outcome`, `code`, `began`, `seconds`, `cpu_seconds` and `peak`; then the
// metrics of its highest cycle. A column whose name another one has is prefixed with `param.` or
// `metric.`.
Result<StepTable> MakeStepTable(Journal& journal, std::span<const StepEntry> steps);

// Returns a row for each recorded cycle: `step`, `command`, its parameters, `cycle`, `at` and
// metrics.
Result<StepTable> MakeCycleTable(Journal& journal, std::span<const StepEntry> steps);

}  // namespace reveza::jobs
