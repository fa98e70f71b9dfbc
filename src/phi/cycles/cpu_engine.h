// The cycles on the processor. Runs are divided into groups, threads take groups; where there are
// fewer runs than that needs, threads share the outputs of one group. Neither changes a bit.
#pragma once

#include <memory>

#include "base/error.h"
#include "phi/arithmetic/processor.h"
#include "phi/cycles/engine.h"

namespace reveza::phi {

struct CpuOptions {
  int threads = 1;
  Instructions instructions = InstructionsOfProcessor();
};

// Memory beside the states: weights and what the threads work in.
Bytes CpuWorkBytes(const EngineSettings& settings, int threads);

// At the state before the first cycle. Refuses instructions that the processor does not have.
Result<std::unique_ptr<CycleEngine>> MakeCpuEngine(const EngineSettings& settings,
                                                   const CpuOptions& options);

}  // namespace reveza::phi
