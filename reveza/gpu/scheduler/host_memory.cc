#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// Returns a client's swappable memory, including granted and approved growth that its footprint
// does not show yet.
Bytes Held(const Ledger& ledger, const Client& client, GpuId gpu) {
  if (client.resident_only) return 0;
  // The peak has what the client may allocate already.
  const Bytes claim = Ledger::Claim(client, gpu) - client.On(gpu).permitted;
  const Bytes fixed = ledger.Fixed(client, gpu);
  return std::max(client.On(gpu).footprint.Swappable(), claim > fixed ? claim - fixed : 0) +
         ledger.ApprovedSwappable(client, gpu);
}

// The claims of all jobs plus one request. `rounded`: adds a granule per client and GPU, because
// requests are rounded up.
class Claims {
 public:
  Claims(const Ledger& ledger, const ExtraMemory& extra, bool rounded = true)
      : ledger_(ledger), extra_(extra), rounded_(rounded) {
    for (const auto& [gpu, card] : ledger.gpus) {
      const Bytes sum =
          ledger.SumOverClients([&](const Client& client) { return Claim(client, gpu); });
      overflow_[gpu] = sum > card.Limit() ? sum - card.Limit() : 0;
    }
  }

  Bytes Swappable(const Client& client, GpuId gpu) const {
    if (client.resident_only || !client.gpus.contains(gpu)) return 0;
    const Bytes asked = IsExtra(client, gpu) ? extra_.swappable : 0;
    const Bytes max_bytes =
        std::max(client.On(gpu).approved_peak, Held(ledger_, client, gpu) + asked);
    return max_bytes + (rounded_ && max_bytes > 0 ? ledger_.gpus.at(gpu).config.granule : 0);
  }

  Bytes Swappable(const Client& client) const {
    Bytes sum = 0;
    for (const auto& [gpu, holding] : client.gpus) sum += Swappable(client, gpu);
    return sum;
  }

  // Returns the client's part of the overflow, in whole pieces.
  Bytes Share(const Client& client) const {
    Bytes sum = 0;
    for (const auto& [gpu, holding] : client.gpus) {
      const auto entry = overflow_.find(gpu);
      if (entry == overflow_.end() || entry->second == 0) continue;
      const Bytes granule = ledger_.gpus.at(gpu).Granule();
      sum += std::min(Swappable(client, gpu), RoundUp(entry->second, granule));
    }
    return sum;
  }

 private:
  bool IsExtra(const Client& client, GpuId gpu) const {
    return client.id == extra_.client && gpu == extra_.gpu;
  }

  Bytes Claim(const Client& client, GpuId gpu) const {
    return ledger_.Fixed(client, gpu) + ledger_.ApprovedFixed(client, gpu) +
           Swappable(client, gpu) + (IsExtra(client, gpu) ? extra_.fixed : 0);
  }

  const Ledger& ledger_;
  const ExtraMemory extra_;
  const bool rounded_;
  FlatMap<GpuId, Bytes> overflow_;
};

bool RotationIsSafe(const Ledger& ledger, const Claims& claims) {
  return ledger.SumOverClients([&](const Client& client) {
    return std::max(claims.Share(client), Ledger::HostReserved(client));
  }) <= ledger.HostBudget();
}

bool IsOldest(const Ledger& ledger, const Job& job) {
  return std::ranges::none_of(ledger.jobs,
                              [&](const auto& other) { return other.second.joined < job.joined; });
}

bool SuccessionIsSafe(const Ledger& ledger, const Claims& claims) {
  return ledger.SumOverClients([&](const Client& client) {
    const Bytes reserved = Ledger::HostReserved(client);
    return IsOldest(ledger, ledger.jobs.at(client.job))
               ? reserved
               : std::max(claims.Swappable(client), reserved);
  }) <= ledger.HostBudget();
}

// Returns whether all swappable memory, with what may be allocated, takes at most half of the host
// budget.
bool HostMemoryIsAmple(const Ledger& ledger) {
  return ledger.SumOverClients([](const Client& client) {
    const Bytes permitted =
        SumOver(client.gpus, [](const Holding& holding) { return holding.permitted; });
    return std::max(client.Swappable() + permitted, Ledger::HostReserved(client));
  }) <= ledger.HostBudget() / 2;
}

