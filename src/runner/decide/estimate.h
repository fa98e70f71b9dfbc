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

#include "runner/decide/drift.h"
#include "runner/decide/throughput.h"

namespace reveza::runner {

struct RemainingTime {
  std::chrono::nanoseconds p50{0};  // as likely too long as too short
  std::chrono::nanoseconds p90{0};  // in nine of ten cases it is less

  bool operator==(const RemainingTime&) const = default;
};

struct WorkLeft {
  WorkClass step_class = 0;
  std::uint64_t steps = 0;  // not started yet
};

struct InFlight {
  WorkClass step_class = 0;
  std::chrono::nanoseconds elapsed{0};  // for which it has run
};

// Steps that have workers of their own. Those of a later phase wait for all of an earlier one.
struct GroupLeft {
  unsigned phase = 0;
  unsigned workers = 1;
  std::vector<WorkLeft> left{};
  std::vector<InFlight> running{};
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
  // The same where several groups work at once or one after the other.
  std::optional<RemainingTime> Remaining(std::span<const GroupLeft> groups) const;

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
