// Estimates the remaining time of a job by Monte Carlo: plays the rest a few dozen times with
// durations drawn from observed steps of the same class, at the same number of workers if there are
// enough of them. Accounts for the uncertainty of their mean and for its variation over time. Drift
// (drift.h) is extrapolated; after a level shift only later steps count.
//
// Memory is bounded: the last 256 steps of a class. Deterministic. Pure values. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "reveza/jobs/decide/throughput.h"

namespace reveza::jobs {

struct TimedStep {
  double index = 0;
  double seconds = 0;
};

// A regression line through (center, level).
struct Drift {
  double slope = 0;   // seconds per step
  double error = 0;   // standard error of the slope
  double center = 0;  // mean index
  double level = 0;   // duration at `center`, seconds

  double At(double index) const { return level + slope * (index - center); }
};

struct Trend {
  std::optional<Drift> drift;  // only if significant
  std::size_t first = 0;       // steps before this one precede a level shift: ignore them
};

// Detects whether durations grow or shrink steadily: linear regression over their indices, compared
// with a single level shift. `steps` are ordered by index. A drift is significant if its slope is
// more than four standard errors from 0 and accounts for 5 % of a step over the whole range. Needs
// at least twelve steps.
Trend FindTrend(std::span<const TimedStep> steps);

struct RemainingTime {
  std::chrono::nanoseconds p50{0};  // median
  std::chrono::nanoseconds p90{0};  // 90th percentile

  bool operator==(const RemainingTime&) const = default;
};

struct PendingWork {
  WorkClass step_class = 0;
  std::uint64_t steps = 0;  // not started yet
};

struct InFlight {
  WorkClass step_class = 0;
  std::chrono::nanoseconds elapsed{0};
};

// Steps with workers of their own. Groups of one phase run concurrently; a phase starts when the
// phase before it has finished.
struct PendingGroup {
  unsigned phase = 0;
  unsigned workers = 1;
  std::vector<PendingWork> left{};
  std::vector<InFlight> running{};
};

class Estimator {
 public:
  // Records a finished step. `index`: its number within the class or the job; `workers`: the number
  // allowed at the time.
  void OnStepFinished(std::uint64_t index, std::chrono::nanoseconds duration, unsigned workers,
                      WorkClass step_class = 0);

  // Returns the remaining time; empty before three steps have finished. An unknown class is assumed
  // to behave like the others.
  std::optional<RemainingTime> Remaining(std::span<const PendingGroup> groups) const;

  // Returns the drift of the class with the most finished steps; empty unless significant.
  std::optional<Drift> MainDrift() const;

 private:
  struct Sample {
    double index = 0;
    double seconds = 0;
    unsigned workers = 0;
  };
  struct Class {
    std::vector<Sample> samples;  // in order of completion; the oldest are dropped
    std::uint64_t count = 0;
  };
  // The distribution of one class.
  struct Model {
    std::vector<double> residuals;  // durations minus drift
    std::optional<Drift> drift;
    double last_index = 0;
    double mean = 0;  // of `residuals`
    double deviation = 0;
    double mean_error = 0;  // standard error of the mean of future steps

    // Returns the duration of the `ahead`-th step from now whose drawn residual is `residual`.
    double At(double ahead, double residual) const;
  };
  struct Simulation;
  static std::vector<TimedStep> Comparable(const Class& of, unsigned workers);
  Model ModelOf(WorkClass step_class, unsigned workers) const;

  std::unordered_map<WorkClass, Class> classes_;
  std::uint64_t finished_ = 0;
};

}  // namespace reveza::jobs
