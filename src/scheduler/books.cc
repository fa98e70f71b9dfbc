#include "scheduler/books.h"

#include <algorithm>

namespace reveza::scheduler {

bool Client::Evicting() const {
  return std::any_of(gpus.begin(), gpus.end(),
                     [](const auto& entry) { return entry.second.evict_serial != 0; });
}

Bytes Client::Swappable() const {
  Bytes sum = 0;
  for (const auto& [gpu, holding] : gpus) sum += holding.books.Swappable();
  return sum;
}

Bytes Client::Swapped() const {
  Bytes sum = 0;
  for (const auto& [gpu, holding] : gpus) sum += holding.books.swapped;
  return sum;
}

Bytes Client::Backed() const {
  Bytes sum = 0;
  for (const auto& [gpu, holding] : gpus) {
    const Bytes held = holding.books.resident + holding.books.Fixed();
    const Bytes filling = holding.credit > held ? holding.credit - held : 0;
    sum += std::min(holding.books.Swappable(), holding.backed + filling);
  }
  return sum;
}

bool Job::Uses(GpuId gpu) const {
  return std::any_of(clients.begin(), clients.end(),
                     [gpu](const auto& entry) { return entry.second.gpus.contains(gpu); });
}

bool Job::GateOpenSomewhere() const {
  return std::any_of(clients.begin(), clients.end(),
                     [](const auto& entry) { return entry.second.gate != Gate::kClosed; });
}

bool Job::AllIdle() const {
  return std::all_of(clients.begin(), clients.end(), [](const auto& entry) {
    return entry.second.idle || entry.second.gpus.empty();
  });
}

Client* Books::Find(ClientId id) {
  const auto job = job_of.find(id);
  if (job == job_of.end()) return nullptr;
  return &jobs.at(job->second).clients.at(id);
}

Holding* Books::Find(ClientId id, GpuId gpu) {
  Client* client = Find(id);
  if (client == nullptr) return nullptr;
  const auto holding = client->gpus.find(gpu);
  return holding == client->gpus.end() ? nullptr : &holding->second;
}

Job* Books::FindJob(JobId id) {
  const auto job = jobs.find(id);
  return job == jobs.end() ? nullptr : &job->second;
}

Bytes Books::Claim(const Client& client, GpuId gpu) {
  const auto entry = client.gpus.find(gpu);
  if (entry == client.gpus.end()) return 0;
  const Holding& holding = entry->second;
  // Credit above the need is growth that the books will show soon.
  return std::max(holding.books.Need() + holding.context_credit, holding.credit);
}

Bytes Books::Fixed(const Client& client, GpuId gpu) const {
  if (client.resident_only) return Claim(client, gpu);
  const auto entry = client.gpus.find(gpu);
  if (entry == client.gpus.end()) return 0;
  const Holding& holding = entry->second;
  return holding.books.Fixed() + holding.context_credit + holding.pinned_on_the_way;
}

Bytes Books::Claim(const Job& job, GpuId gpu) const {
  Bytes sum = 0;
  for (const auto& [id, client] : job.clients) sum += Claim(client, gpu);
  return sum;
}

Bytes Books::Fixed(const Job& job, GpuId gpu) const {
  Bytes sum = 0;
  for (const auto& [id, client] : job.clients) sum += Fixed(client, gpu);
  return sum;
}

Bytes Books::FixedOfOthers(JobId job, GpuId gpu) const {
  Bytes sum = 0;
  for (const auto& [id, other] : jobs) {
    if (id == job) continue;
    for (const auto& [client_id, client] : other.clients) {
      sum += Fixed(client, gpu) + ApprovedFixed(client, gpu);
    }
  }
  return sum;
}

Bytes Books::ApprovedSwappable(const Client& client, GpuId gpu) const {
  Bytes sum = 0;
  for (const PendingGrowth& growth : growths) {
    if (!growth.approved || growth.client != client.id || growth.gpu != gpu) continue;
    if (growth.kind == GrowthKind::kSwappable && !client.resident_only) sum += growth.bytes;
  }
  return sum;
}

Bytes Books::ApprovedFixed(const Client& client, GpuId gpu) const {
  Bytes sum = 0;
  for (const PendingGrowth& growth : growths) {
    if (!growth.approved || growth.client != client.id || growth.gpu != gpu) continue;
    if (growth.kind == GrowthKind::kPinned || client.resident_only) sum += growth.bytes;
  }
  const auto card = gpus.find(gpu);
  const bool context = card != gpus.end() && card->second.context_for == client.id;
  return sum + (context ? ContextEstimate(card->second) : 0);
}

Bytes Books::Entry(const Job& job, GpuId gpu) const {
  Bytes sum = Claim(job, gpu);
  for (const PendingGrowth& growth : growths) {
    if (growth.job == job.id && growth.gpu == gpu && ComesWithEntry(growth)) sum += growth.bytes;
  }
  return sum;
}

bool Books::ComesWithEntry(const PendingGrowth& growth) const {
  if (growth.approved) return true;
  const Job& job = jobs.at(growth.job);
  // A turn that goes on after a failed drain has not got it yet.
  return job.phase != Phase::kIn && !job.in_turn && growth.kind == GrowthKind::kPinned &&
         !growth.Blocked();
}

Bytes Books::Need(const Job& job, GpuId gpu) const {
  Bytes sum = 0;
  for (const auto& [id, client] : job.clients) {
    const auto entry = client.gpus.find(gpu);
    if (entry != client.gpus.end()) sum += entry->second.books.Need();
  }
  return sum;
}

Bytes Books::ContextEstimate(const Gpu& gpu) const {
  if (gpu.largest_context > 0) return gpu.largest_context;
  return std::min(config.context_estimate, gpu.config.budget / 8);
}

Bytes Books::Demand(GpuId gpu, const JobSet& in) const {
  Bytes sum = 0;
  for (const auto& [id, job] : jobs) sum += in.contains(id) ? Entry(job, gpu) : Fixed(job, gpu);
  const auto entry = gpus.find(gpu);
  if (entry != gpus.end() && entry->second.context_for) sum += ContextEstimate(entry->second);
  return sum;
}

bool Books::Fits(GpuId gpu, const JobSet& in) const {
  const auto entry = gpus.find(gpu);
  return entry != gpus.end() && Demand(gpu, in) <= entry->second.Limit();
}

bool Books::FitsAllGpusOf(const Job& job, const JobSet& in) const {
  return std::all_of(gpus.begin(), gpus.end(), [&](const auto& entry) {
    return !job.Uses(entry.first) || Fits(entry.first, in);
  });
}

bool Books::CanRunAlone(const Job& job) const { return FitsAllGpusOf(job, JobSet{job.id}); }

bool Books::Wants(const Job& job) const {
  for (const auto& [id, client] : job.clients) {
    if (client.wants) return true;
  }
  return std::any_of(growths.begin(), growths.end(), [&](const PendingGrowth& growth) {
    return growth.job == job.id && growth.kind == GrowthKind::kPinned && !growth.Blocked();
  });
}

Bytes Books::CreditOut(GpuId gpu) const {
  Bytes sum = 0;
  for (const auto& [id, job] : jobs) {
    for (const auto& [client_id, client] : job.clients) {
      const auto entry = client.gpus.find(gpu);
      if (entry != client.gpus.end()) sum += entry->second.credit;
    }
  }
  return sum;
}

std::int64_t Books::Free(GpuId gpu) const {
  return static_cast<std::int64_t>(gpus.at(gpu).Limit()) -
         static_cast<std::int64_t>(CreditOut(gpu));
}

Bytes Books::Returning(GpuId gpu) const {
  Bytes sum = 0;
  for (const auto& [id, job] : jobs) {
    for (const auto& [client_id, client] : job.clients) {
      const auto entry = client.gpus.find(gpu);
      if (entry != client.gpus.end()) sum += entry->second.evict_left;
    }
  }
  return sum;
}

Bytes Books::Deficit(const Client& client, GpuId gpu) const {
  const auto entry = client.gpus.find(gpu);
  if (entry == client.gpus.end()) return 0;
  const Holding& holding = entry->second;
  const Bytes need = holding.books.Need() + holding.context_credit;
  return need > holding.credit ? need - holding.credit : 0;
}

Bytes Books::Deficit(const Job& job, GpuId gpu) const {
  Bytes sum = 0;
  for (const auto& [id, client] : job.clients) sum += Deficit(client, gpu);
  return sum;
}

bool Books::Resident(const Client& client) {
  for (const auto& [gpu, holding] : client.gpus) {
    if (holding.books.swapped > 0 || holding.evict_serial != 0) return false;
    if (holding.credit < holding.books.Need()) return false;
  }
  return true;
}

Bytes Books::Evictable(const Client& client, GpuId gpu) const {
  const auto entry = client.gpus.find(gpu);
  if (entry == client.gpus.end() || client.resident_only) return 0;
  const Bytes fixed = Fixed(client, gpu);
  const Bytes credit = entry->second.credit;
  return credit > fixed ? credit - fixed : 0;
}

Bytes Books::HostReserved(const Client& client) {
  return std::max({client.host_reserved, client.arena, client.arena_asked});
}

Bytes Books::HostReserved() const {
  Bytes sum = 0;
  for (const auto& [id, job] : jobs) {
    for (const auto& [client_id, client] : job.clients) sum += HostReserved(client);
  }
  return sum;
}

Bytes Books::EvictableWithin(const Client& client, Bytes bytes, Bytes already, Bytes granule,
                             Bytes& host_free) {
  const Bytes most = client.Backed();
  const Bytes swapped = std::min(client.Swapped() + already, most);
  const Bytes reserved = HostReserved(client);
  const Bytes target = std::min(swapped + bytes, most);
  const Bytes ceiling = reserved + host_free;
  if (target <= ceiling) {
    host_free -= target > reserved ? target - reserved : 0;
    return bytes;
  }
  if (swapped >= ceiling) return 0;
  // Whole pieces: a client that is asked for part of one moves all of it.
  const Bytes part = (ceiling - swapped) / granule * granule;
  host_free -= std::min(host_free, swapped + part > reserved ? swapped + part - reserved : 0);
  return part;
}

JobSet Books::InOrEntering() const {
  JobSet set;
  for (const auto& [id, job] : jobs) {
    if (job.phase == Phase::kIn || job.phase == Phase::kEntering) set.insert(id);
  }
  return set;
}

JobSet Books::Leaving() const {
  JobSet set;
  for (const auto& [id, job] : jobs) {
    if (job.phase == Phase::kLeaving) set.insert(id);
  }
  return set;
}

void Books::WakeAt(Time time) {
  if (time > now && (!wake || time < *wake)) wake = time;
}

bool Books::Reached(Time time) {
  if (time <= now) return true;
  WakeAt(time);
  return false;
}

}  // namespace reveza::scheduler
