#include "reveza/gpu/scheduler/parked.h"

#include <algorithm>

#include "reveza/gpu/scheduler/entities.h"

namespace reveza::scheduler {
namespace {

void Count(std::map<Bytes, std::size_t>& counts, Bytes size) { ++counts[size]; }

void Discount(std::map<Bytes, std::size_t>& counts, Bytes size) {
  const auto entry = counts.find(size);
  if (--entry->second == 0) counts.erase(entry);
}

}  // namespace

void ParkedJobs::Add(Job& job) {
  const ParkedShare& share = *job.parked;
  fixed_ += share.fixed;
  reserved_ += share.reserved;
  credit_ += share.credit;
  movable_ += share.Movable();
  Count(claims_, share.claim);
  if (share.may_preempt) ++may_preempt_[job.policy.priority];
  if (!share.queued) {
    Count(idle_movable_, share.Movable());
    idle_.insert(&job);
    return;
  }
  queued_claim_ += share.claim;
  queued_movable_ += share.Movable();
  by_rank_.emplace(job.rank, &job);
  by_movable_.emplace(share.Movable(), job.rank);
  Count(deficits_, share.Deficit());
  by_queued_since_.emplace(*job.queued_since, job.rank);
}

void ParkedJobs::Remove(Job& job) {
  const ParkedShare& share = *job.parked;
  fixed_ -= share.fixed;
  reserved_ -= share.reserved;
  credit_ -= share.credit;
  movable_ -= share.Movable();
  Discount(claims_, share.claim);
  if (share.may_preempt) --may_preempt_[job.policy.priority];
  if (!share.queued) {
    Discount(idle_movable_, share.Movable());
    idle_.erase(&job);
    return;
  }
  queued_claim_ -= share.claim;
  queued_movable_ -= share.Movable();
  by_rank_.erase(job.rank);
  by_movable_.erase({share.Movable(), job.rank});
  Discount(deficits_, share.Deficit());
  by_queued_since_.erase({*job.queued_since, job.rank});
  overdue_.erase(job.rank);
}

bool ParkedJobs::AnyMayPreempt(Priority lowest) const {
  return std::any_of(may_preempt_.lower_bound(lowest), may_preempt_.end(),
                     [](const auto& entry) { return entry.second > 0; });
}

std::optional<Time> ParkedJobs::MarkOverdue(Time since) {
  while (!by_queued_since_.empty() && by_queued_since_.begin()->first <= since) {
    overdue_.insert(by_queued_since_.begin()->second);
    by_queued_since_.erase(by_queued_since_.begin());
  }
  if (by_queued_since_.empty()) return std::nullopt;
  return by_queued_since_.begin()->first;
}

std::optional<std::uint64_t> ParkedJobs::NextOverdue(std::uint64_t rank) const {
  const auto next = overdue_.lower_bound(rank);
  return next == overdue_.end() ? std::nullopt : std::optional(*next);
}

}  // namespace reveza::scheduler
