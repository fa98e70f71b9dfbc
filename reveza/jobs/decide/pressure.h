// Reacts to memory pressure once admission alone no longer prevents it.
//
//  - Pauses the youngest step, never the last one running. Without swap that frees nothing: if
//    there is no relief within ten seconds the step is terminated, to be retried with a larger
//    claim. If there was relief and the pressure returns, the next step is paused.
//  - When the pressure is gone, resumes paused steps, oldest first, before anything else starts.
//  - Steps that may hold a GPU are never paused, because they would keep it from others. If nothing
//    else is left to pause or terminate, the youngest of them is terminated at once, never the last
//    step.
//  - In a job paused by its user nothing is paused or resumed. While a GPU step keeps running and
//    there is no relief within ten seconds, the youngest paused step is terminated, or the youngest
//    running one if none is paused. If everything is paused the pressure is not ours.
//
// Pure values. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "reveza/jobs/decide/admission.h"

namespace reveza::jobs {

struct PressureAction {
  enum class Kind {
    kPause,
    kResume,
    kTerminate,  // and retry with a larger claim
  };
  Kind kind = Kind::kPause;
  StepNumber step = 0;
  std::string reason;
};

class PressureGuard {
 public:
  // Returns one action to take now, or none; call about once a second while steps run. The caller
  // carries it out before the next call, so that `running` reflects it. `job_paused`: by the user.
  std::optional<PressureAction> Next(const MachineReading& reading,
                                     std::span<const RunningStep> running, bool job_paused = false);

  // Whether no step may start: there is pressure, or a step is paused.
  bool blocks_starts() const { return blocks_starts_; }

 private:
  std::optional<PressureAction> NextWhileJobPaused(const MachineReading& reading,
                                                   std::span<const RunningStep> running);

  bool blocks_starts_ = false;
  bool job_was_paused_ = false;
  bool relieved_ = false;  // the pressure has ceased at least once since the last action
  std::optional<std::chrono::nanoseconds> last_action_;
};

}  // namespace reveza::jobs
