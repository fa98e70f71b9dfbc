#include <algorithm>
#include <set>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

constexpr double kSlowestLink = 1e9;  // bytes/s of a swap-in that is not taken for stuck

Bytes EvictLeft(const Client& client) {
  return SumOver(client.gpus, [](const Holding& holding) { return holding.evict_left; });
}

// No less than whatever may be evicted, if the host has room for all of that.
Bytes HostFree(const Ledger& ledger) {
  if (ledger.ample_host) return ledger.config.host_budget;
  const Bytes reserved = ledger.HostReserved();
  return ledger.HostBudget() > reserved ? ledger.HostBudget() - reserved : 0;
}

// Returns the credit that the jobs in `active` and an approved context lack on a GPU.
Bytes TotalDeficit(const Ledger& ledger, GpuId gpu, const JobSet& active) {
  Bytes sum = 0;
  ledger.ForEachOf(active, gpu, [&](const Job& job) { sum += ledger.Deficit(job, gpu); });
  for (const PendingGrowth& growth : ledger.growths) {
    if (growth.gpu != gpu || !active.contains(growth.job) || !ledger.CountsOnEntry(growth))
      continue;
    sum += growth.bytes;
  }
  return sum + ledger.ApprovedContext(gpu);
}

// Returns what jobs that are entering, and are not in `active`, have been given for contexts that
// are still away. It is free as soon as they leave.
Bytes CreditOfAbsent(const Ledger& ledger, GpuId gpu, const JobSet& active) {
  if (!ledger.AnyContextsAway()) return 0;
  return SumOver(ledger.gpus.at(gpu).jobs, [&](const Job& job) {
    return SumOver(job.clients, [&](const Client& client) {
      const bool absent = client.contexts == Contexts::kAway && !active.contains(client.job);
      return absent ? client.On(gpu).credit : 0;
    });
  });
}

// Returns TotalDeficit() beyond what is free or being evicted; 0 if nothing is lacking: a GPU over
// its budget does not delay jobs that lack nothing there.
std::int64_t Shortage(const Ledger& ledger, GpuId gpu, const JobSet& active) {
  const Bytes deficit = TotalDeficit(ledger, gpu, active);
  if (deficit == 0) return 0;
  return static_cast<std::int64_t>(deficit) - ledger.Free(gpu) -
         static_cast<std::int64_t>(ledger.PendingEvictions(gpu) +
                                   CreditOfAbsent(ledger, gpu, active));
}

// Returns whether evictions of jobs that are not in `active` can cover the shortage, where the host
// has room for whatever may be evicted and no job must be spared for a while. False: not known.
bool SurelySuffice(const Ledger& ledger, GpuId gpu, const JobSet& active, std::int64_t shortage) {
  if (!ledger.ample_host) return false;
  Bytes evictable = ledger.EvictableOfAll(gpu);
  if (evictable == 0) return false;
  ledger.ForEachOf(active, gpu,
                   [&](const Job& job) { evictable -= ledger.EvictableNow(job, gpu); });
  return shortage <= static_cast<std::int64_t>(evictable);
}

struct Grant {
  Ledger& ledger;
  GpuId gpu;
  std::int64_t left;  // negative: the shortage so far

  bool Take(Bytes bytes) {
    const bool enough = left >= static_cast<std::int64_t>(bytes);
    left -= static_cast<std::int64_t>(bytes);
    return enough;
  }
};

void GrantGrowths(Grant& grant) {
  Ledger& ledger = grant.ledger;
  for (auto growth = ledger.growths.begin(); growth != ledger.growths.end();) {
    if (growth->gpu != grant.gpu || !growth->approved || !grant.Take(growth->bytes)) {
      ++growth;
      continue;
    }
    Holding& holding = *ledger.Find(growth->client, growth->gpu);
    holding.credit += growth->bytes;
    if (growth->kind == GrowthKind::kPinned) holding.pinned_in_flight += growth->bytes;
    ledger.decisions.push_back(AnswerGrowth{growth->client, growth->request, growth->gpu,
                                            Growth::kGranted, growth->bytes});
    growth = ledger.Erase(growth);
  }
}

