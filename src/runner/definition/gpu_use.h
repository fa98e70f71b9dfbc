// Which steps may hold a GPU. Thread-safety: a pure function.
#pragma once

#include "runner/job.h"

namespace reveza::runner {

// Whether it claims GPU memory, or its words say `reveza run`. Such a step is never made to stand
// still: a process that is stopped keeps its turn on the GPU and its memory there, and whoever
// waits for those would wait as long.
bool MayHoldGpu(const Command& command);

}  // namespace reveza::runner
