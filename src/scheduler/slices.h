// How long a turn lasts: as long as it takes for its handover to be a small share of it.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

// What a handover on this GPU costs: a moving average of those seen, and no less than what the jobs
// that run or want to would have to move now, at the measured time a byte (jobs grow, and the first
// handovers move little). Until one was seen, the largest need over the link.
Time HandoverCost(const Books& books, GpuId gpu);
// The dearest of the job's GPUs.
Time HandoverCost(const Books& books, const Job& job);
// clamp(handover cost / handover_share, floor, ceiling).
Time SliceLength(const Books& books, GpuId gpu);
Time SliceLength(const Books& books, const Job& job);
// The shortest turn that is worth its own swap-in: for a job that fills in beside an older waiter.
Time ShortestUsefulTurn(const Books& books, const Job& job);
// From when on the job may be closed for others. Now or earlier: it may be closed.
Time ClosableAt(const Books& books, const Job& job);
// Enters the time of one handover, from the first gate closed for `job` until its own opened.
void RecordHandover(Books& books, const Job& job, Time took);
// Ski-rental: idle for as long as a handover costs means that the slice is better given up.
Time IdleAfter(const Books& books, const Job& job);

}  // namespace reveza::scheduler