void GrantContext(Grant& grant) {
  Gpu& card = grant.ledger.gpus.at(grant.gpu);
  if (!card.approved_context) return;
  const Bytes estimate = grant.ledger.ContextEstimate(card);
  if (grant.Take(estimate))
    AdmitContextOf(grant.ledger, grant.gpu, *card.approved_context, estimate);
}

void GiveToEntering(Grant& grant, Job& job) {
  for (auto& [id, client] : job.clients) {
    const Bytes deficit = grant.ledger.Deficit(client, grant.gpu);
    if (deficit == 0) continue;
    if (grant.left > 0 && client.contexts == Contexts::kAway) {
      Holding& holding = client.gpus.at(grant.gpu);
      const Bytes fixed = holding.footprint.Fixed();
      const Bytes lacking = fixed - std::min(fixed, holding.credit);
      if (lacking > 0) ++grant.ledger.changes;
      holding.credit += std::min<Bytes>(lacking, static_cast<Bytes>(grant.left));
    }
    if (grant.left > 0 && client.swap_in_serial != 0) {
      const Bytes give = std::min<Bytes>(deficit, static_cast<Bytes>(grant.left));
      client.gpus.at(grant.gpu).credit += give;
      grant.ledger.decisions.push_back(GiveCredit{id, grant.gpu, give});
    }
    grant.left -= static_cast<std::int64_t>(deficit);
  }
  // Granted when its gates open, in less time than an eviction takes.
  grant.left -= static_cast<std::int64_t>(grant.ledger.GrowthOnEntry(job, grant.gpu));
}

// Evicts as much of `wanted` as host memory allows. Returns how much that is.
Bytes SendEviction(Ledger& ledger, Client& client, GpuId gpu, Bytes wanted, Bytes& host_left) {
  Holding& holding = client.gpus.at(gpu);
  if (holding.evict_serial != 0) return 0;
  const Bytes bytes = Ledger::EvictableWithin(client, wanted, EvictLeft(client),
                                              ledger.gpus.at(gpu).Granule(), host_left);
  if (bytes == 0) return 0;
  client.host_reserved =
      std::max(Ledger::HostCopies(client),
               std::min(client.Swapped() + EvictLeft(client) + bytes, client.Backed()));
  client.swap_in_serial = 0;
  holding.evict_serial = ledger.NextSerial();
  holding.evict_deadline = ledger.now + ledger.config.evict_timeout;
  holding.evict_requested = holding.evict_left = bytes;
  ledger.decisions.push_back(Evict{client.id, gpu, bytes, holding.evict_serial});
  return bytes;
}

// Evicts the shortage from suspended jobs, those that run last first, and paused jobs wholly.
// Returns what is left of it.
std::int64_t SendEvictions(Ledger& ledger, GpuId gpu, std::int64_t shortage) {
  const bool any_paused = std::ranges::any_of(ledger.gpus.at(gpu).jobs,
                                              [](const Job* job) { return job->policy.paused; });
  if (shortage <= 0 && !any_paused) return shortage;
  Bytes host_free = HostFree(ledger);
  const Bytes granule = ledger.gpus.at(gpu).Granule();
  for (Job* job : ledger.EvictionOrder(gpu)) {
    const bool all = job->policy.paused;
    if (job->phase != Phase::kSuspended || (shortage <= 0 && !all)) continue;
    if (!ledger.Reached(job->evictable_at)) continue;
    Bytes none = 0;
    Bytes& host_left = ExemptFromEviction(ledger, *job) ? none : host_free;
    Bytes left = Ledger::EvictableOf(*job, gpu);
    for (auto& [id, client] : job->clients) {
      const Bytes max_bytes = std::min(ledger.Evictable(client, gpu), left);
      if (max_bytes == 0 || (shortage <= 0 && !all)) continue;
      const Bytes wanted =
          all ? max_bytes : std::min(max_bytes, RoundUp(static_cast<Bytes>(shortage), granule));
      const Bytes bytes = SendEviction(ledger, client, gpu, wanted, host_left);
      left -= std::min(left, bytes);
      shortage -= static_cast<std::int64_t>(bytes);
    }
  }
  return shortage;
}

