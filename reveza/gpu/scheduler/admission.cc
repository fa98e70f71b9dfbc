#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

bool Runnable(const Ledger& ledger, const Job& job) {
  return job.phase != Phase::kSuspended || ledger.WantsToRun(job);
}

// Returns how many jobs may rotate on a GPU; nullopt if all runnable jobs fit together.
std::optional<std::size_t> RotationSlots(const Ledger& ledger, GpuId gpu,
                                         const std::vector<Job*>& runnable) {
  JobSet all;
  for (const Job* job : runnable) all.insert(job->id);
  if (ledger.Fits(gpu, all)) return std::nullopt;
  const Time turn = SliceLength(ledger, gpu) + HandoverCost(ledger, gpu);
  return std::max<std::size_t>(1, static_cast<std::size_t>(ledger.config.max_wait / turn));
}

// Assigns slots in order of rank; a job rotates if it gets one on each of its GPUs.
void AssignRotation(const Ledger& ledger, const std::vector<Job*>& runnable,
                    const FlatMap<GpuId, std::optional<std::size_t>>& slots) {
  FlatMap<GpuId, std::size_t> taken;
  for (Job* job : runnable) {
    job->queued = false;
    // It waits for memory of others, which these may free in their turns.
    if (!ledger.CanRunAlone(*job)) continue;
    // At rest on the GPU: it leaves for any other.
    if (job->AllIdle() && !ledger.WantsToRun(*job)) continue;
    const bool exempt = job->policy.interactive || job->policy.priority == Priority::kHigh;
    for (const auto& [gpu, limit] : slots) {
      if (!exempt && limit && job->Uses(gpu) && taken[gpu] >= *limit) job->queued = true;
    }
    if (job->queued) continue;
    for (const auto& [gpu, limit] : slots) {
      if (job->Uses(gpu)) ++taken[gpu];
    }
  }
}

// Ageing: a job that queued for max_wait replaces the oldest that has rotated for as long.
bool AgeOneJob(Ledger& ledger, const std::vector<Job*>& runnable) {
  for (const Job* waiter : runnable) {
    if (!waiter->queued || !waiter->queued_since) continue;
    if (!ledger.Reached(*waiter->queued_since + ledger.config.max_wait)) continue;
    for (Job* job : runnable) {
      if (job->queued || job->rank > waiter->rank) continue;
      if (!job->SharesGpuWith(*waiter) || !job->admitted_since) continue;
      if (!ledger.Reached(*job->admitted_since + ledger.config.max_wait)) continue;
      job->rank = ++ledger.next_rank;
      return true;
    }
  }
  return false;
}

bool ContextCanNeverFit(Ledger& ledger, const PendingContext& context, Bytes estimate) {
  const Gpu& card = ledger.gpus.at(context.gpu);
  const Bytes wanted = ledger.Claim(ledger.jobs.at(context.job), context.gpu) + estimate;
  return wanted > card.Capacity() ||
         (wanted > card.Limit() && ledger.ExternalPersists(card, context.requested_at));
}

// Returns whether every admitted job can still run alone beside the context, of which `bytes` are
// expected; on a crowded GPU it can leave.
bool AllCouldRunAlone(const Ledger& ledger, const PendingContext& context, Bytes bytes) {
  const GpuId gpu = context.gpu;
  const Job& job = ledger.jobs.at(context.job);
  const Ledger::Frozen frozen(ledger);
  const Bytes limit = ledger.gpus.at(gpu).Limit();
  // A request covers the context.
  const Bytes own = std::max(ledger.EntryNeed(job, gpu) + bytes, job.policy.request);
  if (own + ledger.FixedOfOthers(job.id, gpu) > limit) return false;
  const Bytes before = ledger.Reserved(job, gpu);
  const bool leaves =
      ledger.gpus.at(gpu).crowded && ledger.HasMovableContexts(job.clients.at(context.client));
  const Bytes fixed = ledger.Fixed(job, gpu) + (leaves ? 0 : bytes);
  const Bytes after = std::max(fixed, job.policy.request);
  const Bytes more = after - std::min(after, before);
  return std::ranges::all_of(ledger.jobs, [&](const auto& entry) {
    const Job& other = entry.second;
    if (other.id == job.id || !other.Uses(gpu)) return true;
    const Bytes claim = std::max(ledger.EntryNeed(other, gpu), other.policy.request);
    // A job that could not run on an empty GPU blocks nothing.
    return claim > limit || claim + ledger.FixedOfOthers(other.id, gpu) + more <= limit;
  });
}

// Returns whether the policy of the job cannot be kept on the GPU, whatever it waits for.
bool MustRefuse(const Ledger& ledger, const PendingContext& context, Bytes estimate) {
  const Job& job = ledger.jobs.at(context.job);
  return ledger.Committed(job, context.gpu) + estimate > ledger.Limit(job, context.gpu) ||
         job.policy.request > ledger.MaxRequest(job.id, context.gpu);
}

