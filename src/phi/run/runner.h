// A run from its settings to what it leaves: cycles, measures, rows, checkpoints, the summary.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "phi/cycles/engine.h"
#include "phi/run/checkpoint.h"
#include "phi/run/outcome.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// A piece of work has no more rows, but where a cycle of all runs has.
inline constexpr std::uint64_t kMostPieceRows = 1 << 16;

struct RunProgress {
  std::uint64_t cycle = 0;   // done, of each run
  std::uint64_t begun = 0;   // the cycle at which this program began
  std::uint64_t cycles = 0;  // wanted
  double seconds = 0;        // of this program
};

// Called by the thread that runs, between pieces of work; any may be empty.
struct RunEvents {
  std::function<void(const RunProgress&)> progress;
  std::function<bool()> stop;  // whether to leave a state that can be resumed, and end
  // A cycle whose rows and state are kept (in order; after a resume those since the checkpoint
  // before are told once more). Where nothing is kept: a cycle that is done.
  std::function<void(const CycleMeans&)> settled;
};

// `settings` are prepared (Prepare). `version` is that of the program. `threads` measure.
Result<RunOutcome> Run(const RunSettings& settings, CycleEngine& engine, std::string_view version,
                       int threads, const RunEvents& events);

}  // namespace reveza::phi
