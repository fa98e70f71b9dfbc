// The modules of the scheduler, each in the source file of its name, over the ledger: the passes
// that run after every event, what they share, and what is shown of the ledger.
//
// Not thread-safe; part of a Scheduler.
#pragma once

#include "reveza/gpu/scheduler/ledger.h"

namespace reveza::scheduler {

// ---- run.cc ----

// Level-triggered: every event updates the ledger, then all passes decide from its state until
// nothing changes. A client that dies at any point leaves a consistent ledger.
void RunPasses(Ledger& ledger);

// ---- admission.cc: one context creation at a time per GPU ----

// Admits the next client that may create a context, makes room for it, and moves on from a client
// that exceeded context_timeout.
void ProcessContexts(Ledger& ledger);
// Grants `credit` to the client, which may now create its context.
void AdmitContextOf(Ledger& ledger, GpuId gpu, ClientId client, Bytes credit);
// Returns whether the context fits, and all jobs can still run in their turns.
bool ContextFits(const Ledger& ledger, const PendingContext& context);
// Ends a context creation; `overhead` 0: none was created.
void FinishContext(Ledger& ledger, ClientId client, GpuId gpu, Bytes overhead);

// ---- queue.cc: no more rotating jobs than max_wait allows ----

// Divides the jobs that want to run into those that rotate and those that queue.
void UpdateQueue(Ledger& ledger);

// ---- growth.cc: allocation requests of running jobs, granted when they fit, evicting others if
// necessary ----

// Processes all pending growths: refuses those that can never fit, answers kLater where the gate is
// closed or closing, approves those that fit beside the active jobs (closing some if necessary),
// closes the growing job where the jobs in its way have priority, and leaves the rest pending.
void ProcessGrowths(Ledger& ledger);

// ---- deadlock.cc ----

// Refuses the mutually blocked growth of the youngest job, or admits a context for which no other
// job needs to wait. Call when no other decision is possible. Returns false if nothing is blocked.
// Jobs of several clients that fail to drain count as blocked by a growth that has waited for
// max_wait: their GPU work waits for it.
bool BreakDeadlock(Ledger& ledger);

// ---- fairness.cc: weights, priorities and interactive jobs ----

// Adds up the tokens of an interactive job until now. Call when it begins or ends to take tokens,
// and before some are deducted.
void SettleTokens(const Ledger& ledger, Job& job);
// Returns whether its GPU time takes tokens at present.
bool TakesTokens(const Job& job);
// Adds the GPU time of the job's turn so far to its virtual runtime. Call before the turn ends.
void SettleService(Ledger& ledger, Job& job);
void SetPolicyOf(Ledger& ledger, Job& job, const Policy& policy);
// Moves the virtual runtime of jobs that begin to compete next to that of the others.
void UpdateCompetitors(Ledger& ledger);
// Returns the cost of a handover, which an interactive job pays to enter at once.
Time TokensToPreempt(const Ledger& ledger, const Job& job);
bool MayPreempt(Ledger& ledger, const Job& job);
// Returns the priority of a waiting job: the highest once it has waited for max_wait.
Priority EffectivePriority(Ledger& ledger, const Job& job);
// Returns when the running `other` may be closed for the waiting `job`: at once if that may
// preempt; after the shortest slice if its priority is higher; else at the end of the slice, or
// when it has had its share.
Time YieldsAt(Ledger& ledger, const Job& job, const Job& other);

// ---- turns.cc ----

// Decides which waiting jobs enter: by priority, then those with the least virtual runtime. A job
// that fits beside the active ones enters immediately; otherwise jobs that are idle or whose slice
// has expired are closed for it. While an older job waits for slices to end, a younger one may
// backfill if it does not delay the older one, or if it can complete a useful turn before. No job
// enters by evicting others while a co-running job that has just grown may grow again.
void ChooseTurns(Ledger& ledger);

// ---- hints.cc: contention, and host memory to prepare ----

// Host memory is prepared in multiples of this.
inline constexpr Bytes kArenaStep = 64 * kMiB;

// Returns whether another job waits for memory on a GPU that `job` uses.
bool Contended(const Ledger& ledger, const Job& job);
// Sends SetContention to running clients when contention begins or ends. Returns whether a client
// does not count as idle any more.
bool SendContention(Ledger& ledger);
// Sends SetQueueBound to running clients when interactive jobs begin to sleep beside them or wake.
void SendQueueBounds(Ledger& ledger);
// Sends PrepareArena once the jobs no longer fit together, so that host memory is pinned before the
// first eviction.
void SendArenaRequests(Ledger& ledger);

// ---- slices.cc: slice lengths, long enough for a handover to take only a small share of the
// slice ----

// Returns the expected cost of a handover on this GPU: the moving average of measured handovers
// (those in which host memory was allocated do not count), but at least the time to move what the
// competing jobs hold now, at the measured time per byte
// (early handovers, before the jobs have grown, move little). Before the first measurement: the
// largest need over link_estimate.
Time HandoverCost(const Ledger& ledger, GpuId gpu);
// Returns the maximum over the job's GPUs.
Time HandoverCost(const Ledger& ledger, const Job& job);
// Returns clamp(handover cost / handover_share, slice_floor, slice_ceiling).
Time SliceLength(const Ledger& ledger, GpuId gpu);
Time SliceLength(const Ledger& ledger, const Job& job);
// Returns the shortest turn that amortises the job's own swap-in; used for backfilling.
Time ShortestUsefulTurn(const Ledger& ledger, const Job& job);
// Returns the time from which the job may be closed in favour of others.
Time ClosableAt(const Ledger& ledger, const Job& job);
// Returns whether the waiting job was interrupted by a preempting one and its slice would not be
// over yet: it goes on before the others take their turns.
bool ContinuesSlice(const Ledger& ledger, const Job& job);
// Returns when that slice would be over; 0 if it was not interrupted.
Time EndOfInterrupted(const Ledger& ledger, const Job& job);
// Records the duration of a handover, from the first CloseGate sent for `job` until its OpenGate.
void RecordHandover(Ledger& ledger, const Job& job, Time took);
// Notes that the job waits from now on, if it wants to run, and how long it slept before.
void BeginWait(Ledger& ledger, Job& job);
// Returns the idle time after which giving up the slice pays off: the cost of a handover (ski
// rental), or a part of it for a job whose last sleeps were all longer than that.
Time IdleAfter(const Ledger& ledger, const Job& job);

// ---- gates.cc: state machine of a handover; the gates of all clients of a job open and close
// together ----
//
//   kSuspended --Enter--> kEntering --OpenGates (all resident)--> kRunning --Leave--> kLeaving
//       ^                     ^                                                       |   |
//       |                     +---------------------- drain failed -------------------+   |
//       +------------------------------- all gates closed --------------------------------+

// Starts entering: the job receives memory from now on; its gates open once it is fully resident.
void Enter(Ledger& ledger, Job& job);
// Closes the job's gates, or abandons its entering. Its memory stays until it is evicted.
void Leave(Ledger& ledger, Job& job);
// Handle a client's answer to CloseGate. Return false if `serial` is stale.
bool HandleGateClosed(Ledger& ledger, Client& client, std::uint32_t serial);
bool HandleDrainFailed(Ledger& ledger, Client& client, std::uint32_t serial);
// Adopts a client that already runs with an open gate (daemon restart).
void AdoptOpenGate(Ledger& ledger, Client& client);
// Completes a leaving once all clients have answered or died.
void TryFinishLeaving(Ledger& ledger, Job& job);
// Opens the gates of fully resident jobs. Returns whether a job's phase has changed.
bool OpenGates(Ledger& ledger);

// ---- alignment.cc: clients of a leaving job that wait for each other ----

// Handles a client's report that its GPU work is not done. Returns false if `serial` is stale.
bool HandleDraining(Client& client, std::uint32_t serial);
// Call when the job starts leaving.
void StartAlignment(Ledger& ledger, Job& job);
// Admits submissions of clients that have drained, for those that wait for them.
void AlignDrains(Ledger& ledger);

// ---- closing.cc: which jobs must close for others ----

enum class Fit {
  kYes,              // fits, at the latest when the leaving jobs have left
  kNotNow,           // a job in the way cannot be closed now
  kGrowerMustLeave,  // fits only if the growing job leaves: the jobs in its way have priority
  kNoHostMemory,     // no host memory to evict into
};
// Makes approved memory fit beside the active jobs by closing others. For the growth of
// `growing_job` these are idle jobs, jobs whose slice has expired while the grower's has not, and
// jobs that entered after it. `growing_job` 0: for requests with priority over slices, such as a
// context. Closes nothing unless that makes it fit.
Fit MakeFit(Ledger& ledger, GpuId gpu, JobId growing_job);

// Restores I1 after a budget cut: revokes approvals, then closes jobs.
void RestoreBudget(Ledger& ledger);
// Closes paused jobs.
void EnforcePauses(Ledger& ledger);

// ---- eviction.cc: whose memory is evicted, and who receives free credit ----

// Returns whether evictions can cover the deficit of the jobs in `active` within the host budget.
// All other jobs count as evictable, even if their gates are still open.
bool EvictionsSuffice(Ledger& ledger, const JobSet& active);

// Returns whether they can for the jobs that are active, without a wake-up for when the answer may
// change. A shortage that cannot be covered counts for all groups of GPUs.
bool ShortagesCanBeCovered(Ledger& ledger);

// Evicts the client's memory on all its GPUs.
void EvictAllOf(Ledger& ledger, Client& client);

// Ends evictions of which nothing has come for evict_timeout, and swap-ins with all credit that
// have not been answered for so long and the time of the copies at a slow link. The client's memory
// then counts as fixed and its job does not enter, until the client sends something.
void ExpireOrders(Ledger& ledger);
// Abandons entering jobs, then approved contexts and growths, for which evictions no longer
// suffice.
void AbandonHopeless(Ledger& ledger);
// Sends SwapIn, distributes free credit (growths, then contexts, then entering jobs by age) and
// evicts the shortage from suspended jobs, those that run last first.
void MoveMemory(Ledger& ledger);

// ---- contexts.cc: contexts leave the card and come back. Those of a job that is idle for long, or
// paused, leave by themselves; on a crowded GPU also those of a job that others need to leave, in
// the order of eviction, and after all memory that can be evicted. ----

// Determines which GPUs are crowded: where something fits only if contexts leave. Call before the
// other passes, which count them as evictable there.
void UpdateCrowding(Ledger& ledger);
// Returns whether the host has room for all contexts that can leave, and for `more` of them.
bool MovableContextsFitOnHost(const Ledger& ledger, Bytes more);
// Returns what contexts of a suspended client can free on a crowded GPU.
Bytes ReleasableContexts(const Ledger& ledger, const Client& client, GpuId gpu);
// Sends ReleaseContexts to suspended clients until the shortage is covered, once their memory on
// other GPUs is evicted too.
void ReleaseForOthers(Ledger& ledger, GpuId gpu, std::int64_t shortage);
void ReleaseIdleContexts(Ledger& ledger);
// Sends RestoreContexts to entering clients that have credit for all of it. They learn of that
// credit only thereby.
void SendRestores(Ledger& ledger);
// Takes back the credit of contexts that are away. Call when the job no longer enters.
void WithdrawCreditOfAbsent(Job& job);
// Return false if `serial` is stale.
bool HandleContextsReleased(Ledger& ledger, Client& client, std::uint32_t serial,
                            ContextRelease outcome);
bool HandleContextsRestored(Ledger& ledger, Client& client, std::uint32_t serial);

// ---- host_memory.cc: limits what is granted on all GPUs, so that every eviction has a
// destination ----
//
// The overflow of a GPU is the sum of all claims beyond its limit; at any time that much is swapped
// out. Two states are safe, and growth and contexts wait while they would lead out of both:
//
// - *rotation*: every client's part of the overflow (at most its whole footprint) fits on the host.
//   Every job can then be brought in by evicting others.
// - *succession*: the memory of all but the oldest job fits on the host. The oldest job then gets
//   the whole GPU whatever it still requests; after it, the next oldest.
//
// Claims use each client's peak footprint, because programs free memory and allocate it again.
// While an older job's peak still rises only succession is safe: its final size is unknown.

// Additional memory requested by a client.
struct ExtraMemory {
  ClientId client = 0;
  GpuId gpu = 0;
  Bytes swappable = 0;
  Bytes fixed = 0;
};

// Returns whether the host budget permits `extra`. Schedules a wake-up if the answer can change by
// time alone.
bool FitsHostBudget(Ledger& ledger, const ExtraMemory& extra);

// Returns whether no job has exceeded its peak footprint for growth_settle_time. Otherwise
// schedules a wake-up.
bool AllFootprintsSettled(Ledger& ledger);

// Returns the host memory that each client should prepare: what may have to be evicted from it in
// the present state, or its whole footprint where host memory is ample, because pinning is slower
// than growing.
FlatMap<ClientId, Bytes> HostShares(const Ledger& ledger);

// Returns whether `job` is the oldest and host memory is too small for a rotation. It is then not
// evicted: the others need the host memory to make room for it.
bool ExemptFromEviction(const Ledger& ledger, const Job& job);

// Returns an upper bound of the host budget of which the job can make use, whatever it does until
// the next event that concerns it: while the sum over all jobs is within the budget, host memory
// limits nothing, and groups of GPUs do not depend on each other.
Bytes HostBound(const Ledger& ledger, const Job& job);

// Records a new peak of the client's swappable memory.
void UpdatePeak(Ledger& ledger, GpuId gpu, Client& client, Bytes swappable);

// ---- view.cc: snapshots for status output, and the waits that they count ----

// Adds the time until now to what the job has waited for, if that has changed.
void CountWait(const Ledger& ledger, Job& job);

ClientView ViewOf(const Client& client);
JobView ViewOf(const Ledger& ledger, const Job& job);
GpuView ViewOf(const Ledger& ledger, GpuId id, const Gpu& gpu);

}  // namespace reveza::scheduler
