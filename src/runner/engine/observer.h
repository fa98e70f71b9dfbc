// What a runner says while it works, to whoever shows it: a terminal, a log, lines of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/report/progress_text.h"
#include "runner/supervisor/attempt.h"

namespace reveza::runner {

// Which attempt of which step a call is about.
struct StepReport {
  std::uint32_t step = 0;  // index in the job
  std::string_view label;  // "seed=57"
  std::uint32_t attempt = 0;
  std::string_view files;  // its outputs, without ".out" and ".err"
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void OnStart(const StepReport& report) = 0;
  // `again`: it will have another attempt. `explanation` may be empty.
  virtual void OnEnd(const StepReport& report, const AttemptResult& result, bool again,
                     std::string_view explanation) = 0;
  virtual void OnCycle(const StepReport& report, const CycleResult& cycle) = 0;
  // A few times a second, and once at the end.
  virtual void OnProgress(const Progress& progress) = 0;
  // Something that somebody should know, in a line.
  virtual void OnNote(std::string_view line) = 0;
};

}  // namespace reveza::runner
