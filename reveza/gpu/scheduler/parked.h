// Parked jobs: suspended, with nothing on a GPU that can be evicted, and idle or queued. No pass
// would change them, so passes skip them. What decisions need to know of those of one GPU is kept
// here in sums and orders, which cost O(log n) to change.
//
// Not thread-safe; part of a Ledger.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::scheduler {

struct Job;

// What a job adds to the sums while it is parked. It cannot change meanwhile.
struct ParkedShare {
  std::optional<GpuId> gpu;  // the only one that it uses, if any
  bool queued = false;
  bool may_preempt = false;  // sleeps and is interactive
  Bytes claim = 0;
  Bytes fixed = 0;
  Bytes reserved = 0;
  Bytes credit = 0;

  Bytes Movable() const { return claim - fixed; }
  Bytes Deficit() const { return claim - credit; }
};

class ParkedJobs {
 public:
  void Add(Job& job);     // with its ParkedShare
  void Remove(Job& job);  // likewise

  Bytes fixed() const { return fixed_; }
  Bytes reserved() const { return reserved_; }
  Bytes credit() const { return credit_; }
  Bytes movable() const { return movable_; }
  Bytes queued_claim() const { return queued_claim_; }
  Bytes queued_movable() const { return queued_movable_; }
  Bytes LargestClaim() const { return claims_.empty() ? 0 : claims_.rbegin()->first; }
  // Returns the most that one of them may need beside what is reserved.
  Bytes LargestMovable() const {
    const Bytes idle = idle_movable_.empty() ? 0 : idle_movable_.rbegin()->first;
    return std::max(idle, LargestQueuedMovable());
  }
  Bytes LargestQueuedMovable() const {
    return by_movable_.empty() ? 0 : by_movable_.rbegin()->first;
  }
  // Returns whether one of at least this priority sleeps and may preempt.
  bool AnyMayPreempt(Priority lowest) const;

  // ---- queued jobs ----
  bool AnyQueued() const { return !by_rank_.empty(); }
  Job* LowestRank() const { return by_rank_.empty() ? nullptr : by_rank_.begin()->second; }
  Job* LargestQueued() const {
    return by_movable_.empty() ? nullptr : by_rank_.at(by_movable_.rbegin()->second);
  }
  Job* SmallestQueued() const {
    return by_movable_.empty() ? nullptr : by_rank_.at(by_movable_.begin()->second);
  }
  // Returns the least that one of them lacks; the maximum if there is none.
  Bytes SmallestDeficit() const {
    return deficits_.empty() ? std::numeric_limits<Bytes>::max() : deficits_.begin()->first;
  }
  // Marks those that were queued at `since` or before as overdue. Returns when the next of the
  // others was queued.
  std::optional<Time> MarkOverdue(Time since);
  bool AnyOverdue() const { return !overdue_.empty(); }
  // Returns the highest rank of those marked, and the lowest from `rank` on.
  std::uint64_t HighestOverdue() const { return *overdue_.rbegin(); }
  std::optional<std::uint64_t> NextOverdue(std::uint64_t rank) const;

  // Calls `visit(job)` for each, in no particular order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (Job* job : idle_) visit(*job);
    for (const auto& [rank, job] : by_rank_) visit(*job);
  }

 private:
  using Order = std::set<std::pair<Bytes, std::uint64_t>>;  // a size, rank
  using Counts = std::map<Bytes, std::size_t>;

  Bytes fixed_ = 0;
  Bytes reserved_ = 0;
  Bytes credit_ = 0;
  Bytes movable_ = 0;
  Bytes queued_claim_ = 0;
  Bytes queued_movable_ = 0;
  Counts claims_;
  Counts idle_movable_;
  std::map<Priority, std::size_t> may_preempt_;
  std::unordered_set<Job*> idle_;
  std::map<std::uint64_t, Job*> by_rank_;
  Order by_movable_;
  Counts deficits_;
  std::set<std::pair<Time, std::uint64_t>> by_queued_since_;  // not overdue
  std::set<std::uint64_t> overdue_;
};

}  // namespace reveza::scheduler
