// Growths that wait for each other's memory, of which one must be refused.
#include <algorithm>
#include <functional>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace {

bool WaitsForOthers(const PendingGrowth& growth, bool overdue) {
  return growth.Blocked() || overdue;
}

// Returns whether a thread of a client for which `predicate` holds waits for memory of others.
template <typename Predicate>
bool AnyWaitsForOthers(const Ledger& ledger, bool overdue, Predicate predicate) {
  return std::ranges::any_of(ledger.growths,
                             [&](const PendingGrowth& growth) {
                               return predicate(growth) && WaitsForOthers(growth, overdue);
                             }) ||
         std::ranges::any_of(ledger.contexts, [&](const PendingContext& context) {
           return predicate(context) && (overdue || context.obstacle != Obstacle::kNone);
         });
}

// Returns whether GPU work of the job was not done in time when it had to leave last.
bool MayNeverDrain(const Job& job) {
  return std::ranges::any_of(job.clients,
                             [](const auto& entry) { return entry.second.unpreemptible; });
}

bool Stuck(const Ledger& ledger, const Job& job, bool overdue);

// Returns whether all other jobs on the GPUs of `job` for which `predicate` holds are stuck.
template <typename Predicate>
bool NeighboursStuck(const Ledger& ledger, const Job& job, bool overdue, Predicate predicate) {
  return std::ranges::all_of(ledger.scope.jobs, [&](const Job* other) {
    return other == &job || !other->SharesGpuWith(job) || !predicate(*other) ||
           Stuck(ledger, *other, overdue);
  });
}

// Returns whether the entering job lacks memory of jobs that do not drain.
bool LacksMemoryOfStuck(const Ledger& ledger, const Job& job) {
  const bool lacks =
      std::ranges::any_of(job.uses, [&](GpuId gpu) { return ledger.Deficit(job, gpu) > 0; });
  return lacks && NeighboursStuck(ledger, job, /*overdue=*/true, [](const Job& other) {
           return other.phase == Phase::kRunning || other.phase == Phase::kLeaving;
         });
}

// Returns whether the job has room once all others have left that can.
bool FitsBesideUndrainable(const Ledger& ledger, const Job& job) {
  JobSet staying = ledger.JobsWith([&](const Job& other) {
    return other.phase != Phase::kSuspended && other.SharesGpuWith(job) && MayNeverDrain(other);
  });
  staying.insert(job);
  return ledger.FitsAllGpusOf(job, staying);
}

// Returns whether the suspended job can have no turn: no memory, or jobs before it that are stuck.
bool HasNoTurn(const Ledger& ledger, const Job& job, bool overdue) {
  if (!ledger.WantsToRun(job)) return false;
  if (job.why == WaitReason::kHostMemory || !ledger.CanRunAlone(job)) return true;
  if (job.queued && NeighboursStuck(ledger, job, overdue, [&](const Job& other) {
        return !other.queued && (other.phase != Phase::kSuspended || ledger.WantsToRun(other));
      })) {
    return true;
  }
  return overdue && !FitsBesideUndrainable(ledger, job) &&
         NeighboursStuck(ledger, job, overdue,
                         [](const Job& other) { return other.phase != Phase::kSuspended; });
}

// Returns whether no thread of the job can make progress by itself. `overdue`: GPU work that does
// not drain waits for others.
bool Stuck(const Ledger& ledger, const Job& job, bool overdue) {
  if (job.Unresponsive() || job.policy.paused) return false;  // it may go on later
  const bool blocked = AnyWaitsForOthers(
      ledger, overdue, [&](const auto& request) { return request.job == job.id; });
  switch (job.phase) {
    case Phase::kEntering:
      return overdue && LacksMemoryOfStuck(ledger, job);
    case Phase::kLeaving:
      if (!overdue) return false;
      [[fallthrough]];
    case Phase::kRunning:
      return blocked && std::ranges::all_of(job.clients, [&](const auto& entry) {
               const Client& client = entry.second;
               return client.idle || client.gpus.empty() || (overdue && client.unpreemptible) ||
                      AnyWaitsForOthers(ledger, overdue, [&](const auto& request) {
                        return request.client == client.id;
                      });
             });
    case Phase::kSuspended:
      break;
  }
  return blocked || HasNoTurn(ledger, job, overdue);
}

bool HoldsMemory(const Ledger& ledger, const Job& job) {
  return std::ranges::any_of(job.uses, [&](GpuId gpu) { return ledger.Claim(job, gpu) > 0; });
}

bool InTheWay(const Ledger& ledger, const Job& job, const PendingGrowth& growth) {
  switch (growth.obstacle) {
    case Obstacle::kHostMemory:
      return HoldsMemory(ledger, job);
    case Obstacle::kFixedMemory:
      return ledger.Fixed(job, growth.gpu) > 0;
    case Obstacle::kNone:
      return job.phase != Phase::kSuspended && job.Uses(growth.gpu);
  }
  return true;
}

// Returns whether the growth has waited so long for a job that does not drain that this counts as
// work that waits for others.
bool IsOverdue(const Ledger& ledger, const PendingGrowth& growth) {
  return MayNeverDrain(ledger.jobs.at(growth.job)) && ledger.Overdue(growth);
}

bool MayBeDeadlocked(const Ledger& ledger, const PendingGrowth& growth) {
  return !ledger.jobs.at(growth.job).policy.paused &&
         WaitsForOthers(growth, IsOverdue(ledger, growth));
}

