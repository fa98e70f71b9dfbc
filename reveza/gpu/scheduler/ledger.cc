#include "reveza/gpu/scheduler/ledger.h"

#include <algorithm>
#include <utility>

namespace reveza::scheduler {

Client* Ledger::Find(ClientId id) {
  const auto job = job_of.find(id);
  if (job == job_of.end()) return nullptr;
  return &jobs.at(job->second).clients.at(id);
}

Holding* Ledger::Find(ClientId id, GpuId gpu) {
  Client* client = Find(id);
  if (client == nullptr) return nullptr;
  const auto holding = client->gpus.find(gpu);
  return holding == client->gpus.end() ? nullptr : &holding->second;
}

void Ledger::Add(const PendingGrowth& growth) {
  growths.push_back(growth);
  ++Find(growth.client)->growths;
}

void Ledger::Add(const PendingContext& context) {
  contexts.push_back(context);
  ++Find(context.client)->context_requests;
}

std::list<PendingGrowth>::iterator Ledger::Erase(std::list<PendingGrowth>::iterator growth) {
  --Find(growth->client)->growths;
  return growths.erase(growth);
}

std::list<PendingContext>::iterator Ledger::Erase(std::list<PendingContext>::iterator context) {
  --Find(context->client)->context_requests;
  return contexts.erase(context);
}

Bytes Ledger::Claim(const Client& client, GpuId gpu) {
  const Holding& holding = client.On(gpu);
  // Credit above the need is growth that the footprint will show soon.
  return std::max(holding.footprint.Need() + holding.context_credit, holding.credit) +
         holding.permitted;
}

bool Ledger::KeepsContexts(const Job& job) const {
  if (job.policy.request == 0 || job.policy.paused) return false;
  return std::ranges::any_of(job.uses,
                             [&](GpuId gpu) { return Unmovable(job, gpu) <= job.policy.request; });
}

bool Ledger::HasMovableContexts(const Client& client) const {
  // What it waits for is answered first: its contexts would stay until then.
  if (client.growths > 0) return false;
  if (client.Unswappable() > 0 && client.context_requests > 0) return false;
  return client.movable_contexts && config.release_contexts_after > Time(0) &&
         !client.resident_only && !client.unresponsive && !KeepsContexts(jobs.at(client.job)) &&
         (client.contexts == Contexts::kHere || client.contexts == Contexts::kLeaving) &&
         std::ranges::none_of(client.gpus,
                              [](const auto& entry) { return entry.second.creating_context; });
}

Bytes Ledger::Fixed(const Client& client, GpuId gpu) const {
  if (client.resident_only) return Claim(client, gpu);
  const Holding& holding = client.On(gpu);
  if (client.unresponsive) return holding.credit;
  if (client.contexts == Contexts::kAway) return 0;
  if (client.movable_contexts) {
    const auto card = gpus.find(gpu);
    if (card != gpus.end() && card->second.crowded && HasMovableContexts(client)) return 0;
  }
  return holding.footprint.Fixed() + holding.context_credit + holding.pinned_in_flight;
}

Bytes Ledger::Unmovable(const Job& job, GpuId gpu) {
  return SumOver(job.clients, [&](const Client& client) {
    const Holding& on = client.On(gpu);
    return on.footprint.Fixed() + on.context_credit + on.pinned_in_flight;
  });
}

Bytes Ledger::Reserved(const Job& job, GpuId gpu) const {
  if (!job.Uses(gpu)) return 0;
  const Bytes fixed = SumOver(job.clients, [&](const Client& client) {
    return Fixed(client, gpu) + ApprovedFixed(client, gpu);
  });
  return std::max({fixed, KeepsContexts(job) ? Unmovable(job, gpu) : 0, job.policy.request});
}

Bytes Ledger::Claim(const Job& job, GpuId gpu) const {
  return SumOver(job.clients, [&](const Client& client) { return Claim(client, gpu); });
}

Bytes Ledger::Fixed(const Job& job, GpuId gpu) const {
  const Bytes fixed = SumOver(job.clients, [&](const Client& one) { return Fixed(one, gpu); });
  if (job.policy.paused || job.policy.request == 0) return fixed;
  return std::max(fixed, std::min(Claim(job, gpu), job.policy.request));
}

Bytes Ledger::Committed(const Job& job, GpuId gpu) const {
  return Claim(job, gpu) + SumOver(job.clients, [&](const Client& client) {
           return ApprovedSwappable(client, gpu) + ApprovedFixed(client, gpu);
         });
}

Bytes Ledger::Limit(const Job& job, GpuId gpu) const {
  if (!job.account) return job.policy.limit;
  const Bytes quota = quotas.at(*job.account).limit;
  if (quota == Quota{}.limit) return job.policy.limit;
  const Bytes taken = SumOverAccount(job, [&](const Job& other) { return Committed(other, gpu); });
  return std::min(job.policy.limit, quota - std::min(quota, taken));
}

Bytes Ledger::FixedOfOthers(JobId job, GpuId gpu) const {
  const auto own = jobs.find(job);
  return ReservedOfAll(gpu) - (own == jobs.end() ? 0 : Reserved(own->second, gpu));
}

Bytes Ledger::MaxRequest(JobId job, GpuId gpu) const {
  const Bytes limit = gpus.at(gpu).Limit();
  const Bytes max_request = limit - std::min(limit, FixedOfOthers(job, gpu));
  const auto own = jobs.find(job);
  if (own == jobs.end() || !own->second.account) return max_request;
  const Bytes quota = quotas.at(*own->second.account).limit;
  if (quota == Quota{}.limit) return max_request;
  const Bytes taken =
      SumOverAccount(own->second, [&](const Job& other) { return Reserved(other, gpu); });
  return std::min(max_request, quota - std::min(quota, taken));
}

Bytes Ledger::MaxRequestBesideClaims(const Job& job, GpuId gpu) const {
  const Frozen frozen(*this);
  const Bytes limit = gpus.at(gpu).Limit();
  Bytes most = MaxRequest(job.id, gpu);
  ForEachJobOn(gpu, [&](const Job& other) {
    const Bytes claim = std::max(EntryNeed(other, gpu), other.policy.request);
    // One that is larger could not run on an empty GPU either.
    if (other.id == job.id || claim > limit) return;
    const Bytes taken = claim + FixedOfOthers(other.id, gpu) - Reserved(job, gpu);
    most = std::min(most, limit - std::min(limit, taken));
  });
  return most;
}

Bytes Ledger::ApprovedSwappable(const Client& client, GpuId gpu) const {
  if (client.growths == 0) return 0;
  Bytes sum = 0;
  for (const PendingGrowth& growth : growths) {
    if (!growth.approved || growth.client != client.id || growth.gpu != gpu) continue;
    if (growth.kind == GrowthKind::kSwappable && !client.resident_only) sum += growth.bytes;
  }
  return sum;
}

Bytes Ledger::ApprovedFixed(const Client& client, GpuId gpu) const {
  Bytes sum = 0;
  for (const PendingGrowth& growth : growths) {
    if (client.growths == 0) break;
    if (!growth.approved || growth.client != client.id || growth.gpu != gpu) continue;
    if (growth.kind == GrowthKind::kPinned || client.resident_only) sum += growth.bytes;
  }
  const auto card = gpus.find(gpu);
  const bool context = client.context_requests > 0 && card != gpus.end() &&
                       card->second.approved_context == client.id;
  return sum + (context ? ContextEstimate(card->second) : 0);
}

Bytes Ledger::EntryNeed(const Job& job, GpuId gpu) const {
  Bytes sum = Claim(job, gpu);
  if (job.Growths() == 0) return sum;
  for (const PendingGrowth& growth : growths) {
    if (growth.job == job.id && growth.gpu == gpu && CountsOnEntry(growth)) sum += growth.bytes;
  }
  return sum;
}

Bytes Ledger::GrowthOnEntry(const Job& job, GpuId gpu) const {
  if (job.Growths() == 0) return 0;
  Bytes sum = 0;
  for (const PendingGrowth& growth : growths) {
    if (growth.job != job.id || growth.gpu != gpu || growth.approved) continue;
    if (CountsOnEntry(growth)) sum += growth.bytes;
  }
  return sum;
}

bool Ledger::CountsOnEntry(const PendingGrowth& growth) const {
  if (growth.approved) return true;
  const Job& job = jobs.at(growth.job);
  // Not while a turn continues after a failed drain.
  return job.phase != Phase::kRunning && !job.in_turn && growth.kind == GrowthKind::kPinned &&
         !growth.Blocked();
}

Bytes Ledger::PendingOfSameJob(const PendingGrowth& growth) const {
  Bytes sum = 0;
  bool earlier = true;
  for (const PendingGrowth& other : growths) {
    if (&other == &growth) {
      earlier = false;
    } else if (other.job == growth.job && other.gpu == growth.gpu) {
      sum += other.approved || (earlier && CountsOnEntry(other)) ? other.bytes : 0;
    }
  }
  return sum;
}

Bytes Ledger::RequiredAlone(const PendingGrowth& growth) const {
  return Claim(jobs.at(growth.job), growth.gpu) + PendingOfSameJob(growth) + growth.bytes +
         FixedOfOthers(growth.job, growth.gpu);
}

Bytes Ledger::Need(const Job& job, GpuId gpu) const {
  return SumOver(job.clients, [&](const Client& one) { return one.On(gpu).footprint.Need(); });
}

Bytes Ledger::ContextEstimate(const Gpu& gpu) const {
  if (gpu.largest_context > 0) return gpu.largest_context;
  return std::min(config.context_estimate, gpu.config.budget / 8);
}

bool Ledger::WantsToRun(const Job& job) const {
  if (job.policy.paused) return false;
  for (const auto& [id, client] : job.clients) {
    if (client.wants_gate) return true;
  }
  return (job.Growths() > 0 && std::ranges::any_of(growths,
                                                   [&](const PendingGrowth& growth) {
                                                     return growth.job == job.id &&
                                                            growth.kind == GrowthKind::kPinned &&
                                                            !growth.Blocked();
                                                   })) ||
         (job.ContextRequests() > 0 &&
          std::ranges::any_of(contexts, [&](const PendingContext& context) {
            return context.job == job.id && AwaitsOwnContexts(context);
          }));
}

bool Ledger::LeavesCard(const Client& client) {
  return client.contexts == Contexts::kLeaving && !client.unresponsive;
}

Bytes Ledger::Deficit(const Client& client, GpuId gpu) {
  const Holding& holding = client.On(gpu);
  const Bytes need = holding.footprint.Need() + holding.context_credit;
  // Contexts that are leaving take the credit along.
  const Bytes credit = LeavesCard(client) ? 0 : holding.credit;
  return need > credit ? need - credit : 0;
}

Bytes Ledger::Deficit(const Job& job, GpuId gpu) const {
  return SumOver(job.clients, [&](const Client& client) { return Deficit(client, gpu); });
}

bool Ledger::FullyResident(const Client& client) {
  if (client.contexts != Contexts::kHere) return false;
  for (const auto& [gpu, holding] : client.gpus) {
    if (holding.footprint.swapped > 0 || holding.evict_serial != 0) return false;
    if (holding.credit < holding.footprint.Need()) return false;
  }
  return true;
}

bool Ledger::MayOpen(const Job& job) const {
  return std::ranges::all_of(job.clients,
                             [&](const auto& entry) {
                               return FullyResident(entry.second) &&
                                      !(job.clients.size() > 1 && entry.second.MayAllocate());
                             }) &&
         std::ranges::all_of(job.uses, [&](GpuId gpu) {
           const Bytes growth = GrowthOnEntry(job, gpu);
           return growth == 0 || static_cast<std::int64_t>(growth) <= Free(gpu);
         });
}

Bytes Ledger::Evictable(const Client& client, GpuId gpu) const {
  if (client.resident_only || client.unresponsive || client.contexts != Contexts::kHere) return 0;
  const Holding& holding = client.On(gpu);
  const Bytes fixed = holding.footprint.Fixed() + holding.context_credit + holding.pinned_in_flight;
  return holding.credit > fixed ? holding.credit - fixed : 0;
}

Bytes Ledger::EvictableOf(const Job& job, GpuId gpu) {
  Bytes on_gpu = 0;
  for (const auto& [id, client] : job.clients) {
    const Holding& holding = client.On(gpu);
    on_gpu += holding.credit - std::min(holding.credit, holding.evict_left);
  }
  const Bytes kept = job.policy.paused ? 0 : job.policy.request;
  return on_gpu - std::min(on_gpu, kept);
}

Bytes Ledger::EvictableNow(const Job& job, GpuId gpu) const {
  const Bytes all = SumOver(job.clients, [&](const Client& client) {
    const Bytes evictable = Evictable(client, gpu);
    return evictable - std::min(evictable, client.On(gpu).evict_left);
  });
  return std::min(all, EvictableOf(job, gpu));
}

Bytes Ledger::HostBudget() const {
  const Bytes at_its_place = Remembered(&Memo::on_host, [&] {
    return SumOverClients([](const Client& client) { return client.on_host; });
  });
  return config.host_budget - std::min(config.host_budget, at_its_place);
}

Bytes Ledger::HostCopies(const Client& client) {
  return std::max({client.host_reserved, client.arena, client.arena_requested});
}

Bytes Ledger::HostReserved(const Client& client) {
  return HostCopies(client) + (client.contexts == Contexts::kHere ? 0 : client.Unswappable());
}

Bytes Ledger::HostReserved() const {
  return Remembered(&Memo::host_reserved, [&] {
    return SumOverClients([](const Client& client) { return HostReserved(client); });
  });
}

Bytes Ledger::EvictableWithin(const Client& client, Bytes bytes, Bytes already, Bytes granule,
                              Bytes& host_free) {
  const Bytes max_bytes = client.Backed();
  const Bytes swapped = std::min(client.Swapped() + already, max_bytes);
  const Bytes reserved = HostCopies(client);
  const Bytes target = std::min(swapped + bytes, max_bytes);
  const Bytes ceiling = reserved + host_free;
  if (target <= ceiling) {
    host_free -= target > reserved ? target - reserved : 0;
    return bytes;
  }
  if (swapped >= ceiling) return 0;
  // Whole pieces: a client that is asked for part of a piece moves all of it.
  const Bytes part = (ceiling - swapped) / granule * granule;
  host_free -= std::min(host_free, swapped + part > reserved ? swapped + part - reserved : 0);
  return part;
}

void Ledger::WakeAt(Time time) {
  if (time > now && (!wake || time < *wake)) wake = time;
}

void Ledger::DueAt(Time time) {
  if (time > now && (!due || time < *due)) due = time;
}

bool Ledger::Reached(Time time) {
  if (time <= now) return true;
  WakeAt(time);
  return false;
}

}  // namespace reveza::scheduler
