// How long the rest of a job will take, from what its steps took. The rest is played through a few
// dozen times with durations drawn from those that were seen of the same class, at the same number
// of workers where there are enough; how sure their mean is plays a part, and how much it went up
// and down meanwhile. Steps that grow longer (drift.h) are expected to go on so; after a sudden
// change only what came later counts.
//
// What was seen is bounded: the last 256 steps of a class. The same is always answered to the same.
// Pure values; no clock. Thread-safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runner/drift.h"
#include "runner/progress_text.h"
#include "runner/throughput.h"

namespace reveza::runner {

struct WorkLeft {
  WorkClass step_class = 0;
  std::uint64_t steps = 0;  // not started yet
};

struct InFlight {
  WorkClass step_class = 0;
  std::chrono::nanoseconds elapsed{0};  // for which it has run
};

class Estimator {
 public:
  // A step of a class ended, `index` counting those of the class or of the job, after `duration`,
  // while `workers` were allowed.
  void Finished(std::uint64_t index, std::chrono::nanoseconds duration, unsigned workers,
                WorkClass step_class = 0);

  // Nothing before three steps have ended. A class that was never seen is taken to be as the
  // others.
  std::optional<RemainingTime> Remaining(std::span<const WorkLeft> left,
                                         std::span<const InFlight> running, unsigned workers) const;

  // Of the class of which the most steps were seen; nothing unless it is certain.
  std::optional<Drift> MainDrift() const;

 private:
  struct Seen {
    double index = 0;
    double seconds = 0;
    unsigned workers = 0;
  };
  struct Class {
    std::vector<Seen> seen;  // in the order of ending; the oldest are dropped
    std::uint64_t count = 0;
  };
  // What one class is expected to take.
  struct Model {
    std::vector<double> rests;  // durations, less the drift
    std::optional<Drift> drift;
    double last = 0;  // index
    double mean = 0;  // of `rests`
    double deviation = 0;
    double unsure = 0;  // how far the mean of those to come may be from it: standard deviation

    // The `ahead`-th step from now, that was drawn as `rest`.
    double At(double ahead, double rest) const;
  };
  struct Play;
  static std::vector<TimedStep> Comparable(const Class& of, unsigned workers);
  Model ModelOf(WorkClass step_class, unsigned workers) const;

  std::unordered_map<WorkClass, Class> classes_;
  std::uint64_t finished_ = 0;
};

}  // namespace reveza::runner
