// Which jobs are parked.
#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace {

// Returns whether the client waits for nothing, and nothing on the GPU can be evicted from it.
bool Rests(const Ledger& ledger, const Client& client) {
  const bool away = client.contexts == Contexts::kAway;
  if (!away && (client.contexts != Contexts::kHere || ledger.HasMovableContexts(client))) {
    return false;
  }
  if (client.gate != Gate::kClosed || client.swap_in_serial != 0 || client.resident_only ||
      client.unresponsive || client.growths > 0 || client.context_requests > 0) {
    return false;
  }
  return std::ranges::all_of(client.gpus, [&](const auto& entry) {
    const Holding& on = entry.second;
    return on.footprint.resident == 0 && on.evict_serial == 0 && on.permitted == 0 &&
           !on.creating_context && on.context_credit == 0 && on.pinned_in_flight == 0 &&
           on.credit == (away ? 0 : on.footprint.Fixed());
  });
}

bool MayPark(const Ledger& ledger, const Job& job) {
  if (job.phase != Phase::kSuspended || job.uses.size() > 1 || job.competing ||
      job.evictable_at > ledger.now || job.handover_started || job.preempted_others) {
    return false;
  }
  const bool at_rest = std::ranges::all_of(
      job.clients, [&](const auto& entry) { return Rests(ledger, entry.second); });
  if (!at_rest) return false;
  if (ledger.WantsToRun(job)) return job.queued && job.why == WaitReason::kQueue;
  return !job.queued && !job.queued_since && !job.admitted_since && job.why == WaitReason::kNone;
}

// Returns nullopt if the job cannot be summed up.
std::optional<ParkedShare> ShareOf(const Ledger& ledger, const Job& job) {
  ParkedShare share;
  share.queued = job.queued;
  share.may_preempt = job.policy.interactive && !job.policy.paused;
  if (job.uses.empty()) return share;
  const GpuId gpu = job.uses.front();
  share.gpu = gpu;
  share.claim = ledger.Claim(job, gpu);
  share.fixed = ledger.Fixed(job, gpu);
  share.reserved = ledger.Reserved(job, gpu);
  for (const auto& [id, client] : job.clients) share.credit += client.On(gpu).credit;
  // What it needs beside what is reserved for it is what it needs beside its fixed memory.
  const Bytes claim = std::max(share.claim, job.policy.request);
  if (share.fixed > share.claim || claim - share.reserved != share.Movable()) return std::nullopt;
  return share;
}

}  // namespace

void ParkJobs(Ledger& ledger) {
  for (Job* job : ledger.scope.jobs) {
    if (!MayPark(ledger, *job)) continue;
    job->parked = ShareOf(ledger, *job);
    if (!job->parked) continue;
    if (!job->parked->gpu) {
      std::erase(ledger.homeless, job);
      continue;
    }
    Gpu& card = ledger.gpus.at(*job->parked->gpu);
    std::erase(card.jobs, job);
    card.parked.Add(*job);
  }
}

void Unpark(Ledger& ledger, Job& job) {
  if (!job.parked) return;
  const auto insert = [&](std::vector<Job*>& jobs) {
    jobs.insert(std::ranges::lower_bound(jobs, job.id, {}, &Job::id), &job);
  };
  bool in_scope = false;
  if (job.parked->gpu) {
    Gpu& card = ledger.gpus.at(*job.parked->gpu);
    card.parked.Remove(job);
    insert(card.jobs);
    in_scope = card.in_scope;
  } else {
    insert(ledger.homeless);
  }
  job.parked.reset();
  if (in_scope) insert(ledger.scope.jobs);
}

void UnparkAll(Ledger& ledger, const Gpu& card) {
  std::vector<Job*> jobs;
  card.parked.ForEach([&](Job& job) { jobs.push_back(&job); });
  for (Job* job : jobs) Unpark(ledger, *job);
}

}  // namespace reveza::scheduler
