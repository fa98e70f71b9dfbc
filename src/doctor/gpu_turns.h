// Who else's work a GPU is given to, measured from inside: a kernel of one thread watches the GPU's
// clock for some milliseconds and counts the time in which it did not run. Only when it is asked
// for: it takes turns with whoever else is there, and its context takes some hundred MiB.
// Thread-safety: pure functions of values; MeasureTurns is for a process that does nothing else.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "doctor/isolate.h"

namespace reveza::doctor {

struct Turns {
  std::string gpu;
  std::chrono::nanoseconds watched{0};
  std::chrono::nanoseconds away{0};  // of it: others ran
  std::uint64_t times = 0;           // how often it had to go
};

// One for each GPU, as CUDA counts them; kUnavailable with the call that failed. `library`: CUDA's
// driver.
Result<std::vector<Turns>> MeasureTurns(const char* library, std::chrono::milliseconds watch);

// `mps`: then programs run beside each other, and nobody has to go.
Findings JudgeTurns(const std::vector<Turns>& gpus, bool mps);

}  // namespace reveza::doctor
