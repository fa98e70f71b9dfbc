// Sums over the jobs of a GPU, and the order in which jobs are evicted.
#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "reveza/gpu/scheduler/ledger.h"

namespace reveza::scheduler {

Ledger::Frozen::Frozen(const Ledger& ledger)
    : ledger_(ledger), is_outermost_(!ledger.memo_.has_value()) {
  if (is_outermost_) {
    ledger.Forget();
  } else {
    ++ledger.freeze_of_orders_;
  }
}

Ledger::Frozen::~Frozen() {
  if (!is_outermost_) return;
  [[maybe_unused]] const std::optional<Memo> memo = std::exchange(ledger_.memo_, std::nullopt);
  assert(ledger_.Confirms(*memo));
}

bool Ledger::Confirms(const Memo& memo) const {
  return std::ranges::all_of(gpus,
                             [&](const auto& entry) {
                               const GpuId gpu = entry.first;
                               const GpuSums& sums = entry.second.sums;
                               const auto right = [&](const Known<Bytes>& known, Bytes sum) {
                                 return known.freeze != freeze_ || known.value == sum;
                               };
                               return right(sums.fixed, FixedOfAll(gpu)) &&
                                      right(sums.reserved, ReservedOfAll(gpu)) &&
                                      right(sums.credit, OutstandingCredit(gpu)) &&
                                      right(sums.evictions, PendingEvictions(gpu)) &&
                                      right(sums.evictable, EvictableOfAll(gpu));
                             }) &&
         memo.host_reserved.value_or(HostReserved()) == HostReserved();
}

const std::vector<Job*>& Ledger::EvictionOrder(GpuId gpu) {
  Gpu& card = gpus.at(gpu);
  Known<std::vector<Job*>>& order = card.sums.eviction_order;
  if (memo_ && order.freeze == freeze_of_orders_) return order.value;
  const auto key = [](const Job& job) {
    const bool waits = job.waiting_since.has_value();
    // Idle jobs by last turn, oldest first; then waiting jobs, shortest wait first.
    const Time::rep age = waits ? -job.waiting_since->count() : job.turn_start.count();
    return std::make_tuple(job.policy.interactive, waits && !job.queued, job.policy.priority, age);
  };
  order.freeze = memo_ ? freeze_of_orders_ : 0;
  order.value = SortedBy(card.jobs, key, [](const Job&) { return true; });
  return order.value;
}

const std::vector<Job*>& Ledger::EvictionCandidates(GpuId gpu) {
  Known<std::vector<Job*>>& found = gpus.at(gpu).sums.eviction_candidates;
  if (memo_ && found.freeze == freeze_of_orders_) return found.value;
  found.freeze = memo_ ? freeze_of_orders_ : 0;
  found.value.clear();
  std::ranges::copy_if(EvictionOrder(gpu), std::back_inserter(found.value), [&](const Job* job) {
    return std::ranges::any_of(job->clients,
                               [&](const auto& entry) { return Evictable(entry.second, gpu) > 0; });
  });
  return found.value;
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
  return Memoized(&GpuSums::fixed, gpu, [&] {
    const Gpu& card = gpus.at(gpu);
    return card.parked.fixed() + SumOver(card.jobs, [&](const Job& job) {
             return memo_ ? ShareOf(job, gpu).fixed : Fixed(job, gpu);
           });
  });
}

Bytes Ledger::ReservedOfAll(GpuId gpu) const {
  return Memoized(&GpuSums::reserved, gpu, [&] {
    const Gpu& card = gpus.at(gpu);
    return card.parked.reserved() +
           SumOver(card.jobs, [&](const Job& job) { return Reserved(job, gpu); });
  });
}

JobShare Ledger::ComputeShare(const Job& job, GpuId gpu) const {
  const Bytes fixed = Fixed(job, gpu);
  return {.gpu = gpu,
          .fixed = fixed,
          .movable = EntryNeed(job, gpu) - fixed,
          .deficit = Deficit(job, gpu),
          .evictable = EvictableNow(job, gpu)};
}

const JobShare& Ledger::ShareOf(const Job& job, GpuId gpu) const {
  if (job.share.freeze != freeze_ || job.share.value.gpu != gpu) {
    job.share = {freeze_, ComputeShare(job, gpu)};
  }
  assert(job.share.value == ComputeShare(job, gpu));
  return job.share.value;
}

Bytes Ledger::Demand(GpuId gpu, const JobSet& active) const {
  Bytes sum = FixedOfAll(gpu);
  ForEachOf(active, gpu, [&](const Job& job) { sum += Movable(job, gpu); });
  return sum + ApprovedContext(gpu);
}

Bytes Ledger::DemandOfAll(GpuId gpu) const {
  const Gpu& card = gpus.at(gpu);
  return card.parked.fixed() + card.parked.movable() +
         SumOver(card.jobs, [&](const Job& job) { return EntryNeed(job, gpu); }) +
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
    return FixedOfAll(gpu) + Movable(job, gpu) + ApprovedContext(gpu) <= gpus.at(gpu).Limit();
  });
}

Bytes Ledger::OutstandingCredit(GpuId gpu) const {
  return Memoized(&GpuSums::credit, gpu, [&] {
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

Bytes Ledger::EvictableOfAll(GpuId gpu) const {
  return Memoized(&GpuSums::evictable, gpu, [&]() -> Bytes {
    const std::vector<Job*>& here = gpus.at(gpu).jobs;
    if (std::ranges::any_of(here, [&](const Job* job) { return job->evictable_at > now; }))
      return 0;
    return SumOver(here, [&](const Job& job) {
      return memo_ ? ShareOf(job, gpu).evictable : EvictableNow(job, gpu);
    });
  });
}

Bytes Ledger::PendingEvictions(GpuId gpu) const {
  return Memoized(&GpuSums::evictions, gpu, [&] {
    return SumOver(gpus.at(gpu).jobs, [&](const Job& job) {
      return SumOver(job.clients, [&](const Client& client) {
        const Holding& holding = client.On(gpu);
        return holding.evict_left + (LeavesCard(client) ? holding.footprint.Fixed() : 0);
      });
    });
  });
}

}  // namespace reveza::scheduler
