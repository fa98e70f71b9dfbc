// The events of a running job, for its display: terminal, log or JSON lines.
#pragma once

#include <cstdint>
#include <string_view>

#include "reveza/jobs/report/progress_text.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

// Identifies an attempt.
struct StepReport {
  std::uint32_t step = 0;  // index in the job
  std::string_view label;  // "seed=57"
  std::uint32_t attempt = 0;
  std::string_view files;  // path of its outputs without ".out" and ".err"
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void OnStart(const StepReport& report) = 0;
  // `will_retry`: another attempt follows. `explanation` may be empty.
  virtual void OnEnd(const StepReport& report, const AttemptResult& result, bool will_retry,
                     std::string_view explanation) = 0;
  virtual void OnCycle(const StepReport& report, const CycleResult& cycle) = 0;
  // Called a few times per second and once at the end.
  virtual void OnProgress(const Progress& progress) = 0;
  // A message for the user, one line.
  virtual void OnNote(std::string_view line) = 0;
};

}  // namespace reveza::jobs
