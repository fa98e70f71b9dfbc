#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>
#include <vector>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace {

// A job that waits for slices to end.
struct Blocked {
  const Job* job;
  Time expected;   // expected turn; Time::max(): no slice end suffices
  JobSet closing;  // jobs to close for it then
};

// The end of the turn of an active job, whether it is not idle, when its turn began, its number.
using EndOrder = std::tuple<Time, bool, Time, JobId>;
using Candidate = std::pair<EndOrder, const Job*>;

JobSet With(JobSet set, const Job& job) {
  set.insert(job);
  return set;
}

JobSet Without(JobSet set, const JobSet& removed) {
  for (const Job* job : removed) set.erase(*job);
  return set;
}

// What decides whether jobs fit on the only GPU in scope, where evictions are a matter of sums
// alone: the host has room for whatever may be evicted, no job must be spared for a while, and no
// request, no context that can leave or is away counts.
class Room {
 public:
  static std::optional<Room> Find(Ledger& ledger) {
    if (ledger.scope.gpus.size() != 1 || !ledger.ample_host || !ledger.growths.empty()) {
      return std::nullopt;
    }
    const auto& [gpu, card] = ledger.scope.gpus.front();
    Room room;
    room.evictable_ = ledger.EvictableOfAll(gpu);
    if (card->crowded || room.evictable_ == 0 || ledger.AnyContextsAway()) return std::nullopt;
    room.gpu_ = gpu;
    room.context_ = ledger.ApprovedContext(gpu);
    room.left_ = static_cast<std::int64_t>(card->Limit()) -
                 static_cast<std::int64_t>(ledger.FixedOfAll(gpu) + room.context_);
    room.free_ = ledger.Free(gpu) + static_cast<std::int64_t>(ledger.PendingEvictions(gpu));
    return room;
  }

  // Returns what FitsAfterEvictions() does for the job beside the others, which are all of this GPU
  // or of none.
  bool Fits(const Ledger& ledger, const Job& job, const JobSet& others) const {
    Bytes movable = 0;
    Bytes deficit = context_;
    Bytes evictable = evictable_;
    const auto add = [&](const Job& one) {
      const JobShare& share = ledger.ShareOf(one, gpu_);
      movable += share.movable;
      deficit += share.deficit;
      evictable -= share.evictable;
    };
    add(job);
    for (const Job* other : others) add(*other);
    return static_cast<std::int64_t>(movable) <= left_ &&
           (deficit == 0 ||
            static_cast<std::int64_t>(deficit) - free_ <= static_cast<std::int64_t>(evictable));
  }

 private:
  GpuId gpu_ = 0;
  Bytes context_ = 0;      // approved
  Bytes evictable_ = 0;    // of all jobs
  std::int64_t left_ = 0;  // by fixed memory
  std::int64_t free_ = 0;  // credit, with that of evictions in progress
};

// `active` has the job.
bool FitsAfterEvictions(Ledger& ledger, const Job& job, const JobSet& active) {
  return ledger.FitsAllGpusOf(job, active) && EvictionsSuffice(ledger, active);
}

class TurnScheduler {
 public:
  explicit TurnScheduler(Ledger& ledger) : ledger_(ledger), active_(ledger.ActiveJobs()) {}

  void Run() {
    const std::vector<Job*> waiting = Waiting();
    const auto queued = std::ranges::find_if(waiting, [](const Job* job) { return job->queued; });
    blocked_.reserve(waiting.size());
    std::for_each(waiting.begin(), queued, [this](Job* job) { Consider(*job); });
    for (Job* job : Queued({queued, waiting.end()})) Consider(*job);
  }

 private:
  std::vector<Job*> Waiting() {
    for (Job* one : ledger_.scope.jobs) {
      Job& job = *one;
      job.why = WaitReason::kNone;
      job.blocked_by = 0;
      job.closes_at = Time::max();
      if (Waits(job) && !job.waiting_since) job.waiting_since = ledger_.now;
    }
    return InOrder(ledger_.scope.jobs);
  }

