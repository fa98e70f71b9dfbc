#include "scheduler/host.h"

#include <algorithm>

namespace reveza::scheduler {
namespace {

// What a client has of swappable memory, what is given or approved included: the books show that
// only later.
Bytes Held(const Books& books, const Client& client, GpuId gpu) {
  const auto entry = client.gpus.find(gpu);
  if (client.resident_only || entry == client.gpus.end()) return 0;
  const Bytes claim = Books::Claim(client, gpu);
  const Bytes fixed = books.Fixed(client, gpu);
  return std::max(entry->second.books.Swappable(), claim > fixed ? claim - fixed : 0) +
         books.ApprovedSwappable(client, gpu);
}

// The jobs' claims with one more wish. `rounded`: each may be a granule larger than what is known
// of it, because requests are rounded up.
class Claims {
 public:
  Claims(const Books& books, const Extra& extra, bool rounded = true)
      : books_(books), extra_(extra), rounded_(rounded) {
    for (const auto& [gpu, card] : books.gpus) {
      Bytes sum = 0;
      for (const auto& [job_id, job] : books.jobs) {
        for (const auto& [id, client] : job.clients) sum += Claim(client, gpu);
      }
      overflow_[gpu] = sum > card.Limit() ? sum - card.Limit() : 0;
    }
  }

  Bytes Swappable(const Client& client, GpuId gpu) const {
    const auto entry = client.gpus.find(gpu);
    if (client.resident_only || entry == client.gpus.end()) return 0;
    const Bytes asked = IsExtra(client, gpu) ? extra_.swappable : 0;
    const Bytes most = std::max(entry->second.cleared, Held(books_, client, gpu) + asked);
    return most + (rounded_ && most > 0 ? books_.gpus.at(gpu).config.granule : 0);
  }

  Bytes Swappable(const Client& client) const {
    Bytes sum = 0;
    for (const auto& [gpu, holding] : client.gpus) sum += Swappable(client, gpu);
    return sum;
  }

  // Its part of what is elsewhere; pieces move whole.
  Bytes Share(const Client& client) const {
    Bytes sum = 0;
    for (const auto& [gpu, holding] : client.gpus) {
      const auto entry = overflow_.find(gpu);
      if (entry == overflow_.end() || entry->second == 0) continue;
      const Bytes granule = std::max<Bytes>(books_.gpus.at(gpu).config.granule, 1);
      sum += std::min(Swappable(client, gpu), RoundUp(entry->second, granule));
    }
    return sum;
  }

 private:
  bool IsExtra(const Client& client, GpuId gpu) const {
    return client.id == extra_.client && gpu == extra_.gpu;
  }

  Bytes Claim(const Client& client, GpuId gpu) const {
    return books_.Fixed(client, gpu) + books_.ApprovedFixed(client, gpu) + Swappable(client, gpu) +
           (IsExtra(client, gpu) ? extra_.fixed : 0);
  }

  const Books& books_;
  const Extra& extra_;
  const bool rounded_;
  std::map<GpuId, Bytes> overflow_;
};

bool Rotation(const Books& books, const Claims& claims) {
  Bytes sum = 0;
  for (const auto& [job_id, job] : books.jobs) {
    for (const auto& [id, client] : job.clients) {
      sum += std::max(claims.Share(client), Books::HostReserved(client));
    }
  }
  return sum <= books.config.host_budget;
}

bool IsEldest(const Books& books, const Job& job) {
  return std::none_of(books.jobs.begin(), books.jobs.end(),
                      [&](const auto& other) { return other.second.joined < job.joined; });
}

bool Succession(const Books& books, const Claims& claims) {
  Bytes sum = 0;
  for (const auto& [job_id, job] : books.jobs) {
    const bool eldest = IsEldest(books, job);
    for (const auto& [id, client] : job.clients) {
      const Bytes reserved = Books::HostReserved(client);
      sum += eldest ? reserved : std::max(claims.Swappable(client), reserved);
    }
  }
  return sum <= books.config.host_budget;
}

// All that all have takes no more than half of what there is.
bool Ample(const Books& books) {
  Bytes sum = 0;
  for (const auto& [job_id, job] : books.jobs) {
    for (const auto& [id, client] : job.clients) {
      sum += std::max(client.Swappable(), Books::HostReserved(client));
    }
  }
  return sum <= books.config.host_budget / 2;
}

bool AnElderStillGrows(Books& books, const Job& asking) {
  bool grows = false;
  for (const auto& [id, job] : books.jobs) {
    if (job.joined >= asking.joined || !job.peak_raised) continue;
    if (!books.Reached(*job.peak_raised + books.config.growth_settles)) grows = true;
  }
  return grows;
}

}  // namespace

bool HostAllows(Books& books, const Extra& extra) {
  const Client& client = *books.Find(extra.client);
  const Claims claims(books, extra);
  if (Succession(books, claims)) return true;
  const auto holding = client.gpus.find(extra.gpu);
  // What it had before is its own. Requests are rounded up to granules.
  if (extra.fixed == 0 && holding != client.gpus.end() &&
      Held(books, client, extra.gpu) + extra.swappable <=
          holding->second.cleared + books.gpus.at(extra.gpu).config.granule) {
    return true;
  }
  return Rotation(books, claims) && !AnElderStillGrows(books, books.jobs.at(client.job));
}

bool AllHaveSettled(Books& books) {
  return std::all_of(books.jobs.begin(), books.jobs.end(), [&](const auto& entry) {
    const std::optional<Time>& raised = entry.second.peak_raised;
    return !raised || books.Reached(*raised + books.config.growth_settles);
  });
}

Bytes HostShare(const Books& books, const Client& client) {
  if (Ample(books)) return client.resident_only ? 0 : client.Swappable();
  if (KeepsItsPlace(books, books.jobs.at(client.job))) return 0;
  return Claims(books, Extra{}, /*rounded=*/false).Share(client);
}

bool KeepsItsPlace(const Books& books, const Job& job) {
  return IsEldest(books, job) && !Rotation(books, Claims(books, Extra{}));
}

void NotePeak(Books& books, GpuId gpu, Client& client, Bytes swappable) {
  Holding& holding = client.gpus.at(gpu);
  if (swappable <= holding.peak) return;
  holding.peak = swappable;
  if (swappable > holding.cleared + books.gpus.at(gpu).config.granule) holding.cleared = swappable;
  Job& job = books.jobs.at(client.job);
  job.peak_raised = books.now;
  job.ran_at_peak = job.Ran(books.now);
}

}  // namespace reveza::scheduler
