// What an event concerns, so that decisions cost as much as that, and not as much as all there is.
//
// GPUs that jobs use together are a *group*. As long as the host has room for whatever may be
// evicted, groups do not depend on each other: an event concerns the groups of its job or GPU, and
// those whose wake-up is due. Otherwise, and while clients of a previous daemon reconnect or quotas
// restrict accounts, it concerns everything.
//
// In a group passes look at all jobs but those that are parked (parked.h).
//
// Not thread-safe; part of a Scheduler.
#pragma once

#include "reveza/gpu/scheduler/ledger.h"

namespace reveza::scheduler {

// Records which GPUs the job uses. Call after that has changed.
void Register(Ledger& ledger, Job& job);
// Call before the job is erased.
void Unregister(Ledger& ledger, Job& job);

// Makes the next event concern a job, which may then change, or a GPU.
void Touch(Ledger& ledger, Job& job);
void Touch(Ledger& ledger, GpuId gpu);

// Determines what the event concerns. Call before the first pass.
void BeginScope(Ledger& ledger);
// Makes it concern everything.
void ConsiderEverything(Ledger& ledger);
// Parks jobs and records when to wake. `settled`: another pass would change nothing.
// `pass(ledger)` runs the passes once.
void EndScope(Ledger& ledger, bool settled, void (*pass)(Ledger&));

// Parks the jobs in scope that may be, or ends that for one or for all of a GPU.
void ParkJobs(Ledger& ledger);
void Unpark(Ledger& ledger, Job& job);
void UnparkAll(Ledger& ledger, const Gpu& card);

}  // namespace reveza::scheduler
