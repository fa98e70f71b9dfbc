// Decisions that clients may ignore: whether others wait, how much GPU work to queue ahead, how
// much host memory to prepare.
#include <algorithm>
#include <utility>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// The end of a slice is announced so many full queues ahead: a client empties two batches of half a
// queue each until its queue is short.
constexpr int kAnnouncedQueueBounds = 2;

bool WaitsForRoom(const Ledger& ledger, const Job& job) {
  return job.phase == Phase::kSuspended && job.why != WaitReason::kGpuMemory &&
         ledger.WantsToRun(job);
}

// Returns whether `other`, which sleeps and shares a GPU with `job`, preempts it once it wakes, if
// it has the tokens.
bool MayWakeAndPreempt(const Job& other, const Job& job) {
  const Policy& policy = other.policy;
  return policy.interactive && !policy.paused && other.phase == Phase::kSuspended &&
         !job.policy.interactive && policy.priority >= job.policy.priority;
}

// Returns whether the slice of the job is about to end for another job.
bool ClosesSoon(Ledger& ledger, const Job& job) {
  if (job.closes_at == Time::max()) return false;
  return ledger.Reached(job.closes_at - kAnnouncedQueueBounds * ledger.config.queue_bound);
}

bool EverythingFits(Ledger& ledger) {
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    ledger.overfull -= std::exchange(card->overfull, ledger.DemandOfAll(gpu) > card->Limit());
    ledger.overfull += card->overfull;
  }
  return ledger.overfull == 0;
}

// Sends what a client should prepare beyond what it was told to. Returns how much that is.
Bytes SendArenaRequest(Ledger& ledger, Client& client, Bytes share, Bytes left) {
  if (client.resident_only) return 0;
  const Bytes held = Ledger::HostCopies(client);
  const Bytes wanted = RoundUp(share, kArenaStep);
  const Bytes bytes = std::min(std::max(wanted, held), held + left);
  if (bytes <= client.arena_requested + client.arena_requested / 8) return 0;
  client.arena_requested = bytes;
  ledger.decisions.push_back(PrepareArena{client.id, bytes});
  return bytes - held;
}

}  // namespace

bool Contended(const Ledger& ledger, const Job& job) {
  for (const GpuId gpu : job.uses) {
    const Gpu& card = ledger.gpus.at(gpu);
    if (card.parked.AnyQueued()) return true;
    for (const Job* other : card.jobs) {
      if (other != &job && WaitsForRoom(ledger, *other)) return true;
    }
  }
  for (const PendingGrowth& growth : ledger.growths) {
    // What waits for fixed memory needs no turn; that it waits for idle jobs must be known in time.
    const bool needs_turn = growth.obstacle != Obstacle::kFixedMemory || ledger.Overdue(growth);
    if (growth.job != job.id && needs_turn && job.Uses(growth.gpu)) return true;
  }
  for (const PendingContext& context : ledger.contexts) {
    const bool blocked = context.obstacle != Obstacle::kNone && ledger.Overdue(context);
    if (context.job != job.id && blocked && job.Uses(context.gpu)) return true;
  }
  return std::ranges::any_of(job.uses, [&](GpuId gpu) {
    const std::optional<ClientId>& approved = ledger.gpus.at(gpu).approved_context;
    return approved && !job.clients.contains(*approved);
  });
}

bool SendContention(Ledger& ledger) {
  bool changed = false;
  for (Job* one : ledger.scope.jobs) {
    Job& job = *one;
    if (job.phase != Phase::kRunning) continue;
    const bool contended = Contended(ledger, job);
    for (auto& [id, client] : job.clients) {
      const Time idle_after = IdleAfter(ledger, job);
      const bool outdated = contended && (idle_after > 2 * client.idle_after_sent ||
                                          2 * idle_after < client.idle_after_sent);
      if (client.gpus.empty()) continue;
      if (client.contention_sent.value_or(false) == contended && !outdated) continue;
      client.contention_sent = contended;
      client.idle_after_sent = idle_after;
      if (std::exchange(client.idle, false)) changed = true;
      ledger.decisions.push_back(SetContention{id, contended, idle_after});
    }
  }
  return changed;
}

void SendQueueBounds(Ledger& ledger) {
  const Config& config = ledger.config;
  for (Job* one : ledger.scope.jobs) {
    Job& job = *one;
    if (job.phase != Phase::kRunning) continue;
    const bool preemptible = std::ranges::any_of(job.uses, [&](GpuId gpu) {
      const Gpu& card = ledger.gpus.at(gpu);
      return std::ranges::any_of(
                 card.jobs, [&](const Job* other) { return MayWakeAndPreempt(*other, job); }) ||
             (!job.policy.interactive && card.parked.AnyMayPreempt(job.policy.priority));
    });
    const bool is_short = preemptible || ClosesSoon(ledger, job);
    for (auto& [id, client] : job.clients) {
      if (client.gpus.empty() ||
          (client.short_bound_sent == is_short && client.always_bound_sent == preemptible)) {
        continue;
      }
      client.short_bound_sent = is_short;
      client.always_bound_sent = preemptible;
      const Time bound =
          is_short ? std::min(config.queue_bound, config.short_queue_bound) : config.queue_bound;
      ledger.decisions.push_back(SetQueueBound{id, bound, preemptible});
    }
  }
}

void SendArenaRequests(Ledger& ledger) {
  if (EverythingFits(ledger) || !ledger.TakeoverSettled()) {
    ledger.arenas_sent = false;
    return;
  }
  if (ledger.divided && ledger.arenas_sent) {
    // The host has room for all of each, and the others have been told.
    for (Job* job : ledger.scope.jobs) {
      for (auto& [id, client] : job->clients) {
        SendArenaRequest(ledger, client, client.Swappable(), ledger.config.host_budget);
      }
    }
    return;
  }
  const Bytes reserved = ledger.HostReserved();
  Bytes left = ledger.HostBudget() - std::min(ledger.HostBudget(), reserved);
  const FlatMap<ClientId, Bytes> shares = HostShares(ledger);
  for (auto& [job_id, job] : ledger.jobs) {
    for (auto& [id, client] : job.clients) {
      left -= SendArenaRequest(ledger, client, shares.at(id), left);
    }
  }
  ledger.arenas_sent = ledger.ample_host;
}

}  // namespace reveza::scheduler
