// A page about a job for a browser: one file without scripts or external resources, in English.
// Texts of the job (labels, commands, output) never become markup. A pure function.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reveza/jobs/report/step_table.h"

namespace reveza::jobs {

// The end of what a failed step wrote to its standard error.
struct FailureOutput {
  std::size_t step = 0;  // from 1
  std::string last_lines;
};

struct JobPageInput {
  std::string id;
  std::string now;  // when the page is made, for its reader
  bool running = false;
  StepTable steps;  // of MakeStepTable()
  std::vector<FailureOutput> outputs;
};

// Failed steps, steps in the list and points of a picture, beyond which the page says that there
// are more.
inline constexpr std::size_t kMaxPageFailures = 100;
inline constexpr std::size_t kMaxPageSteps = 1000;
inline constexpr std::size_t kMaxPoints = 2000;

// Returns the page: counts, a time line, failures, and metrics, seconds and memory over parameters.
std::string JobPage(const JobPageInput& input);

}  // namespace reveza::jobs
