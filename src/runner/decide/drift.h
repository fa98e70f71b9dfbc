// Whether what takes time takes ever more of it: a regression of durations on their numbers, and
// whether a line is a better story than one sudden change. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace reveza::runner {

struct TimedStep {
  double index = 0;
  double seconds = 0;
};

struct Drift {
  double slope = 0;  // seconds by which each step is longer than the last
  double error = 0;  // its standard error
  double at = 0;     // the middle of the steps,
  double level = 0;  // and what one takes there

  double At(double index) const { return level + slope * (index - at); }
};

struct Trend {
  std::optional<Drift> drift;  // only where it is certain
  std::size_t from = 0;        // steps before this one are of another time: something changed
};

// `steps` in the order of their indices. A drift is certain when the slope is more than four
// standard errors from 0 and makes 5 % of a step over all of them; at least twelve are needed.
Trend FindTrend(std::span<const TimedStep> steps);

}  // namespace reveza::runner