  // Returns the queued jobs that wait, with those of the parked ones for whose memory there is
  // room. The others do not enter.
  std::vector<Job*> Queued(std::vector<Job*> waiting) {
    const std::size_t before = waiting.size();
    for (const auto& [gpu, card] : ledger_.scope.gpus) {
      const auto free = static_cast<Bytes>(std::max<std::int64_t>(ledger_.Free(gpu), 0));
      if (card->parked.SmallestDeficit() > free) continue;
      const Bytes demand = ledger_.Demand(gpu, active_);
      Job* smallest = card->parked.SmallestQueued();
      for (; smallest != nullptr; smallest = card->parked.SmallestQueued()) {
        if (demand + smallest->parked->Movable() > card->Limit()) break;
        Unpark(ledger_, *smallest);
        waiting.push_back(smallest);
      }
    }
    return waiting.size() == before ? waiting : InOrder(waiting);
  }

  std::vector<Job*> InOrder(const std::vector<Job*>& jobs) {
    const auto key = [this](const Job& job) {
      ledger_.DueAt(EndOfInterrupted(ledger_, job));
      return std::make_tuple(job.queued, -static_cast<int>(EffectivePriority(ledger_, job)),
                             !MayPreempt(ledger_, job), !ContinuesSlice(ledger_, job),
                             job.Vruntime(ledger_.now), job.waiting_since, job.rank);
    };
    return Ledger::SortedBy(jobs, key, [&](const Job& job) { return Waits(job); });
  }

  bool Waits(const Job& job) const {
    return job.phase == Phase::kSuspended && ledger_.WantsToRun(job);
  }

  void Consider(Job& job) {
    if (TryEnter(job)) return;
    if (job.preempted_others || job.handover_started) ++ledger_.changes;
    job.preempted_others = false;
    job.handover_started.reset();
  }

  // Returns false if the job has to wait; job.why is the reason.
  bool TryEnter(Job& job) {
    if (job.Unresponsive()) {
      SetReason(job, WaitReason::kUnresponsive, job.id);
      return false;
    }
    if (!ledger_.CanRunAlone(job)) {
      SetReason(job, WaitReason::kGpuMemory, LargestFixedHolder(job));
      return false;
    }
    if (job.queued && !FitsWithoutMoving(job)) {
      SetReason(job, WaitReason::kQueue, 0);
      return false;
    }
    JobSet closing;
    if (!FitsBeside(job, active_)) {
      // Parked jobs, which are queued too, would have to be looked at again if it closed others.
      if (job.queued) {
        SetReason(job, WaitReason::kQueue, 0);
        return false;
      }
      if (!FindVictims(job, closing)) return false;
    }
    if (!MayRun(job)) {
      const auto first = std::ranges::find_if(
          blocked_, [&](const Blocked& older) { return job.SharesGpuWith(*older.job); });
      SetReason(job, WaitReason::kTurn, first->job->id);
      return false;
    }
    if (closing.empty() && WouldThrash(job)) return false;
    for (const Job* one : closing) {
      Job& other = ledger_.jobs.at(one->id);
      if (!other.AllIdle() && other.in_turn && ledger_.now < ClosableAt(ledger_, other)) {
        if (MayPreempt(ledger_, job)) {
          SettleTokens(ledger_, job);
          job.tokens -= TokensToPreempt(ledger_, job);
        }
        other.interrupted_slice = other.slice_start;
      }
      Leave(ledger_, other);
      frozen_.Refresh();
      room_ = Room::Find(ledger_);
      active_.erase(other);
      job.preempted_others = true;
      if (!job.handover_started) job.handover_started = ledger_.now;
    }
    active_.insert(job);
    EnterOrAwaitLeaving(job);
    return true;
  }

  // Enters the job, unless gates must close first.
  void EnterOrAwaitLeaving(Job& job) {
    const JobSet leaving = ledger_.LeavingJobs(job);
    JobSet others = active_;
    for (const Job* one : leaving) others.insert(*one);
    others.erase(job);
    if (leaving.empty() || FitsBeside(job, others)) {
      Enter(ledger_, job);
      return;
    }
    SetReason(job, WaitReason::kTurn, (*leaving.begin())->id);
  }

