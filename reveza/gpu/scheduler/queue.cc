// Which of the jobs that want to run rotate, and which queue.
#include <algorithm>
#include <limits>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace {

struct Slot {
  std::optional<std::size_t> limit;  // how many jobs may rotate
  std::size_t taken = 0;
};
using Slots = FlatMap<GpuId, Slot>;

bool Runnable(const Ledger& ledger, const Job& job) {
  return job.phase != Phase::kSuspended || ledger.WantsToRun(job);
}

// Wakes parked jobs that do not fit beside what is reserved: they wait for memory, and do not
// queue.
void UnparkTooLarge(Ledger& ledger, GpuId gpu, const Gpu& card) {
  const Bytes taken = ledger.FixedOfAll(gpu) + ledger.ApprovedContext(gpu);
  while (Job* largest = card.parked.LargestQueued()) {
    if (taken + largest->parked->Movable() <= card.Limit()) return;
    Unpark(ledger, *largest);
  }
}

// Returns how many jobs may rotate on a GPU; nullopt if all runnable jobs fit together.
std::optional<std::size_t> RotationSlots(const Ledger& ledger, GpuId gpu, const Gpu& card) {
  const Bytes demand = ledger.FixedOfAll(gpu) + ledger.ApprovedContext(gpu) +
                       card.parked.queued_movable() + SumOver(card.jobs, [&](const Job& job) {
                         return Runnable(ledger, job) ? ledger.Movable(job, gpu) : 0;
                       });
  if (demand <= card.Limit()) return std::nullopt;
  const Time turn = SliceLength(ledger, gpu) + HandoverCost(ledger, gpu);
  return std::max<std::size_t>(1, static_cast<std::size_t>(ledger.config.max_wait / turn));
}

// Assigns slots in order of rank; a job rotates if it gets one on each of its GPUs.
class Rotation {
 public:
  Rotation(Ledger& ledger, Slots& slots) : ledger_(ledger), slots_(slots) {
    for (const auto& [gpu, card] : ledger.scope.gpus) {
      if (card->parked.AnyQueued()) parked_.emplace_back(gpu, &card->parked);
    }
  }

  // Adds the jobs that are no longer parked.
  void Assign(std::vector<Job*>& runnable) {
    for (Job* job : runnable) {
      AssignParked(job->rank);
      Assign(*job);
    }
    AssignParked(std::numeric_limits<std::uint64_t>::max());
    if (woken_.empty()) return;
    runnable.insert(runnable.end(), woken_.begin(), woken_.end());
    std::ranges::sort(runnable, {}, &Job::rank);
  }

 private:
  void Assign(Job& job) {
    job.queued = false;
    // It waits for memory of others, which these may free in their turns.
    if (!ledger_.CanRunAlone(job)) return;
    // At rest on the GPU: it leaves for any other.
    if (job.AllIdle() && !ledger_.WantsToRun(job)) return;
    const bool exempt = job.policy.interactive || job.policy.priority == Priority::kHigh;
    for (const GpuId gpu : job.uses) {
      if (!exempt && Full(gpu)) job.queued = true;
    }
    if (job.queued) return;
    for (const GpuId gpu : job.uses) ++slots_.at(gpu).taken;
  }

  // Wakes parked jobs before `rank` that get a slot.
  void AssignParked(std::uint64_t rank) {
    for (const auto& [gpu, parked] : parked_) {
      while (!Full(gpu)) {
        Job* first = parked->LowestRank();
        if (first == nullptr || first->rank >= rank) break;
        Unpark(ledger_, *first);
        woken_.push_back(first);
        Assign(*first);
      }
    }
  }

  bool Full(GpuId gpu) {
    const Slot& slot = slots_.at(gpu);
    return slot.limit && slot.taken >= *slot.limit;
  }

  Ledger& ledger_;
  Slots& slots_;
  std::vector<std::pair<GpuId, const ParkedJobs*>> parked_;
  std::vector<Job*> woken_;
};

// Ageing: a job that queued for max_wait replaces the oldest that has rotated for as long.
class Ageing {
 public:
  Ageing(Ledger& ledger, const std::vector<Job*>& runnable)
      : ledger_(ledger), runnable_(runnable) {}

  // Returns false if none is to be replaced.
  bool ReplaceOne() {
    for (const Job* waiter : runnable_) {
      if (!waiter->queued || !waiter->queued_since) continue;
      if (!ledger_.Reached(*waiter->queued_since + ledger_.config.max_wait)) continue;
      Look(
          waiter->rank, [&](const Job& job) { return job.SharesGpuWith(*waiter); },
          [&](std::uint64_t) { return waiter->rank; });
    }
    for (const auto& [gpu, card] : ledger_.scope.gpus) LookForParked(gpu, card->parked);
    if (replaced_ == nullptr) return false;
    replaced_->rank = ++ledger_.next_rank;
    return true;
  }

 private:
  // Finds the first job up to the rank `highest` that has rotated for long enough, for
  // `waiter(rank)`.
  template <typename Shares, typename Waiter>
  void Look(std::uint64_t highest, Shares shares, Waiter waiter) {
    for (Job* job : runnable_) {
      if (job->rank > highest) return;
      if (job->queued || !job->admitted_since || !shares(*job)) continue;
      if (!ledger_.Reached(*job->admitted_since + ledger_.config.max_wait)) continue;
      const std::uint64_t rank = waiter(job->rank);
      if (replaced_ == nullptr || rank < waiter_) {
        waiter_ = rank;
        replaced_ = job;
      }
      return;
    }
  }

  void LookForParked(GpuId gpu, ParkedJobs& parked) {
    const Time wait = ledger_.config.max_wait;
    if (const auto next = parked.MarkOverdue(ledger_.now - wait)) ledger_.WakeAt(*next + wait);
    if (!parked.AnyOverdue()) return;
    Look(
        parked.HighestOverdue(), [gpu](const Job& job) { return job.Uses(gpu); },
        [&](std::uint64_t rank) { return *parked.NextOverdue(rank); });
  }

  Ledger& ledger_;
  const std::vector<Job*>& runnable_;  // in the order of rank
  std::uint64_t waiter_ = 0;           // the rank of the first that replaces one
  Job* replaced_ = nullptr;
};

}  // namespace

void UpdateQueue(Ledger& ledger) {
  for (const auto& [gpu, card] : ledger.scope.gpus) UnparkTooLarge(ledger, gpu, *card);
  const auto is_runnable = [&](const Job& job) { return Runnable(ledger, job); };
  const std::size_t max_rounds = ledger.jobs.size();
  for (std::size_t round = 0; round <= max_rounds; ++round) {
    const Ledger::Frozen frozen(ledger);
    Slots slots;
    for (const auto& [gpu, card] : ledger.scope.gpus) {
      slots[gpu].limit = RotationSlots(ledger, gpu, *card);
    }
    std::vector<Job*> runnable = ledger.JobsSortedBy(&Job::rank, is_runnable);
    Rotation(ledger, slots).Assign(runnable);
    for (Job* job : runnable) {
      std::optional<Time>& since = job->queued ? job->queued_since : job->admitted_since;
      if (!since) since = ledger.now;
      (job->queued ? job->admitted_since : job->queued_since).reset();
    }
    if (!Ageing(ledger, runnable).ReplaceOne()) break;
  }
  for (Job* job : ledger.scope.jobs) {
    if (Runnable(ledger, *job)) continue;
    job->queued = false;
    job->queued_since.reset();
    job->admitted_since.reset();
  }
}

}  // namespace reveza::scheduler
