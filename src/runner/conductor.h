// All that decides when a step runs, behind one door: the numbers of workers (tuner.h), admission
// (admission.h), claims (claims.h), what is done under pressure (pressure.h) and the time that is
// left (estimate.h). An engine tells what happens and asks what to do:
//
//   Tick and Relieve every second or so, and whenever steps began or ended;
//   Choose while it names a step; then Started, Used as often as it is known, Ended.
//
// Steps that claim memory of a GPU and those that do not have numbers of workers of their own,
// unless a number was asked for: that holds for all together.
//
// Pure values; no clock. Thread-safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runner/admission.h"
#include "runner/claims.h"
#include "runner/estimate.h"
#include "runner/pressure.h"
#include "runner/tuner.h"

namespace reveza::runner {

// A step that could start: what it waited for in the job is done.
struct Candidate {
  StepNumber step = 0;
  Shape shape = 0;
  Claim claim;
};

struct StepEnd {
  enum class How {
    kSucceeded,
    kFailed,       // by itself, or by a time limit
    kOutOfMemory,  // killed because the machine or our cgroup had no more
    kOverLimit,    // killed because it had more than it was allowed itself
    kNoGpuMemory,
    kForPressure,  // ended because PressureAction::kEnd said so
    kCancelled,    // says nothing of the step
  };
  How how = How::kSucceeded;
  std::optional<Bytes> memory_peak{};
  std::optional<Bytes> gpu_memory_peak{};
  double work = 1;  // of what is usual for its shape: the cycles that it made, say
};

class Conductor {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Options {
    std::optional<unsigned> workers{};  // exactly so many, at least 1
    Tuner::Options cpu{};               // without `workers`: for steps without GPU
    Tuner::Options gpu{};               // and for those with one
    Budget budget{};
    PressureLimits pressure{};
  };
  struct Choice {
    std::optional<std::size_t> index;  // into the candidates
    Verdict verdict;  // kAdmit or kNever of that one; without one why the first waits, with an
                      // empty reason when only all workers are busy
    Need need;  // with which it is to be started
  };

  explicit Conductor(Options options);

  Claims& claims() { return claims_; }  // to restore what was learned, and to keep it

  // `remaining`: steps that did not start yet, in all.
  void Tick(nanoseconds now, std::uint64_t remaining);
  // The first of those that wait, in their order.
  Choice Choose(const Reading& reading, std::span<const Candidate> candidates);
  void Started(const Candidate& candidate, const Choice& choice, nanoseconds now);
  // What a running step has now.
  void Used(StepNumber step, std::optional<Bytes> memory, std::optional<Bytes> gpu_memory);
  // `index`: its place among the steps of the job.
  void Ended(StepNumber step, std::uint64_t index, const StepEnd& end, nanoseconds now);

  // One thing to do now. A pause or its end is taken to be done; of kEnd, Ended is told.
  std::optional<PressureAction> Relieve(const Reading& reading);

  // For how long a running step has run, pauses not counted; 0 for one that does not.
  nanoseconds Elapsed(StepNumber step, nanoseconds now) const;
  std::size_t running() const { return running_.size(); }
  // Both kinds together; what was asked for, where it was.
  unsigned workers() const;

  const Tuner& cpu() const { return cpu_; }
  const Tuner& gpu() const { return gpu_; }
  // By shape, how many did not start yet.
  std::optional<RemainingTime> Remaining(std::span<const WorkLeft> left, nanoseconds now) const;
  std::optional<Drift> MainDrift() const { return estimator_.MainDrift(); }

 private:
  struct Run {
    Shape shape = 0;
    RunningTime time;
  };
  struct Kind {
    Tuner& tuner;
    unsigned running;
  };
  Kind KindOf(bool with_gpu);
  bool HasWorker(bool with_gpu);
  void Learn(const Admitted& step, Shape shape, const StepEnd& end, nanoseconds now);

  Options options_;
  Tuner cpu_;
  Tuner gpu_;
  bool cpu_used_ = false;  // there was such a step
  bool gpu_used_ = false;
  Claims claims_;
  Admission admission_;
  PressureGuard pressure_;
  Estimator estimator_;
  std::vector<Admitted> running_;
  std::unordered_map<StepNumber, Run> runs_;
};

}  // namespace reveza::runner
