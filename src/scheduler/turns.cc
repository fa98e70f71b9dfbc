#include "scheduler/turns.h"

#include <algorithm>

#include "scheduler/gates.h"
#include "scheduler/room.h"
#include "scheduler/slices.h"

namespace reveza::scheduler {
namespace {

// A job that has to wait for slices to end.
struct Blocked {
  const Job* job;
  Time expected;   // when its turn can come; Time::max(): not by the end of slices
  JobSet closing;  // who will be closed for it then
};

JobSet With(JobSet set, JobId id) {
  set.insert(id);
  return set;
}

JobSet Without(JobSet set, const JobSet& removed) {
  for (const JobId id : removed) set.erase(id);
  return set;
}

bool Suits(Books& books, const Job& job, const JobSet& in) {
  const JobSet with = With(in, job.id);
  return books.FitsAllGpusOf(job, with) && EvictionsSuffice(books, with);
}

bool ShareGpu(const Books& books, const Job& a, const Job& b) {
  return std::any_of(books.gpus.begin(), books.gpus.end(),
                     [&](const auto& entry) { return a.Uses(entry.first) && b.Uses(entry.first); });
}

class TurnChoice {
 public:
  explicit TurnChoice(Books& books) : books_(books), in_(books.InOrEntering()) {}

  void Run() {
    for (Job* job : Waiting()) Consider(*job);
  }

 private:
  std::vector<Job*> Waiting() {
    std::vector<Job*> waiting;
    for (auto& [id, job] : books_.jobs) {
      job.why = WaitReason::kNone;
      job.blocked_by = 0;
      if (job.phase != Phase::kOut || !books_.Wants(job)) continue;
      if (!job.waiting_since) job.waiting_since = books_.now;
      waiting.push_back(&job);
    }
    std::sort(waiting.begin(), waiting.end(), [](const Job* a, const Job* b) {
      return std::make_tuple(a->queued, *a->waiting_since, a->rank) <
             std::make_tuple(b->queued, *b->waiting_since, b->rank);
    });
    return waiting;
  }

  void Consider(Job& job) {
    if (ChooseNow(job)) return;
    job.displaced_others = false;
    job.handover_began.reset();
  }

  // False: it waits, and job.why says for what.
  bool ChooseNow(Job& job) {
    if (!books_.CanRunAlone(job)) {
      Say(job, WaitReason::kGpuMemory, LargestFixedHolder(job));
      return false;
    }
    if (job.queued && !FitsWithoutMoving(job)) {
      Say(job, WaitReason::kQueue, 0);
      return false;
    }
    JobSet closing;
    if (!Suits(books_, job, in_) && !FindVictims(job, closing)) return false;
    if (closing.empty() && WouldMoveInVain(job)) return false;
    if (!InNobodysWay(job)) {
      Say(job, WaitReason::kTurn, blocked_.front().job->id);
      return false;
    }
    for (const JobId id : closing) {
      Leave(books_, books_.jobs.at(id));
      in_.erase(id);
      job.displaced_others = true;
      if (!job.handover_began) job.handover_began = books_.now;
    }
    in_.insert(job.id);
    ComeIn(job);
    return true;
  }

  // Enters the job, unless gates still have to close for it.
  void ComeIn(Job& job) {
    const JobSet leaving = books_.Leaving();
    JobSet all = in_;
    all.insert(leaving.begin(), leaving.end());
    if (leaving.empty() || Suits(books_, job, all)) {
      Enter(books_, job);
      return;
    }
    Say(job, WaitReason::kTurn, *leaving.begin());
  }

  // Memory that is moved to let a job in beside others is moved in vain if one of those grows on.
  // Who has not grown for as long as the job's turn must last will probably not until then. For so
  // long the job is held back, and no longer, whoever else comes in and grows.
  bool WouldMoveInVain(Job& job) {
    if (job.displaced_others || FitsWithoutMoving(job)) return false;
    const Time turn = ShortestUsefulTurn(books_, job);
    for (const JobId id : in_) {
      const Job& other = books_.jobs.at(id);
      const Time steady = other.Ran(books_.now) - other.ran_at_peak;
      if (!ShareGpu(books_, job, other) || steady >= turn || End(other) <= books_.now) continue;
      if (!job.held_back_since && other.in_turn) job.held_back_since = books_.now;
      const Time expected = std::min(End(other), job.held_back_since.value_or(books_.now) + turn);
      if (books_.Reached(expected)) return false;
      books_.WakeAt(books_.now + turn - steady);
      Say(job, WaitReason::kTurn, id);
      blocked_.push_back(Blocked{&job, expected, {}});
      return true;
    }
    return false;
  }

