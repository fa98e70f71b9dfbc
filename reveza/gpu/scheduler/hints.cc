// Decisions that clients may ignore: whether others wait, how much GPU work to queue ahead, how
// much host memory to prepare.
#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

constexpr Bytes kArenaStep = 64 * kMiB;
// The end of a slice is announced so many full queues ahead: a client empties two batches of half a
// queue each until its queue is short.
constexpr int kAnnouncedQueueBounds = 2;

bool WaitsForRoom(const Ledger& ledger, const Job& job) {
  return job.phase == Phase::kSuspended && job.why != WaitReason::kGpuMemory &&
         ledger.WantsToRun(job);
}

// Returns whether `other`, which sleeps, preempts `job` once it wakes, if it has the tokens.
bool MayWakeAndPreempt(const Job& other, const Job& job) {
  const Policy& policy = other.policy;
  return policy.interactive && !policy.paused && other.phase == Phase::kSuspended &&
         !job.policy.interactive && policy.priority >= job.policy.priority &&
         other.SharesGpuWith(job);
}

// Returns whether the slice of the job is about to end for another job.
bool ClosesSoon(Ledger& ledger, const Job& job) {
  if (job.closes_at == Time::max()) return false;
  return ledger.Reached(job.closes_at - kAnnouncedQueueBounds * ledger.config.queue_bound);
}

bool EverythingFits(const Ledger& ledger) {
  const JobSet all = ledger.JobsWith([](const Job&) { return true; });
  return std::ranges::all_of(ledger.gpus,
                             [&](const auto& entry) { return ledger.Fits(entry.first, all); });
}

}  // namespace

bool Contended(const Ledger& ledger, const Job& job) {
  for (const auto& [id, other] : ledger.jobs) {
    if (id == job.id || !WaitsForRoom(ledger, other)) continue;
    if (job.SharesGpuWith(other)) return true;
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
  return std::ranges::any_of(ledger.gpus, [&](const auto& entry) {
    return entry.second.approved_context && job.Uses(entry.first) &&
           !job.clients.contains(*entry.second.approved_context);
  });
}

void SendContention(Ledger& ledger) {
  for (auto& [job_id, job] : ledger.jobs) {
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
      client.idle = false;
      ledger.decisions.push_back(SetContention{id, contended, idle_after});
    }
  }
}

void SendQueueBounds(Ledger& ledger) {
  const Config& config = ledger.config;
  for (auto& [job_id, job] : ledger.jobs) {
    if (job.phase != Phase::kRunning) continue;
    const bool preemptible = std::ranges::any_of(
        ledger.jobs, [&](const auto& entry) { return MayWakeAndPreempt(entry.second, job); });
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
  if (EverythingFits(ledger) || !ledger.TakeoverSettled()) return;
  const Bytes reserved = ledger.HostReserved();
  Bytes left = ledger.HostBudget() - std::min(ledger.HostBudget(), reserved);
  const FlatMap<ClientId, Bytes> shares = HostShares(ledger);
  for (auto& [job_id, job] : ledger.jobs) {
    for (auto& [id, client] : job.clients) {
      if (client.resident_only) continue;
      const Bytes held = Ledger::HostCopies(client);
      const Bytes wanted = RoundUp(shares.at(id), kArenaStep);
      const Bytes bytes = std::min(std::max(wanted, held), held + left);
      if (bytes <= client.arena_requested + client.arena_requested / 8) continue;
      left -= bytes - held;
      client.arena_requested = bytes;
      ledger.decisions.push_back(PrepareArena{id, bytes});
    }
  }
}

}  // namespace reveza::scheduler
