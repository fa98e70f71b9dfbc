// Who may join: one context at a time on a GPU, and no more jobs that rotate than max_wait allows.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

// Chooses the next client that may make its context, makes it fit, and passes the turn on from
// one that took too long.
void ConsiderContexts(Books& books);
// Gives the admitted client its credit: it makes its context now.
void AdmitNow(Books& books, GpuId gpu, ClientId client, Bytes credit);
// The end of a context's making, however it ended.
void ContextHasEnded(Books& books, ClientId client, GpuId gpu, Bytes overhead);
// Whether `bytes` more of fixed memory for `job` leave every admitted job able to run alone.
bool AllCouldRunAlone(const Books& books, const Job& job, GpuId gpu, Bytes bytes);

// Decides which of the jobs that want to run rotate, and which queue.
void UpdateQueue(Books& books);

}  // namespace reveza::scheduler
