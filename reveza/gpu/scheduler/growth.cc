#include <algorithm>
#include <set>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// Far longer than a client takes to allocate what it was permitted to.
constexpr Time kMaxAllocationTime = std::chrono::seconds(1);

void Answer(Ledger& ledger, const PendingGrowth& growth, Growth answer) {
  ledger.decisions.push_back(
      AnswerGrowth{growth.client, growth.request, growth.gpu, answer, Bytes{0}});
}

// Returns what was approved for the job's next context.
Bytes ApprovedContext(const Ledger& ledger, const Job& job, GpuId gpu) {
  const Gpu& card = ledger.gpus.at(gpu);
  const bool approved = card.approved_context && job.clients.contains(*card.approved_context);
  return approved ? ledger.ContextEstimate(card) : 0;
}

// Returns whether the growth would not fit even on an otherwise empty GPU, or within what the job
// may have.
bool CanNeverFit(Ledger& ledger, const PendingGrowth& growth) {
  const Gpu& card = ledger.gpus.at(growth.gpu);
  const Job& job = ledger.jobs.at(growth.job);
  const Bytes wanted = ledger.Claim(job, growth.gpu) + growth.bytes;
  const Bytes with_others =
      wanted + ledger.PendingOfSameJob(growth) + ApprovedContext(ledger, job, growth.gpu);
  return wanted > card.Capacity() || with_others > ledger.Limit(job, growth.gpu) ||
         (wanted > card.Limit() && ledger.ExternalPersists(card, growth.requested_at));
}

Obstacle GrowthObstacle(Ledger& ledger, const PendingGrowth& growth) {
  if (growth.approved) return Obstacle::kNone;
  const bool swappable =
      growth.kind == GrowthKind::kSwappable && !ledger.Find(growth.client)->resident_only;
  if (ledger.RequiredAlone(growth) > ledger.gpus.at(growth.gpu).Limit()) {
    return Obstacle::kFixedMemory;
  }
  if (growth.kind == GrowthKind::kPinned && ledger.gpus.at(growth.gpu).crowded &&
      !MovableContextsFitOnHost(ledger, growth.bytes)) {
    return Obstacle::kHostMemory;
  }
  const ExtraMemory extra{growth.client, growth.gpu, swappable ? growth.bytes : 0,
                          swappable ? 0 : growth.bytes};
  return FitsHostBudget(ledger, extra) ? Obstacle::kNone : Obstacle::kHostMemory;
}

bool WaitsForMemoryOrTurn(const Ledger& ledger, const Job& job) {
  return (job.phase == Phase::kSuspended && ledger.WantsToRun(job)) || job.Growths() > 0;
}

void Approve(Ledger& ledger, PendingGrowth& growth) {
  Job& job = ledger.jobs.at(growth.job);
  growth.approved = true;
  const Fit fit = MakeFit(ledger, growth.gpu, growth.job);
  growth.approved = fit == Fit::kYes;
  if (fit == Fit::kNoHostMemory) growth.obstacle = Obstacle::kHostMemory;
  if (fit == Fit::kGrowerMustLeave && ledger.Reached(job.closable_at)) Leave(ledger, job);
}

// Returns whether another client of the job may submit work, or has work that is not done. If that
// waits for this client, the gates must open again at once, for which no client may have memory
// that is not on the GPU.
bool OthersMayRun(const Job& job, ClientId client) {
  return std::ranges::any_of(job.clients, [&](const auto& entry) {
    return entry.first != client && entry.second.gate != Gate::kClosed;
  });
}

