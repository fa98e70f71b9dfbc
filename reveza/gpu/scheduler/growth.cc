#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

void Answer(Ledger& ledger, const PendingGrowth& growth, Growth answer) {
  ledger.decisions.push_back(
      AnswerGrowth{growth.client, growth.request, growth.gpu, answer, Bytes{0}});
}

// Returns whether the growth would not fit even on an otherwise empty GPU.
bool CanNeverFit(Ledger& ledger, const PendingGrowth& growth) {
  const Gpu& card = ledger.gpus.at(growth.gpu);
  const Bytes wanted = ledger.Claim(ledger.jobs.at(growth.job), growth.gpu) + growth.bytes;
  return wanted > card.Capacity() ||
         (wanted > card.Limit() && ledger.ExternalPersists(card, growth.requested_at));
}

// Returns the pending growths of the same job that will be granted first: approved ones, and
// earlier ones that count on entry.
Bytes PendingOfSameJob(const Ledger& ledger, const PendingGrowth& growth) {
  Bytes sum = 0;
  bool earlier = true;
  for (const PendingGrowth& other : ledger.growths) {
    if (&other == &growth) {
      earlier = false;
    } else if (other.job == growth.job && other.gpu == growth.gpu) {
      sum += other.approved || (earlier && ledger.CountsOnEntry(other)) ? other.bytes : 0;
    }
  }
  return sum;
}

// Returns the memory required to grant the growth with no other job active.
Bytes RequiredAlone(const Ledger& ledger, const PendingGrowth& growth) {
  return ledger.Claim(ledger.jobs.at(growth.job), growth.gpu) + PendingOfSameJob(ledger, growth) +
         growth.bytes + ledger.FixedOfOthers(growth.job, growth.gpu);
}

Obstacle GrowthObstacle(Ledger& ledger, const PendingGrowth& growth) {
  if (growth.approved) return Obstacle::kNone;
  const bool swappable =
      growth.kind == GrowthKind::kSwappable && !ledger.Find(growth.client)->resident_only;
  if (RequiredAlone(ledger, growth) > ledger.gpus.at(growth.gpu).Limit()) {
    return Obstacle::kFixedMemory;
  }
  const ExtraMemory extra{growth.client, growth.gpu, swappable ? growth.bytes : 0,
                          swappable ? 0 : growth.bytes};
  return FitsHostBudget(ledger, extra) ? Obstacle::kNone : Obstacle::kHostMemory;
}

bool HasBlockedGrowth(const Ledger& ledger, ClientId client) {
  return std::ranges::any_of(ledger.growths, [&](const auto& growth) {
    return growth.client == client && growth.Blocked();
  });
}

// Returns whether no thread of the job can make progress by itself.
bool Stuck(const Ledger& ledger, const Job& job) {
  if (job.Unresponsive()) return false;  // it may answer later
  const bool blocked = std::ranges::any_of(
      ledger.growths, [&](const auto& growth) { return growth.job == job.id && growth.Blocked(); });
  switch (job.phase) {
    case Phase::kEntering:
    case Phase::kLeaving:
      return false;
    case Phase::kRunning:
      return blocked && std::ranges::all_of(job.clients, [&](const auto& entry) {
               const Client& client = entry.second;
               return client.idle || client.gpus.empty() || HasBlockedGrowth(ledger, client.id);
             });
    case Phase::kSuspended:
      break;
  }
  const bool no_context = std::ranges::any_of(ledger.contexts, [&](const auto& context) {
    return context.job == job.id && context.obstacle != Obstacle::kNone;
  });
  const bool no_turn =
      ledger.WantsToRun(job) && (job.why == WaitReason::kHostMemory || !ledger.CanRunAlone(job));
  return blocked || no_context || no_turn;
}

bool HoldsMemory(const Ledger& ledger, const Job& job) {
  return std::ranges::any_of(ledger.gpus,
                             [&](const auto& entry) { return ledger.Claim(job, entry.first) > 0; });
}