void SendSwapIns(Ledger& ledger) {
  for (Job* job : ledger.scope.jobs) {
    if (job->phase != Phase::kEntering) continue;
    for (auto& [id, client] : job->clients) {
      if (client.swap_in_serial != 0 || client.Swapped() == 0 || client.Evicting()) continue;
      if (client.contexts != Contexts::kHere) continue;
      client.swap_in_serial = ledger.NextSerial();
      ledger.decisions.push_back(SwapIn{id, client.swap_in_serial});
    }
  }
}

std::vector<Job*> EnteringByAge(Ledger& ledger) {
  return ledger.JobsSortedBy(&Job::entered,
                             [](const Job& job) { return job.phase == Phase::kEntering; });
}

// Returns whether the answer to a SwapIn is overdue.
bool SwapInExpired(Ledger& ledger, Client& client) {
  const auto waits_for_credit = [&] {
    return std::ranges::any_of(
        client.gpus, [&](const auto& entry) { return Ledger::Deficit(client, entry.first) > 0; });
  };
  if (client.swap_in_serial == 0 || waits_for_credit()) {
    client.swap_in_deadline.reset();
    return false;
  }
  const double seconds = static_cast<double>(client.Swapped()) / kSlowestLink;
  const auto copying = std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
  if (!client.swap_in_deadline) {
    client.swap_in_deadline = ledger.now + ledger.config.evict_timeout + copying;
  }
  return ledger.Reached(*client.swap_in_deadline);
}

}  // namespace

void EvictAllOf(Ledger& ledger, Client& client) {
  const Job& job = ledger.jobs.at(client.job);
  if (!ledger.Reached(job.evictable_at) || ExemptFromEviction(ledger, job)) return;
  Bytes host_free = HostFree(ledger);
  for (const auto& [gpu, holding] : client.gpus) {
    const Bytes evictable = ledger.Evictable(client, gpu);
    if (evictable > 0) SendEviction(ledger, client, gpu, evictable, host_free);
  }
}

bool EvictionsSuffice(Ledger& ledger, const JobSet& active) {
  Bytes host_free = HostFree(ledger);
  FlatMap<ClientId, Bytes> planned;  // of clients on several GPUs, which copy to the same memory
  std::set<ClientId> leaving;        // whose contexts leave
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    std::int64_t shortage = Shortage(ledger, gpu, active);
    if (shortage <= 0 || SurelySuffice(ledger, gpu, active, shortage)) continue;
    const Bytes granule = card->Granule();
    for (Job* job : ledger.EvictionCandidates(gpu)) {
      if (shortage <= 0) break;
      if (active.contains(job->id) || !job->Uses(gpu) || !ledger.Reached(job->evictable_at))
        continue;
      Bytes none = 0;
      Bytes& host_left = ExemptFromEviction(ledger, *job) ? none : host_free;
      Bytes left = Ledger::EvictableOf(*job, gpu);
      for (const auto& [id, client] : job->clients) {
        const Bytes evictable = ledger.Evictable(client, gpu);
        const auto holding = client.gpus.find(gpu);
        if (evictable == 0 || evictable <= holding->second.evict_left || shortage <= 0) continue;
        const Bytes max_bytes = std::min(evictable - holding->second.evict_left, left);
        if (max_bytes == 0) continue;
        const Bytes wanted = std::min(max_bytes, RoundUp(static_cast<Bytes>(shortage), granule));
        const bool several = client.gpus.size() > 1;
        const Bytes already = EvictLeft(client) + (several ? planned[id] : 0);
        const Bytes bytes = Ledger::EvictableWithin(client, wanted, already, granule, host_left);
        if (several) planned[id] += bytes;
        left -= std::min(left, bytes);
        shortage -= static_cast<std::int64_t>(bytes);
      }
    }
    if (shortage <= 0) continue;
    // Contexts leave a crowded GPU only.
    if (!card->crowded) return false;
    for (const Job* job : ledger.EvictionOrder(gpu)) {
      if (shortage <= 0) break;
      if (active.contains(job->id)) continue;
      for (const auto& [id, client] : job->clients) {
        const Bytes bytes = ReleasableContexts(ledger, client, gpu);
        if (shortage <= 0 || bytes == 0) continue;
        if (!leaving.contains(id)) {
          if (host_free < client.Unswappable()) continue;
          host_free -= client.Unswappable();
          leaving.insert(id);
        }
        shortage -= static_cast<std::int64_t>(bytes);
      }
    }
    if (shortage > 0) return false;
  }
  return true;
}

