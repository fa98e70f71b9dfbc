// Whose turn it is.
//
// Jobs that wait are taken in the order of their waiting. One that fits beside those that are in
// comes in at once; for one that does not, jobs whose slice is over, or that are idle, are closed.
// While an older job has to wait for slices to end, a younger one may fill in if it is in nobody's
// way, or if its turn can be long enough to be worth it before the older one's comes. Nobody comes
// in at the cost of moving memory beside a job that has just grown and may do so again.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

void ChooseTurns(Books& books);

}  // namespace reveza::scheduler
