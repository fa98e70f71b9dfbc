// What is done when memory is scarce although nothing more was started. First the youngest step is
// paused, never the last that runs. Without swap that frees nothing: where there is no relief in
// ten seconds it is ended, to be run again with a larger claim; where there was some and the
// pressure comes back, the next is paused. When the pressure is gone, what was
// paused goes on, the oldest first, before anything else starts.
//
// Steps that may hold a GPU are never paused, since they would keep it from others. Where nothing
// else is left to pause or to end, the youngest of them is ended at once, never the last step.
//
// In a job that its user has paused nothing is paused and nothing goes on. While a step on a GPU
// runs on there, and there was no relief in ten seconds, the youngest that stands still is ended,
// and where none does the youngest that runs. Where all stand still the pressure is not of this
// job.
//
// Pure values; no clock. Thread-safety: none.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "runner/decide/admission.h"

namespace reveza::runner {

// How long a step has run, pauses not counted: what time limits are compared with.
class RunningTime {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  explicit RunningTime(nanoseconds start) : since_(start) {}

  void Pause(nanoseconds now);
  void Resume(nanoseconds now);
  nanoseconds Elapsed(nanoseconds now) const;

 private:
  nanoseconds since_;
  nanoseconds before_{0};
  bool paused_ = false;
};

struct PressureAction {
  enum class Kind {
    kPause,
    kResume,
    kEnd,  // and run it again with a larger claim
  };
  Kind kind = Kind::kPause;
  StepNumber step = 0;
  std::string reason;
};

struct PressureLimits {
  double full_most = 10;      // PSI full avg10 in percent; above it something is paused
  double full_calm = 2;       // below it what was paused goes on
  Bytes available_least = 0;  // less free memory is pressure too; 0: never
  std::chrono::nanoseconds relief = std::chrono::seconds(10);
};

class PressureGuard {
 public:
  explicit PressureGuard(PressureLimits limits = {}) : limits_(limits) {}

  // One thing to do now, or nothing. It is done before the next call, and `running` then says so.
  // To be called every second or so while steps run. `held`: the user has paused the job.
  std::optional<PressureAction> Next(const Reading& reading, std::span<const Admitted> running,
                                     bool held = false);

  // Whether nothing may start: there is pressure, or something is paused.
  bool holds() const { return holds_; }

 private:
  std::optional<PressureAction> NextWhileHeld(const Reading& reading,
                                              std::span<const Admitted> running);
  bool IsHigh(const Reading& reading) const;
  bool IsCalm(const Reading& reading) const;
  std::string Words(const Reading& reading) const;

  PressureLimits limits_;
  bool holds_ = false;
  bool held_ = false;      // when last asked
  bool relieved_ = false;  // there was no pressure at some time since the last action
  std::optional<std::chrono::nanoseconds> acted_;  // last
};

}  // namespace reveza::runner
