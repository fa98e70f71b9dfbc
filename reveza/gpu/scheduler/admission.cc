#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

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
  const auto runs_alone = [&](const Job& other) {
    const Bytes claim = std::max(ledger.EntryNeed(other, gpu), other.policy.request);
    // A job that could not run on an empty GPU blocks nothing.
    return other.id == job.id || claim > limit ||
           claim + ledger.FixedOfOthers(other.id, gpu) + more <= limit;
  };
  const Gpu& card = ledger.gpus.at(gpu);
  bool all = std::ranges::all_of(card.jobs, [&](const Job* other) { return runs_alone(*other); });
  if (ledger.ReservedOfAll(gpu) + card.parked.LargestMovable() + more > limit) {
    card.parked.ForEach([&](const Job& other) { all = all && runs_alone(other); });
  }
  return all;
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
  for (const auto& [gpu, place] : ledger.scope.gpus) {
    Gpu& card = *place;
    if (card.context_creator && ledger.Reached(card.context_deadline)) card.context_creator.reset();
    if (card.context_creator || card.approved_context) continue;
    const Bytes estimate = ledger.ContextEstimate(card);
    for (auto next = ledger.contexts.begin(); next != ledger.contexts.end();) {
      const auto current = next++;
      PendingContext& context = *current;
      if (context.gpu != gpu || ledger.jobs.at(context.job).policy.paused) continue;
      if (ledger.AwaitsOwnContexts(context)) continue;
      if (MustRefuse(ledger, context, estimate)) {
        ledger.decisions.push_back(
            RefuseContext{context.client, gpu, ledger.MaxRequest(context.job, gpu)});
        ledger.Erase(current);
        continue;
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
  const auto context = std::ranges::find_if(ledger.contexts, [&](const PendingContext& pending) {
    return pending.client == client && pending.gpu == gpu;
  });
  if (context != ledger.contexts.end()) ledger.Erase(context);
  ledger.decisions.push_back(AdmitContext{client, gpu, credit});
}

void FinishContext(Ledger& ledger, ClientId client, GpuId gpu, Bytes overhead) {
  Holding* holding = ledger.Find(client, gpu);
  if (holding == nullptr || !holding->creating_context) return;
  Gpu& card = ledger.gpus.at(gpu);
  if (card.context_creator == client) card.context_creator.reset();
  const Bytes expected = ledger.ContextEstimate(card);
  card.largest_context = std::max(card.largest_context, overhead);
  // One was approved for less, while this one took longer than the timeout.
  if (ledger.ContextEstimate(card) > expected) card.approved_context.reset();
  holding->credit -= std::min(holding->credit, holding->context_credit);
  holding->context_credit = 0;
  holding->creating_context = false;
  holding->credit += overhead;
  ledger.jobs.at(ledger.job_of.at(client)).idle_since = ledger.now;
  // A report that the client made meanwhile has the estimate.
  holding->footprint.context = holding->context_before + overhead;
}

}  // namespace reveza::scheduler
