// Estimates the remaining time of a job: what is left, over the rate at which steps finish, and
// what the last of them take. The duration of a class is lognormal, fitted to steps that have
// finished and to those that run already longer than others: at the beginning only short ones have
// finished.
//
// Memory is bounded: the last 64 steps of a class. Deterministic. Pure values. Not thread-safe.
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
  // Records a finished step; `workers`: the number allowed at the time.
  void OnStepFinished(std::chrono::nanoseconds duration, unsigned workers,
                      WorkClass step_class = 0);

  // Returns the remaining time; empty before three steps have finished. An unknown class is assumed
  // to behave like the others.
  std::optional<RemainingTime> Remaining(std::span<const PendingGroup> groups) const;

 private:
  struct Sample {
    double seconds = 0;
    double share = 0;  // of the machine's time: seconds over workers
  };
  // The durations of one class: their logarithm is normal.
  struct Model {
    double mu = 0;
    double sigma = 0;
    double share = 0;  // mean time between ends of steps, if all are of this class
    double samples = 0;

    double Mean() const;
    // Returns the duration that a share `probability` of steps does not exceed, given that it
    // exceeds `elapsed`.
    double Quantile(double probability, double elapsed) const;
  };

  Model ModelOf(WorkClass step_class, std::span<const InFlight> running) const;
  double GroupSeconds(const PendingGroup& group, bool p90) const;

  std::unordered_map<WorkClass, std::vector<Sample>> classes_;  // in order of completion
  std::uint64_t finished_ = 0;
};

}  // namespace reveza::jobs
