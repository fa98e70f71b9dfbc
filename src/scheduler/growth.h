// Growth inside a slice: granted when it fits, at the cost of others if need be.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

// Looks at every growth that waits: refuses what could never be served, answers kLater where the
// gate is closed or closing, approves what fits beside the jobs that are in (closing some if it
// must), closes the growing job where those in the way have the better right to stay, and leaves
// the rest waiting.
void ConsiderGrowths(Books& books);

// When nothing else can be decided: of the growths that block each other, refuses one of the
// youngest job. False: there are none.
bool BreakDeadlock(Books& books);

}  // namespace reveza::scheduler