// Answers a growth that need not wait. Returns whether it was answered.
bool TryAnswer(Ledger& ledger, PendingGrowth& growth) {
  if (CanNeverFit(ledger, growth) && !growth.approved) {
    Answer(ledger, growth, Growth::kRefused);
    return true;
  }
  growth.obstacle = GrowthObstacle(ledger, growth);
  if (growth.obstacle == Obstacle::kFixedMemory && growth.kind == GrowthKind::kSwappable &&
      ledger.Find(growth.client)->host_backed) {
    Answer(ledger, growth, Growth::kRefused);
    return true;
  }
  const bool open = ledger.Find(growth.client)->gate == Gate::kOpen;
  if (open || growth.Blocked() || growth.kind == GrowthKind::kPinned) return false;
  if (OthersMayRun(ledger.jobs.at(growth.job), growth.client)) return false;
  Answer(ledger, growth, Growth::kLater);
  // The client will allocate it; its footprint shows that only then.
  Holding& holding = *ledger.Find(growth.client, growth.gpu);
  holding.permitted += growth.bytes;
  holding.permitted_until = ledger.now + kMaxAllocationTime;
  const Bytes expected = holding.footprint.Swappable() + growth.bytes;
  UpdatePeak(ledger, growth.gpu, *ledger.Find(growth.client), expected);
  return true;
}

bool CanApprove(const Ledger& ledger, const PendingGrowth& growth) {
  if (growth.Blocked() || growth.approved) return false;
  // The context being created may exceed its estimate, and pinned memory cannot be moved for it.
  const std::optional<ClientId>& context_creator = ledger.gpus.at(growth.gpu).context_creator;
  if (growth.kind == GrowthKind::kPinned && context_creator && *context_creator != growth.client)
    return false;
  const Job& job = ledger.jobs.at(growth.job);
  return job.Active() && job.clients.at(growth.client).gate == Gate::kOpen;
}

// Returns whether the job could come back with the growth, as the only active one.
bool CouldReturn(Ledger& ledger, PendingGrowth& growth) {
  const Job& job = ledger.jobs.at(growth.job);
  growth.approved = true;
  const bool could = ledger.CanRunAlone(job) && EvictionsSuffice(ledger, JobSet(job));
  growth.approved = false;
  return could;
}

// Returns whether the job of an overdue growth, of several clients, should leave, although that
// does not make room: either it drains, and others run meanwhile, or it is known not to.
bool ShouldLeave(Ledger& ledger, PendingGrowth& growth) {
  const Job& job = ledger.jobs.at(growth.job);
  if (job.phase != Phase::kRunning || growth.approved || job.clients.size() < 2) return false;
  const bool others_wait =
      std::ranges::any_of(ledger.scope.jobs,
                          [&](const Job* other) {
                            return other != &job && other->SharesGpuWith(job) &&
                                   WaitsForMemoryOrTurn(ledger, *other);
                          }) ||
      std::ranges::any_of(job.uses,
                          [&](GpuId gpu) { return ledger.gpus.at(gpu).parked.AnyQueued(); });
  return others_wait && ledger.Overdue(growth) && ledger.Reached(ClosableAt(ledger, job)) &&
         (growth.Blocked() || CouldReturn(ledger, growth));
}

}  // namespace

void ProcessGrowths(Ledger& ledger) {
  if (!ledger.TakeoverSettled()) return;
  std::set<GpuId> waiting;  // GPUs with an earlier growth that waits
  // In order of request: what is granted or approved for one is not available to the next.
  for (auto growth = ledger.growths.begin(); growth != ledger.growths.end();) {
    if (!ledger.InScope(growth->gpu)) {
      ++growth;
      continue;
    }
    if (TryAnswer(ledger, *growth)) {
      growth = ledger.Erase(growth);
      continue;
    }
    if (CanApprove(ledger, *growth) && !waiting.contains(growth->gpu)) {
      Approve(ledger, *growth);
      if (!growth->approved && !growth->Blocked()) waiting.insert(growth->gpu);
    }
    ledger.WakeAt(growth->requested_at + ledger.config.max_wait);
    if (ShouldLeave(ledger, *growth)) Leave(ledger, ledger.jobs.at(growth->job));
    ++growth;
  }
  // Jobs that started leaving above need no memory for swappable growths.
  for (auto growth = ledger.growths.begin(); growth != ledger.growths.end();) {
    const bool answered = ledger.InScope(growth->gpu) &&
                          ledger.Find(growth->client)->gate != Gate::kOpen &&
                          TryAnswer(ledger, *growth);
    growth = answered ? ledger.Erase(growth) : std::next(growth);
  }
}

}  // namespace reveza::scheduler
