// Executes a run: cycles, measures, rows, checkpoints and summary.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "phi/cycles/engine.h"
#include "phi/run/checkpoint.h"
#include "phi/run/outcome.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// Maximum rows of a batch between reads of the clock, unless a single cycle of all runs has more.
inline constexpr std::uint64_t kMaxBatchRows = 1 << 16;

struct RunProgress {
  std::uint64_t cycle = 0;   // completed cycles of each run
  std::uint64_t begun = 0;   // cycle at which this process started
  std::uint64_t cycles = 0;  // requested cycles
  double seconds = 0;        // elapsed in this process
};

// Callbacks, called between batches by the thread that called Run(); any may be empty.
struct RunEvents {
  std::function<void(const RunProgress&)> progress;
  std::function<bool()> stop;  // returns true to stop in a resumable state
  // Called for each cycle, in order, once its rows and a checkpoint are durable; after a resume,
  // again for the cycles of the last checkpoint interval. Without an output folder: called once the
  // cycle is computed.
  std::function<void(const CycleMeans&)> committed;
};

// Runs until settings.cycles or events.stop. `settings` must have passed Prepare(); `version` is
// the program's; `threads` compute measures.
Result<RunOutcome> Run(const RunSettings& settings, CycleEngine& engine, std::string_view version,
                       int threads, const RunEvents& events);

}  // namespace reveza::phi