bool ShortagesCanBeCovered(Ledger& ledger) {
  const std::optional<Time> wake = ledger.wake;
  const bool suffices = EvictionsSuffice(ledger, ledger.ActiveJobs());
  ledger.wake = wake;
  return suffices;
}

void ExpireOrders(Ledger& ledger) {
  for (Job* job : ledger.scope.jobs) {
    for (auto& [id, client] : job->clients) {
      for (auto& [gpu, holding] : client.gpus) {
        if (holding.permitted > 0 && ledger.Reached(holding.permitted_until)) holding.permitted = 0;
        if (holding.evict_serial == 0 || !ledger.Reached(holding.evict_deadline)) continue;
        holding.evict_serial = 0;
        holding.evict_requested = holding.evict_left = 0;
        client.unresponsive = true;
      }
      if (client.contexts_deadline && ledger.Reached(*client.contexts_deadline)) {
        client.contexts_deadline.reset();
        client.unresponsive = true;
      }
      if (SwapInExpired(ledger, client)) {
        client.swap_in_serial = 0;
        client.unresponsive = true;
      }
    }
    if (job->phase == Phase::kEntering && job->Unresponsive()) Leave(ledger, *job);
  }
}

void AbandonHopeless(Ledger& ledger) {
  std::vector<Job*> entering = EnteringByAge(ledger);
  while (!entering.empty() && !EvictionsSuffice(ledger, ledger.ActiveJobs())) {
    Job& last = *entering.back();
    entering.pop_back();
    bool has_deficit = false;
    for (const GpuId gpu : last.uses) {
      has_deficit =
          has_deficit || ledger.Deficit(last, gpu) > 0 || ledger.GrowthOnEntry(last, gpu) > 0;
    }
    if (has_deficit && !last.AnyGateOpen()) Leave(ledger, last);
  }
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    if (!card->approved_context || EvictionsSuffice(ledger, ledger.ActiveJobs())) continue;
    card->approved_context.reset();
  }
  for (auto growth = ledger.growths.rbegin(); growth != ledger.growths.rend(); ++growth) {
    if (!growth->approved || !ledger.InScope(growth->gpu)) continue;
    if (EvictionsSuffice(ledger, ledger.ActiveJobs())) continue;
    growth->approved = false;
  }
}

void MoveMemory(Ledger& ledger) {
  SendSwapIns(ledger);
  const std::vector<Job*> entering = EnteringByAge(ledger);
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    Grant grant{ledger, gpu, ledger.Free(gpu)};
    GrantGrowths(grant);
    GrantContext(grant);
    for (Job* job : entering) GiveToEntering(grant, *job);
    const std::int64_t shortage =
        -grant.left - static_cast<std::int64_t>(ledger.PendingEvictions(gpu));
    const std::int64_t left = SendEvictions(ledger, gpu, shortage);
    if (left > 0) ReleaseForOthers(ledger, gpu, left);
  }
  SendRestores(ledger);
}

}  // namespace reveza::scheduler