  // Returns whether the job fits if it and the others are active, at the latest after evictions.
  bool FitsBeside(const Job& job, const JobSet& others) {
    if (!room_ || job.uses.size() != 1) {
      return FitsAfterEvictions(ledger_, job, With(others, job));
    }
    const bool fits = room_->Fits(ledger_, job, others);
    assert(fits == FitsAfterEvictions(ledger_, job, With(others, job)));
    return fits;
  }

  // Returns whether memory evicted for this job would probably have to return soon, because a
  // co-running job still grows. A job that has not grown for as long as this one's shortest useful
  // turn counts as steady. Holds the job back for at most that turn, whatever else enters and
  // grows.
  bool WouldThrash(Job& job) {
    if (job.preempted_others || FitsWithoutMoving(job) || MayPreempt(ledger_, job)) return false;
    const Time turn = ShortestUsefulTurn(ledger_, job);
    for (const Job* one : active_) {
      const Job& other = *one;
      if (!job.SharesGpuWith(other)) continue;
      const Time steady = other.Ran(ledger_.now) - other.ran_at_peak;
      const Time end = End(job, other);
      if (steady >= turn || end <= ledger_.now) continue;
      if (!job.held_back_since && other.in_turn) job.held_back_since = ledger_.now;
      const Time expected = std::min(end, job.held_back_since.value_or(ledger_.now) + turn);
      if (ledger_.Reached(expected)) return false;
      ledger_.WakeAt(ledger_.now + turn - steady);
      SetReason(job, WaitReason::kTurn, other.id);
      blocked_.push_back(Blocked{&job, expected, {}});
      return true;
    }
    return false;
  }

  // Finds a small set of jobs whose slice has expired and without which `job` fits. Otherwise sets
  // the wait reason and records the job as blocked.
  bool FindVictims(Job& job, JobSet& closing) {
    bool undrainable = false;
    JobId undrainable_job = 0;
    for (const Job* one : active_) {
      const Job& other = *one;
      if (!job.SharesGpuWith(other)) continue;
      ledger_.DueAt(other.closable_at);
      if (other.closable_at > ledger_.now && !undrainable) {
        undrainable = true;
        undrainable_job = other.id;
      }
    }

    JobSet removed;
    JobSet rest = active_;
    SortCandidates(job);
    for (const auto& [order, other] : candidates_) {
      removed.insert(*other);
      rest.erase(*other);
      if (!FitsBeside(job, rest)) continue;
      if (removed.size() > 1) removed = MinimizeVictims(job, removed);
      const Time end = LatestEnd(removed);
      if (end <= ledger_.now) {
        closing = removed;
        return true;
      }
      ledger_.WakeAt(end);
      for (const Job* one : removed) {
        Time& closes_at = ledger_.jobs.at(one->id).closes_at;
        closes_at = std::min(closes_at, end);
      }
      SetReason(job, undrainable ? WaitReason::kUnpreemptible : WaitReason::kTurn,
                undrainable ? undrainable_job : (*removed.begin())->id);
      blocked_.push_back(Blocked{&job, end, std::move(removed)});
      return false;
    }
    const bool fits = ledger_.FitsAllGpusOf(job, With(rest, job));
    SetReason(job, fits ? WaitReason::kHostMemory : WaitReason::kTurn,
              fits ? 0 : FirstBeside(job, rest));
    blocked_.push_back(Blocked{&job, Time::max(), {}});
    return false;
  }

  // Sorts the active jobs beside `job` by the end of their turn for it, idle ones first where that
  // is the same.
  void SortCandidates(const Job& job) {
    std::vector<Candidate>& sorted = candidates_;
    sorted.clear();
    for (const Job* other : active_) {
      if (!job.SharesGpuWith(*other)) continue;
      sorted.emplace_back(
          EndOrder(End(job, *other), !other->AllIdle(), other->turn_start, other->id), other);
    }
    std::ranges::sort(sorted);
    // The end of those that enter moves on, beyond that of others.
    for (const auto& [order, one] : sorted) {
      if (one->phase == Phase::kRunning) continue;
      const Time distance = std::get<0>(order) - ledger_.now;
      for (const auto& [other_order, other] : sorted) {
        const Time end = std::get<0>(other_order);
        const bool is_fixed = other->phase == Phase::kRunning || end == other->closable_at;
        if (other == one || !is_fixed) continue;
        ledger_.DueAt(end - distance);
        ledger_.DueAt(end - distance + Time(1));
      }
    }
  }