Obstacle ContextObstacle(Ledger& ledger, const PendingContext& context, Bytes estimate) {
  if (!AllCouldRunAlone(ledger, context, estimate)) return Obstacle::kFixedMemory;
  if (ledger.gpus.at(context.gpu).crowded && !MovableContextsFitOnHost(ledger, estimate)) {
    return Obstacle::kHostMemory;
  }
  const ExtraMemory extra{context.client, context.gpu, 0, estimate};
  return FitsHostBudget(ledger, extra) ? Obstacle::kNone : Obstacle::kHostMemory;
}

}  // namespace

bool ContextFits(const Ledger& ledger, const PendingContext& context) {
  const Bytes estimate = ledger.ContextEstimate(ledger.gpus.at(context.gpu));
  return AllCouldRunAlone(ledger, context, estimate);
}

void ProcessContexts(Ledger& ledger) {
  if (!ledger.TakeoverSettled()) return;
  for (auto& [gpu, card] : ledger.gpus) {
    if (card.context_creator && ledger.Reached(card.context_deadline)) card.context_creator.reset();
    if (card.context_creator || card.approved_context) continue;
    const Bytes estimate = ledger.ContextEstimate(card);
    for (PendingContext& context : ledger.contexts) {
      if (context.gpu != gpu || ledger.jobs.at(context.job).policy.paused) continue;
      if (ledger.AwaitsOwnContexts(context)) continue;
      if (MustRefuse(ledger, context, estimate)) {
        ledger.decisions.push_back(
            RefuseContext{context.client, gpu, ledger.MaxRequest(context.job, gpu)});
        ledger.contexts.remove_if([&](const auto& other) { return &other == &context; });
        break;
      }
      if (ContextCanNeverFit(ledger, context, estimate)) {
        // Waiting will not make room: let the driver fail as on a full GPU.
        const std::int64_t free = std::max<std::int64_t>(ledger.Free(gpu), 0);
        AdmitContextOf(ledger, gpu, context.client, std::min(estimate, static_cast<Bytes>(free)));
        break;
      }
      context.obstacle = ContextObstacle(ledger, context, estimate);
      ledger.WakeAt(context.requested_at + ledger.config.max_wait);
      if (context.obstacle != Obstacle::kNone) continue;
      card.approved_context = context.client;
      const Fit fit = MakeFit(ledger, gpu, 0);
      if (fit != Fit::kYes) card.approved_context.reset();
      if (fit != Fit::kNoHostMemory) break;
      context.obstacle = Obstacle::kHostMemory;
    }
  }
}

void AdmitContextOf(Ledger& ledger, GpuId gpu, ClientId client, Bytes credit) {
  Gpu& card = ledger.gpus.at(gpu);
  card.approved_context.reset();
  card.context_creator = client;
  card.context_deadline = ledger.now + ledger.config.context_timeout;
  Holding& holding = ledger.Find(client)->gpus[gpu];
  holding.creating_context = true;
  holding.context_credit += credit;
  holding.credit += credit;
  holding.context_before = holding.footprint.context;
  ledger.contexts.remove_if([&](const PendingContext& context) {
    return context.client == client && context.gpu == gpu;
  });
  ledger.decisions.push_back(AdmitContext{client, gpu, credit});
}

void FinishContext(Ledger& ledger, ClientId client, GpuId gpu, Bytes overhead) {
  Holding* holding = ledger.Find(client, gpu);
  if (holding == nullptr || !holding->creating_context) return;
  Gpu& card = ledger.gpus.at(gpu);
  if (card.context_creator == client) card.context_creator.reset();
  card.largest_context = std::max(card.largest_context, overhead);
  holding->credit -= std::min(holding->credit, holding->context_credit);
  holding->context_credit = 0;
  holding->creating_context = false;
  holding->credit += overhead;
  ledger.jobs.at(ledger.job_of.at(client)).idle_since = ledger.now;
  // A report that the client made meanwhile has the estimate.
  holding->footprint.context = holding->context_before + overhead;
}

void UpdateQueue(Ledger& ledger) {
  const Ledger::Frozen frozen(ledger);
  const std::size_t max_bytes = ledger.jobs.size();
  for (std::size_t round = 0; round <= max_bytes; ++round) {
    const std::vector<Job*> runnable =
        ledger.JobsSortedBy(&Job::rank, [&](const Job& job) { return Runnable(ledger, job); });
    FlatMap<GpuId, std::optional<std::size_t>> slots;
    for (const auto& [gpu, card] : ledger.gpus) slots[gpu] = RotationSlots(ledger, gpu, runnable);
    AssignRotation(ledger, runnable, slots);
    for (Job* job : runnable) {
      std::optional<Time>& since = job->queued ? job->queued_since : job->admitted_since;
      if (!since) since = ledger.now;
      (job->queued ? job->admitted_since : job->queued_since).reset();
    }
    if (!AgeOneJob(ledger, runnable)) break;
  }
  for (auto& [id, job] : ledger.jobs) {
    if (Runnable(ledger, job)) continue;
    job.queued = false;
    job.queued_since.reset();
    job.admitted_since.reset();
  }
}

}  // namespace reveza::scheduler