  // Finds few jobs whose turn is over and whose leaving lets `job` in. Else says why not,
  // and remembers the job as one that waits for slices to end.
  bool FindVictims(Job& job, JobSet& closing) {
    std::vector<const Job*> candidates;
    bool undrainable = false;
    JobId undrainable_job = 0;
    for (const JobId id : in_) {
      const Job& other = books_.jobs.at(id);
      if (!ShareGpu(books_, job, other)) continue;
      candidates.push_back(&other);
      if (other.closable_at > books_.now && !undrainable) {
        undrainable = true;
        undrainable_job = id;
      }
    }
    const auto order = [&](const Job* a, const Job* b) {
      return std::make_tuple(End(*a), !a->AllIdle(), a->turn_start, a->id) <
             std::make_tuple(End(*b), !b->AllIdle(), b->turn_start, b->id);
    };
    std::sort(candidates.begin(), candidates.end(), order);

    JobSet removed;
    for (const Job* other : candidates) {
      removed.insert(other->id);
      if (!Suits(books_, job, Without(in_, removed))) continue;
      removed = Spare(job, removed);
      const Time end = LatestEnd(removed);
      if (end <= books_.now) {
        closing = removed;
        return true;
      }
      books_.WakeAt(end);
      Say(job, undrainable ? WaitReason::kUnpreemptible : WaitReason::kTurn,
          undrainable ? undrainable_job : *removed.begin());
      blocked_.push_back(Blocked{&job, end, removed});
      return false;
    }
    const JobSet rest = Without(in_, removed);
    const bool fits = books_.FitsAllGpusOf(job, With(rest, job.id));
    Say(job, fits ? WaitReason::kHostMemory : WaitReason::kTurn,
        fits || rest.empty() ? 0 : *rest.begin());
    blocked_.push_back(Blocked{&job, Time::max(), {}});
    return false;
  }

  // When the turn of a job that is in, or is about to be, may be ended. Those that may be closed
  // now are all the same early.
  Time End(const Job& job) const {
    if (job.phase == Phase::kIn) return std::max(ClosableAt(books_, job), books_.now);
    const Time turn = job.filling_in_for.value_or(SliceLength(books_, job));
    return std::max(books_.now + HandoverCost(books_, job) + turn, job.closable_at);
  }

  Time LatestEnd(const JobSet& jobs) const {
    Time latest = books_.now;
    for (const JobId id : jobs) latest = std::max(latest, End(books_.jobs.at(id)));
    return latest;
  }

  // Leaves in whoever need not go, those that have run least first.
  JobSet Spare(const Job& job, JobSet removed) {
    std::vector<const Job*> order;
    for (const JobId id : removed) order.push_back(&books_.jobs.at(id));
    std::sort(order.begin(), order.end(), [](const Job* a, const Job* b) {
      return std::make_tuple(a->AllIdle(), -a->turn_start.count(), a->id) <
             std::make_tuple(b->AllIdle(), -b->turn_start.count(), b->id);
    });
    for (const Job* other : order) {
      JobSet fewer = removed;
      fewer.erase(other->id);
      if (Suits(books_, job, Without(in_, fewer))) removed = fewer;
    }
    return removed;
  }

  bool InNobodysWay(Job& job) {
    job.filling_in_for.reset();
    for (const Blocked& older : blocked_) {
      if (older.expected == Time::max() || !ShareGpu(books_, job, *older.job)) continue;
      JobSet then = With(Without(in_, older.closing), older.job->id);
      if (books_.FitsAllGpusOf(*older.job, With(then, job.id))) continue;
      const Time turn = ShortestUsefulTurn(books_, job);
      if (older.expected - books_.now < turn) return false;
      job.filling_in_for = turn;
    }
    return true;
  }

  bool FitsWithoutMoving(const Job& job) const {
    const JobSet with = With(in_, job.id);
    if (!books_.FitsAllGpusOf(job, with)) return false;
    return std::all_of(books_.gpus.begin(), books_.gpus.end(), [&](const auto& entry) {
      return static_cast<std::int64_t>(books_.Deficit(job, entry.first)) <=
             std::max<std::int64_t>(books_.Free(entry.first), 0);
    });
  }

  JobId LargestFixedHolder(const Job& job) const {
    JobId holder = 0;
    Bytes largest = 0;
    for (const auto& [gpu, card] : books_.gpus) {
      if (!job.Uses(gpu)) continue;
      for (const auto& [id, other] : books_.jobs) {
        const Bytes fixed = books_.Fixed(other, gpu);
        if (id == job.id || fixed <= largest) continue;
        largest = fixed;
        holder = id;
      }
    }
    return holder;
  }

  static void Say(Job& job, WaitReason why, JobId blocked_by) {
    job.why = why;
    job.blocked_by = blocked_by;
  }

  Books& books_;
  JobSet in_;  // who is in, and who has been chosen to come in
  std::vector<Blocked> blocked_;
};

}  // namespace

void ChooseTurns(Books& books) { TurnChoice(books).Run(); }

}  // namespace reveza::scheduler