  // Returns the first of the jobs that shares a GPU with `job`, or 0.
  JobId FirstBeside(const Job& job, const JobSet& others) const {
    const auto first =
        std::ranges::find_if(others, [&](const Job* other) { return job.SharesGpuWith(*other); });
    return first == others.end() ? 0 : (*first)->id;
  }

  // Returns when the turn of the active `other` may end for `job`, at the earliest now.
  Time End(const Job& job, const Job& other) {
    const Time yields = YieldsAt(ledger_, job, other);
    ledger_.DueAt(yields);
    if (other.phase == Phase::kRunning || yields <= ledger_.now) {
      return std::max(yields, ledger_.now);
    }
    const Time turn = other.backfill_turn.value_or(SliceLength(ledger_, other));
    return std::max(ledger_.now + HandoverCost(ledger_, other) + turn, other.closable_at);
  }

  Time LatestEnd(const JobSet& closing) const {
    Time latest = ledger_.now;
    for (const auto& [order, other] : candidates_) {
      if (closing.contains(other->id)) latest = std::max(latest, std::get<0>(order));
    }
    return latest;
  }

  // Removes jobs that need not close from `removed`, those that have run least first.
  JobSet MinimizeVictims(const Job& job, JobSet removed) {
    std::vector<const Job*> order(removed.begin(), removed.end());
    std::ranges::sort(order, {}, [](const Job* one) {
      return std::make_tuple(one->AllIdle(), -one->turn_start.count(), one->id);
    });
    for (const Job* other : order) {
      JobSet fewer = removed;
      fewer.erase(*other);
      if (FitsBeside(job, Without(active_, fewer))) removed = fewer;
    }
    return removed;
  }

  bool MayRun(Job& job) {
    job.backfill_turn.reset();
    for (const Blocked& older : blocked_) {
      if (older.expected == Time::max() || !job.SharesGpuWith(*older.job)) continue;
      JobSet then = With(Without(active_, older.closing), *older.job);
      if (ledger_.FitsAllGpusOf(*older.job, With(then, job))) continue;
      const Time turn = ShortestUsefulTurn(ledger_, job);
      if (older.expected - ledger_.now < turn) return false;
      ledger_.DueAt(older.expected - turn + Time(1));
      job.backfill_turn = turn;
    }
    return true;
  }

  bool FitsWithoutMoving(const Job& job) const {
    const JobSet with = With(active_, job);
    if (!ledger_.FitsAllGpusOf(job, with)) return false;
    return std::ranges::all_of(job.uses, [&](GpuId gpu) {
      return static_cast<std::int64_t>(ledger_.Deficit(job, gpu)) <=
             std::max<std::int64_t>(ledger_.Free(gpu), 0);
    });
  }

  JobId LargestFixedHolder(const Job& job) const {
    JobId holder = 0;
    Bytes largest = 0;
    for (const GpuId gpu : job.uses) {
      const Bytes before = largest;
      ledger_.ForEachJobOn(gpu, [&](const Job& other) {
        const Bytes fixed = ledger_.Fixed(other, gpu);
        if (other.id == job.id || fixed <= before || fixed < largest) return;
        holder = fixed > largest ? other.id : std::min(holder, other.id);
        largest = fixed;
      });
    }
    return holder;
  }

  static void SetReason(Job& job, WaitReason why, JobId blocked_by) {
    job.why = why;
    job.blocked_by = blocked_by;
  }

  Ledger& ledger_;
  Ledger::Frozen frozen_{ledger_};
  JobSet active_;  // active jobs, and those chosen to enter
  std::optional<Room> room_ = Room::Find(ledger_);
  std::vector<Blocked> blocked_;
  std::vector<Candidate> candidates_;  // of the job that is considered
};

}  // namespace

void ChooseTurns(Ledger& ledger) { TurnScheduler(ledger).Run(); }

}  // namespace reveza::scheduler
