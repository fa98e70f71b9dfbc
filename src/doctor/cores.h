// Whether two CPUs together do twice the work of one. Thread-safety: none; the measurement moves
// the threads that it starts, and no others.
#pragma once

#include <optional>

#include "doctor/finding.h"

namespace reveza::doctor {

struct CoresMeasured {
  double both = 0;        // work of two threads at once / work of one alone
  double cpu_part = 0;    // part of the time in which the two really had their CPUs
  bool siblings = false;  // two hardware threads of one core, as the kernel says
};

// Takes a second. Nothing where fewer than two CPUs may be used.
std::optional<CoresMeasured> MeasureCores();

// A pure function.
Finding JudgeCores(const CoresMeasured& measured);

}  // namespace reveza::doctor
