// Compares two jobs by the steps that they share. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "reveza/jobs/report/step_table.h"

namespace reveza::jobs {

// `a` and `b` are the names of the jobs.
struct TableComparison {
  // A row for each step of either job, those of `a` first: its parameters, then each other column
  // of both tables twice, as `state_a` and `state_b`; null where one lacks it.
  StepTable steps;
  // A row for each quantity: its name, the means of both over the steps that are done in both, and
  // the change from one to the other in percent (null if the first is 0).
  StepTable summary;
  std::uint64_t done_in_both = 0;
  std::uint64_t done_only_in_a = 0;
  std::uint64_t done_only_in_b = 0;
};

// Compares what MakeStepTable() returned for two jobs. Steps are the same if their commands (1 in a
// job with a single one) and parameters are, equal ones one after the other; without parameters, if
// their numbers are.
TableComparison CompareTables(const StepTable& a, const StepTable& b);

}  // namespace reveza::jobs