bool OlderJobStillGrows(Ledger& ledger, const Job& asking) {
  bool grows = false;
  for (const auto& [id, job] : ledger.jobs) {
    if (job.joined >= asking.joined || !job.peak_raised_at) continue;
    if (!ledger.Reached(*job.peak_raised_at + ledger.config.growth_settle_time)) grows = true;
  }
  return grows;
}

}  // namespace

Bytes HostBound(const Ledger& ledger, const Job& job) {
  Bytes bound = 0;
  for (const auto& [id, client] : job.clients) {
    Bytes swappable = 0;
    for (const auto& [gpu, holding] : client.gpus) {
      const Bytes claim = std::max(holding.approved_peak, Ledger::Claim(client, gpu));
      swappable += claim + ledger.gpus.at(gpu).Granule();
    }
    if (client.growths > 0) {
      for (const PendingGrowth& growth : ledger.growths) {
        if (growth.client == id) swappable += growth.bytes + ledger.gpus.at(growth.gpu).Granule();
      }
    }
    if (client.context_requests > 0) {
      for (const PendingContext& context : ledger.contexts) {
        if (context.client == id) swappable += ledger.ContextEstimate(ledger.gpus.at(context.gpu));
      }
    }
    const Bytes copies = std::max(RoundUp(swappable, kArenaStep), Ledger::HostCopies(client));
    // Twice: what may be needed is then at most half of the budget, which is ample.
    bound += 2 * (copies + client.Unswappable()) + client.on_host;
  }
  return bound;
}

bool FitsHostBudget(Ledger& ledger, const ExtraMemory& extra) {
  if (ledger.ample_host) return true;
  const Client& client = *ledger.Find(extra.client);
  const Claims claims(ledger, extra);
  if (SuccessionIsSafe(ledger, claims)) return true;
  const auto holding = client.gpus.find(extra.gpu);
  // A client may reallocate what it had before. Requests are rounded up to granules.
  if (extra.fixed == 0 && holding != client.gpus.end() &&
      Held(ledger, client, extra.gpu) + extra.swappable <=
          holding->second.approved_peak + ledger.gpus.at(extra.gpu).config.granule) {
    return true;
  }
  return RotationIsSafe(ledger, claims) && !OlderJobStillGrows(ledger, ledger.jobs.at(client.job));
}

bool AllFootprintsSettled(Ledger& ledger) {
  return std::ranges::all_of(ledger.jobs, [&](const auto& entry) {
    const std::optional<Time>& raised = entry.second.peak_raised_at;
    return !raised || ledger.Reached(*raised + ledger.config.growth_settle_time);
  });
}

FlatMap<ClientId, Bytes> HostShares(const Ledger& ledger) {
  const bool ample = HostMemoryIsAmple(ledger);
  const Claims claims(ledger, ExtraMemory{}, /*rounded=*/false);
  FlatMap<ClientId, Bytes> shares;
  for (const auto& [job_id, job] : ledger.jobs) {
    const bool exempt = !ample && ExemptFromEviction(ledger, job);
    for (const auto& [id, client] : job.clients) {
      const Bytes share = ample ? client.Swappable() : claims.Share(client);
      shares[id] = exempt || client.resident_only ? 0 : share;
    }
  }
  return shares;
}

bool ExemptFromEviction(const Ledger& ledger, const Job& job) {
  return !ledger.ample_host && IsOldest(ledger, job) && !ledger.RotationIsSafe([&] {
    return RotationIsSafe(ledger, Claims(ledger, ExtraMemory{}));
  });
}

void UpdatePeak(Ledger& ledger, GpuId gpu, Client& client, Bytes swappable) {
  Holding& holding = client.gpus.at(gpu);
  if (swappable <= holding.peak) return;
  holding.peak = swappable;
  if (swappable > holding.approved_peak + ledger.gpus.at(gpu).config.granule)
    holding.approved_peak = swappable;
  Job& job = ledger.jobs.at(client.job);
  job.peak_raised_at = ledger.now;
  job.ran_at_peak = job.Ran(ledger.now);
}

}  // namespace reveza::scheduler