bool MayBeDeadlocked(const Ledger& ledger, const PendingContext& context) {
  return ledger.Overdue(context) && context.obstacle == Obstacle::kFixedMemory;
}

// Returns whether a request for which `predicate` holds may be part of a deadlock.
template <typename Predicate>
bool AnyMayBeDeadlocked(const Ledger& ledger, Predicate predicate) {
  const auto may = [&](const auto& request) {
    return predicate(request) && MayBeDeadlocked(ledger, request);
  };
  return std::ranges::any_of(ledger.growths, may) || std::ranges::any_of(ledger.contexts, may);
}

// Makes the event concern all that may be part of a deadlock. Returns false if it did.
//
// Jobs in the way of a growth that waits for host memory are those of all groups. Such a growth
// makes the next event concern everything. It does not matter in this one: as long as the host has
// room for whatever may be evicted, only a failed eviction brings it about, which is retried.
bool ConcernsDeadlock(Ledger& ledger) {
  const auto in_scope = [&](const auto& request) { return ledger.InScope(request.gpu); };
  const bool others = !ledger.scope.everything && ledger.deadlocks_unseen &&
                      AnyMayBeDeadlocked(ledger, std::not_fn(in_scope));
  ledger.deadlocks_unseen = false;
  if (others) {
    ConsiderEverything(ledger);
    return false;
  }
  if (AnyMayBeDeadlocked(ledger, in_scope)) {
    for (const auto& [gpu, card] : ledger.scope.gpus) UnparkAll(ledger, *card);
  }
  return true;
}

// Returns whether every job in the way of `growth`, with memory on the GPU that cannot move or on
// the host, is stuck too.
bool Deadlocked(Ledger& ledger, const PendingGrowth& growth) {
  if (!MayBeDeadlocked(ledger, growth)) return false;
  const bool overdue = IsOverdue(ledger, growth);
  return std::ranges::all_of(ledger.scope.jobs, [&](const Job* one) {
    const Job& job = *one;
    if (job.id == growth.job) return !overdue || Stuck(ledger, job, overdue);
    return !InTheWay(ledger, job, growth) || Stuck(ledger, job, overdue);
  });
}

// Returns whether external processes, which may still exit, are part of what blocks the growth.
bool ExternalMayYield(Ledger& ledger, const PendingGrowth& growth) {
  const Gpu& card = ledger.gpus.at(growth.gpu);
  if (growth.obstacle == Obstacle::kFixedMemory) {
    return ledger.RequiredAlone(growth) <= card.Capacity() &&
           !ledger.ExternalPersists(card, growth.requested_at);
  }
  // It also increases the overflow, which all GPUs have in common.
  const bool of_all = growth.obstacle == Obstacle::kHostMemory;
  bool may = false;
  for (const auto& [gpu, other] : ledger.scope.gpus) {
    if (other->external == 0 || !(of_all || other->group == card.group)) continue;
    may = !ledger.ExternalPersists(*other, growth.requested_at) || may;
  }
  return may;
}

// Returns whether the lack of host memory is permanent: no job still grows, and no failed eviction
// will be retried.
bool HostShortageIsFinal(Ledger& ledger) {
  bool rests = false;
  for (const auto& [id, job] : ledger.jobs) rests = !ledger.Reached(job.evictable_at) || rests;
  return AllFootprintsSettled(ledger) && !rests;
}

// Contexts leave room for the largest of the jobs that wait. If none of these can run all the same
// (memory of an external process was in the way when they were admitted), and no other either, the
// first context is made, for which the job may come to an end.
bool AdmitContextOfStuckJobs(Ledger& ledger) {
  for (PendingContext& context : ledger.contexts) {
    if (!ledger.InScope(context.gpu) || !MayBeDeadlocked(ledger, context)) continue;
    Gpu& card = ledger.gpus.at(context.gpu);
    const bool stuck = std::ranges::all_of(
        card.jobs, [&](const Job* job) { return Stuck(ledger, *job, /*overdue=*/true); });
    if (!stuck) continue;
    if (card.context_creator || card.approved_context) continue;
    card.approved_context = context.client;
    if (MakeFit(ledger, context.gpu, 0) == Fit::kYes) return true;
    card.approved_context.reset();
  }
  return false;
}

}  // namespace

bool BreakDeadlock(Ledger& ledger) {
  if (ledger.growths.empty() && ledger.contexts.empty()) return false;
  if (ledger.evicting > ledger.scope.evicting) return false;
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    if (ledger.PendingEvictions(gpu) > 0) return false;
  }
  if (!ConcernsDeadlock(ledger)) return true;
  auto youngest = ledger.growths.end();
  for (auto growth = ledger.growths.begin(); growth != ledger.growths.end(); ++growth) {
    if (!ledger.InScope(growth->gpu) || !Deadlocked(ledger, *growth)) continue;
    if (ExternalMayYield(ledger, *growth)) continue;
    if (growth->obstacle == Obstacle::kHostMemory && !HostShortageIsFinal(ledger)) continue;
    if (youngest == ledger.growths.end() ||
        ledger.jobs.at(growth->job).joined > ledger.jobs.at(youngest->job).joined) {
      youngest = growth;
    }
  }
  if (youngest == ledger.growths.end()) return AdmitContextOfStuckJobs(ledger);
  ledger.decisions.push_back(
      AnswerGrowth{youngest->client, youngest->request, youngest->gpu, Growth::kRefused, Bytes{0}});
  ledger.Erase(youngest);
  return true;
}

}  // namespace reveza::scheduler
