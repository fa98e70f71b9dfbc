// Sums over the jobs of a GPU, and the order in which jobs are evicted.
#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "reveza/gpu/scheduler/ledger.h"

namespace reveza::scheduler {

Ledger::Frozen::~Frozen() {
  const std::optional<Memo> memo = std::exchange(ledger_.memo_, std::nullopt);
  assert(ledger_.Confirms(*memo));
}

bool Ledger::Confirms(const Memo& memo) const {
  const auto all = [](const FlatMap<GpuId, Bytes>& known, auto sum) {
    return std::ranges::all_of(known,
                               [&](const auto& entry) { return entry.second == sum(entry.first); });
  };
  return all(memo.fixed, [&](GpuId gpu) { return FixedOfAll(gpu); }) &&
         all(memo.reserved, [&](GpuId gpu) { return ReservedOfAll(gpu); }) &&
         all(memo.credit, [&](GpuId gpu) { return OutstandingCredit(gpu); }) &&
         all(memo.evictions, [&](GpuId gpu) { return PendingEvictions(gpu); }) &&
         memo.host_reserved.value_or(HostReserved()) == HostReserved();
}

const std::vector<Job*>& Ledger::EvictionOrder(GpuId gpu) {
  if (memo_ && memo_->eviction_order.contains(gpu)) return memo_->eviction_order.at(gpu);
  const auto key = [](const Job& job) {
    const bool waits = job.waiting_since.has_value();
    // Idle jobs by last turn, oldest first; then waiting jobs, shortest wait first.
    const Time::rep age = waits ? -job.waiting_since->count() : job.turn_start.count();
    return std::make_tuple(job.policy.interactive, waits && !job.queued, job.policy.priority, age);
  };
  std::vector<Job*>& order = memo_ ? memo_->eviction_order[gpu] : eviction_order_;
  order = SortedBy(gpus.at(gpu).jobs, key, [](const Job&) { return true; });
  return order;
}

const std::vector<Job*>& Ledger::EvictionCandidates(GpuId gpu) {
  if (memo_ && memo_->eviction_candidates.contains(gpu)) return memo_->eviction_candidates.at(gpu);
  std::vector<Job*>& found = memo_ ? memo_->eviction_candidates[gpu] : eviction_candidates_;
  found.clear();
  std::ranges::copy_if(EvictionOrder(gpu), std::back_inserter(found), [&](const Job* job) {
    return std::ranges::any_of(job->clients,
                               [&](const auto& entry) { return Evictable(entry.second, gpu) > 0; });
  });
  return found;
}

bool Ledger::AnyContextsAway() const {
  return Remembered(&Memo::any_contexts_away, [&] {
    return std::ranges::any_of(scope.jobs, [](const Job* job) {
      return std::ranges::any_of(
          job->clients, [](const auto& entry) { return entry.second.contexts == Contexts::kAway; });
    });
  });
}

Bytes Ledger::FixedOfAll(GpuId gpu) const {
  return Memoized(&Memo::fixed, gpu, [&] {
    const Gpu& card = gpus.at(gpu);
    return card.parked.fixed() +
           SumOver(card.jobs, [&](const Job& job) { return Fixed(job, gpu); });
  });
}

Bytes Ledger::ReservedOfAll(GpuId gpu) const {
  return Memoized(&Memo::reserved, gpu, [&] {
    const Gpu& card = gpus.at(gpu);
    return card.parked.reserved() +
           SumOver(card.jobs, [&](const Job& job) { return Reserved(job, gpu); });
  });
}

Bytes Ledger::Demand(GpuId gpu, const JobSet& active) const {
  Bytes sum = FixedOfAll(gpu);
  ForEachOf(active, gpu, [&](const Job& job) { sum += EntryNeed(job, gpu) - Fixed(job, gpu); });
  return sum + ApprovedContext(gpu);
}

Bytes Ledger::DemandOfAll(GpuId gpu) const {
  const Gpu& card = gpus.at(gpu);
  return FixedOfAll(gpu) + card.parked.movable() +
         SumOver(card.jobs, [&](const Job& job) { return EntryNeed(job, gpu) - Fixed(job, gpu); }) +
         ApprovedContext(gpu);
}

Bytes Ledger::ApprovedContext(GpuId gpu) const {
  const Gpu& card = gpus.at(gpu);
  return card.approved_context ? ContextEstimate(card) : 0;
}

bool Ledger::Fits(GpuId gpu, const JobSet& active) const {
  const auto entry = gpus.find(gpu);
  return entry != gpus.end() && Demand(gpu, active) <= entry->second.Limit();
}

bool Ledger::FitsAllGpusOf(const Job& job, const JobSet& active) const {
  return std::ranges::all_of(job.uses, [&](GpuId gpu) { return Fits(gpu, active); });
}

bool Ledger::CanRunAlone(const Job& job) const {
  return std::ranges::all_of(job.uses, [&](GpuId gpu) {
    const Bytes demand =
        FixedOfAll(gpu) + EntryNeed(job, gpu) - Fixed(job, gpu) + ApprovedContext(gpu);
    return demand <= gpus.at(gpu).Limit();
  });
}

Bytes Ledger::OutstandingCredit(GpuId gpu) const {
  return Memoized(&Memo::credit, gpu, [&] {
    const Gpu& card = gpus.at(gpu);
    return card.parked.credit() + SumOver(card.jobs, [&](const Job& job) {
             return SumOver(job.clients, [&](const Client& one) { return one.On(gpu).credit; });
           });
  });
}

std::int64_t Ledger::Free(GpuId gpu) const {
  return static_cast<std::int64_t>(gpus.at(gpu).Limit()) -
         static_cast<std::int64_t>(OutstandingCredit(gpu));
}

Bytes Ledger::PendingEvictions(GpuId gpu) const {
  return Memoized(&Memo::evictions, gpu, [&] {
    return SumOver(gpus.at(gpu).jobs, [&](const Job& job) {
      return SumOver(job.clients, [&](const Client& client) {
        const Holding& holding = client.On(gpu);
        return holding.evict_left + (LeavesCard(client) ? holding.footprint.Fixed() : 0);
      });
    });
  });
}

}  // namespace reveza::scheduler
