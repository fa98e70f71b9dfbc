// Room on a GPU: who must leave it, whose memory goes, and who is given what comes free.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

// Whether evictions can make the room that the jobs of `in` lack, with the host memory there is.
// Everything outside `in` counts as evictable, be its gate closed yet or not.
bool EvictionsSuffice(Books& books, const JobSet& in);

enum class Fit {
  kYes,           // it fits, at the latest when those that leave have left
  kNotNow,        // somebody in the way cannot be closed now
  kItself,        // only if the growing job leaves: those in the way have the better right to stay
  kNoHostMemory,  // what would have to move out has nowhere to go
};
// Makes what has just been approved fit beside the jobs that are in, by closing others. For the
// growth of a job (`grower`; 0: for something that comes before any slice) those that are idle,
// whose slice is over while the grower's is not, or that came in after it. Nothing is closed in
// vain.
Fit MakeFit(Books& books, GpuId gpu, JobId grower);

// Restores the budget after it was cut: takes approvals back, then closes jobs.
void Shrink(Books& books);
// Gives up the entering of jobs whose room cannot be had any more (no host memory to evict into),
// then what was approved of growths and contexts.
void GiveUpWhatIsHopeless(Books& books);
// Sends SwapIn, hands out free credit in order (growth, contexts, entering jobs by age) and
// evicts what is lacking from the jobs that are out, who runs last first.
void MoveMemory(Books& books);

}  // namespace reveza::scheduler
