// CPU implementation of CycleEngine. Threads process groups of runs, or share the outputs of a
// single group if there are few runs. The division does not change the results.
#pragma once

#include <memory>

#include "common/base/error.h"
#include "phi/arithmetic/processor.h"
#include "phi/cycles/engine.h"

namespace reveza::phi {

struct CpuOptions {
  int threads = 1;
  Instructions instructions = SupportedInstructions();
};

// Returns the memory of weights and workspaces, without the states.
Bytes CpuWorkBytes(const EngineSettings& settings, int threads);

// Creates an engine in the initial state. Returns kInvalidArgument for invalid settings and
// kUnavailable for instructions that the processor does not support.
Result<std::unique_ptr<CycleEngine>> MakeCpuEngine(const EngineSettings& settings,
                                                   const CpuOptions& options);

}  // namespace reveza::phi
