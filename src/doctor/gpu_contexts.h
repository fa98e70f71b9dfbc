// What a context takes of a GPU's memory before its process allocates anything, measured: this
// process watches how much is free while another one makes a context. Only when it is asked for.
// Thread-safety: pure functions of values; MeasureContexts is for a process that does nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "doctor/isolate.h"

namespace reveza::doctor {

struct ContextCost {
  std::string gpu;
  Bytes total = 0;             // memory of the card
  std::optional<Bytes> taken;  // nothing: others took or gave back memory meanwhile
};

// One for each GPU, as CUDA counts them; kUnavailable with the call that failed. `library`: CUDA's
// driver.
Result<std::vector<ContextCost>> MeasureContexts(const char* library);

// `processes`: how many have a context on each GPU now, where that is known.
Findings JudgeContexts(const std::vector<ContextCost>& gpus,
                       const std::vector<std::optional<std::size_t>>& processes);

}  // namespace reveza::doctor