// Returns whether every job in the way of `growth`, with fixed memory or on the host, is stuck too.
bool Deadlocked(const Ledger& ledger, const PendingGrowth& growth) {
  return std::ranges::all_of(ledger.jobs, [&](const auto& entry) {
    const Job& job = entry.second;
    const bool in_the_way = growth.obstacle == Obstacle::kHostMemory
                                ? HoldsMemory(ledger, job)
                                : ledger.Fixed(job, growth.gpu) > 0;
    return job.id == growth.job || !in_the_way || Stuck(ledger, job);
  });
}

// Returns whether external processes, which may still exit, are part of what blocks the growth.
bool ExternalMayYield(Ledger& ledger, const PendingGrowth& growth) {
  const Gpu& card = ledger.gpus.at(growth.gpu);
  if (growth.obstacle == Obstacle::kFixedMemory) {
    return RequiredAlone(ledger, growth) <= card.Capacity() &&
           !ledger.ExternalPersists(card, growth.requested_at);
  }
  bool may = false;  // external memory also increases the overflow
  for (const auto& [gpu, other] : ledger.gpus) {
    may = (other.external > 0 && !ledger.ExternalPersists(other, growth.requested_at)) || may;
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

void Approve(Ledger& ledger, PendingGrowth& growth) {
  Job& job = ledger.jobs.at(growth.job);
  growth.approved = true;
  const Fit fit = MakeFit(ledger, growth.gpu, growth.job);
  growth.approved = fit == Fit::kYes;
  if (fit == Fit::kNoHostMemory) growth.obstacle = Obstacle::kHostMemory;
  if (fit == Fit::kGrowerMustLeave && ledger.Reached(job.closable_at)) Leave(ledger, job);
}

// Answers a growth that need not wait. Returns whether it was answered.
bool TryAnswer(Ledger& ledger, PendingGrowth& growth) {
  if (CanNeverFit(ledger, growth) && !growth.approved) {
    Answer(ledger, growth, Growth::kRefused);
    return true;
  }
  growth.obstacle = GrowthObstacle(ledger, growth);
  const bool open = ledger.Find(growth.client)->gate == Gate::kOpen;
  if (open || growth.Blocked() || growth.kind == GrowthKind::kPinned) return false;
  Answer(ledger, growth, Growth::kLater);
  // The client will allocate it; its footprint shows that only then.
  const Holding& holding = *ledger.Find(growth.client, growth.gpu);
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

}  // namespace

void ProcessGrowths(Ledger& ledger) {
  if (!ledger.TakeoverSettled()) return;
  std::set<GpuId> waiting;  // GPUs with an earlier growth that waits
  // In order of request: what is granted or approved for one is not available to the next.
  for (auto growth = ledger.growths.begin(); growth != ledger.growths.end();) {
    if (TryAnswer(ledger, *growth)) {
      growth = ledger.growths.erase(growth);
      continue;
    }
    if (CanApprove(ledger, *growth) && !waiting.contains(growth->gpu)) {
      Approve(ledger, *growth);
      if (!growth->approved && !growth->Blocked()) waiting.insert(growth->gpu);
    }
    ++growth;
  }
  // Jobs that started leaving above need no memory for swappable growths.
  std::erase_if(ledger.growths, [&](PendingGrowth& growth) {
    return ledger.Find(growth.client)->gate != Gate::kOpen && TryAnswer(ledger, growth);
  });
}

bool BreakDeadlock(Ledger& ledger) {
  for (const auto& [gpu, card] : ledger.gpus) {
    if (ledger.PendingEvictions(gpu) > 0) return false;
  }
  auto youngest = ledger.growths.end();
  for (auto growth = ledger.growths.begin(); growth != ledger.growths.end(); ++growth) {
    if (!growth->Blocked() || !Deadlocked(ledger, *growth)) continue;
    if (ExternalMayYield(ledger, *growth)) continue;
    if (growth->obstacle == Obstacle::kHostMemory && !HostShortageIsFinal(ledger)) continue;
    if (youngest == ledger.growths.end() ||
        ledger.jobs.at(growth->job).joined > ledger.jobs.at(youngest->job).joined) {
      youngest = growth;
    }
  }
  if (youngest == ledger.growths.end()) return false;
  Answer(ledger, *youngest, Growth::kRefused);
  ledger.growths.erase(youngest);
  return true;
}

}  // namespace reveza::scheduler
