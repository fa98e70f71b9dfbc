#include "reveza/gpu/simulator/checker.h"

#include <algorithm>

namespace reveza::simulator {

using scheduler::ClientView;
using scheduler::Decision;
using scheduler::GpuView;
using scheduler::JobState;
using scheduler::JobView;
using scheduler::Scheduler;
using scheduler::Time;

namespace {

const ClientView* Find(const std::vector<ClientView>& clients, scheduler::ClientId id) {
  const auto found = std::ranges::find(clients, id, &ClientView::id);
  return found == clients.end() ? nullptr : &*found;
}

Bytes Limit(const GpuView& gpu) {
  const Bytes budget = std::min(gpu.config.total, gpu.config.budget);
  return budget > gpu.external ? budget - gpu.external : 0;
}

bool Resident(const ClientView& client) {
  return !client.contexts_away && std::ranges::all_of(client.gpus, [](const ClientView::Gpu& gpu) {
    return gpu.footprint.swapped == 0 && gpu.credit >= gpu.footprint.Need();
  });
}

// Returns the client to which the decision gives swappable memory on a GPU, or 0.
scheduler::ClientId GivenMemory(const Decision& decision) {
  if (const auto* credit = std::get_if<scheduler::GiveCredit>(&decision)) return credit->client;
  if (const auto* in = std::get_if<scheduler::SwapIn>(&decision)) return in->client;
  const auto* growth = std::get_if<scheduler::AnswerGrowth>(&decision);
  return growth != nullptr && growth->credit > 0 ? growth->client : 0;
}

bool IsSuspended(JobState state) {
  return state == JobState::kIdle || state == JobState::kWaiting || state == JobState::kQueued;
}

}  // namespace

void Checker::Fail(const std::string& what, Time now) {
  if (!failure_.empty()) return;
  failure_ = what + " (at " + std::to_string(now.count()) + " ns)";
}

void Checker::OnRestart() {
  restarted_ = true;
  turns_.clear();
  turn_counts_.clear();
  over_budget_.clear();
  serials_.clear();
  admissions_.clear();
  pending_.clear();
  claims_.clear();
  excess_.clear();
  later_.clear();
  in_turn_.clear();
}

void Checker::CheckEvent(const Scheduler& scheduler, EventKind kind, scheduler::ClientId client,
                         const std::vector<Decision>& decisions, Time now) {
  if (kind == EventKind::kGrowthRequested || kind == EventKind::kContextRequested)
    ++pending_[client];
  if (kind == EventKind::kDied) pending_.erase(client);
  if (kind == EventKind::kDrainFailed) ++counters_.failed_drains;
  const std::set<scheduler::GpuId> given = CountDecisions(decisions);
  CheckBudget(scheduler, kind, given, now);
  CheckGates(scheduler, now);
  CheckOrders(scheduler, decisions, now);
  CheckPolicies(scheduler, kind, client, decisions, now);
  CheckPauses(scheduler, decisions, now);
  CheckTurns(scheduler, kind, client, decisions, now);
  if (!restarted_ && scheduler.HostReserved() > config_.host_budget) {
    Fail("host memory exceeds its budget", now);
  }
}

std::set<scheduler::GpuId> Checker::CountDecisions(const std::vector<Decision>& decisions) {
  std::set<scheduler::GpuId> given;
  for (const Decision& decision : decisions) {
    if (const auto* growth = std::get_if<scheduler::AnswerGrowth>(&decision)) {
      if (--pending_[growth->client] == 0) pending_.erase(growth->client);
      if (growth->answer == scheduler::Growth::kGranted) ++counters_.growths_granted;
      if (growth->answer == scheduler::Growth::kLater) ++counters_.growths_later;
      if (growth->answer == scheduler::Growth::kRefused) ++counters_.growths_refused;
      if (growth->credit > 0) given.insert(growth->gpu);
    } else if (const auto* refused = std::get_if<scheduler::RefuseContext>(&decision)) {
      if (--pending_[refused->client] == 0) pending_.erase(refused->client);
    } else if (const auto* context = std::get_if<scheduler::AdmitContext>(&decision)) {
      if (--pending_[context->client] == 0) pending_.erase(context->client);
      if (context->credit > 0) given.insert(context->gpu);
    } else if (const auto* credit = std::get_if<scheduler::GiveCredit>(&decision)) {
      given.insert(credit->gpu);
    } else if (std::holds_alternative<scheduler::Evict>(decision)) {
      ++counters_.evictions;
    } else if (const auto* close = std::get_if<scheduler::CloseGate>(&decision)) {
      if (close->submissions > 0) {
        ++counters_.admissions;
      } else if (!IsWithdrawal(*close)) {
        ++counters_.gates_closed;
      }
    }
  }
  return given;
}

void Checker::CheckBudget(const Scheduler& scheduler, EventKind kind,
                          const std::set<scheduler::GpuId>& given, Time now) {
  for (const GpuView& gpu : scheduler.Gpus()) {
    if (gpu.outstanding_credit <= Limit(gpu)) {
      over_budget_.erase(gpu.id);
      continue;
    }
    if (given.contains(gpu.id)) Fail("credit granted beyond the budget", now);
    const bool may_exceed = kind == EventKind::kBudgetChanged || kind == EventKind::kResumed ||
                            kind == EventKind::kContextCreated;
    if (!may_exceed && !over_budget_.contains(gpu.id)) Fail("credit exceeds the budget", now);
    over_budget_.insert(gpu.id);
  }
}

void Checker::CheckGates(const Scheduler& scheduler, Time now) {
  const std::vector<ClientView> clients = scheduler.Clients();
  for (const JobView& job : scheduler.Jobs()) {
    if (job.why == scheduler::WaitReason::kQueue) ++counters_.queued;
    if (job.why == scheduler::WaitReason::kHostMemory) ++counters_.waits_for_host_memory;
    for (const scheduler::ClientId id : job.clients) {
      const bool open = Find(clients, id)->gate_open;
      if (job.state == JobState::kRunning && !open) Fail("running job with a closed gate", now);
      if (IsSuspended(job.state) && open) Fail("suspended job with an open gate", now);
    }
  }
}

void Checker::CheckOrders(const Scheduler& scheduler, const std::vector<Decision>& decisions,
                          Time now) {
  const std::vector<ClientView> clients = scheduler.Clients();
  for (const Decision& decision : decisions) {
    if (const auto* open = std::get_if<scheduler::OpenGate>(&decision)) {
      CheckSerial(open->serial, now);
      const ClientView* client = Find(clients, open->client);
      if (client != nullptr && !Resident(*client)) Fail("gate opened on swapped memory", now);
    } else if (const auto* close = std::get_if<scheduler::CloseGate>(&decision)) {
      if (!IsWithdrawal(*close)) CheckSerial(close->serial, now);
      if (close->submissions > 0) admissions_.insert(close->serial);
      if (everything_fits) Fail("gate closed although everything fits", now);
      const ClientView* client = Find(clients, close->client);
      if (close->submissions > 0 && client != nullptr && !Resident(*client)) {
        Fail("submissions admitted on swapped memory", now);
      }
    } else if (const auto* evict = std::get_if<scheduler::Evict>(&decision)) {
      CheckSerial(evict->serial, now);
      if (everything_fits) Fail("memory moved although everything fits", now);
      const ClientView* victim = Find(clients, evict->client);
      for (const ClientView& client : clients) {
        if (victim != nullptr && client.job == victim->job && client.gate_open) {
          Fail("eviction behind an open gate of the job", now);
        }
      }
    } else if (const auto* in = std::get_if<scheduler::SwapIn>(&decision)) {
      CheckSerial(in->serial, now);
      const ClientView* client = Find(clients, in->client);
      if (client != nullptr && client->contexts_away) Fail("swap-in without contexts", now);
    } else if (const auto* release = std::get_if<scheduler::ReleaseContexts>(&decision)) {
      CheckSerial(release->serial, now);
      ++counters_.contexts_released;
      if (everything_fits) Fail("contexts moved although everything fits", now);
      const ClientView* leaving = Find(clients, release->client);
      for (const auto& on : leaving == nullptr ? std::vector<ClientView::Gpu>{} : leaving->gpus) {
        if (on.footprint.resident > 0) Fail("contexts released before the memory is evicted", now);
      }
      for (const JobView& job : scheduler.Jobs()) {
        const bool own = std::ranges::count(job.clients, release->client) > 0;
        if (own && job.state == JobState::kWaiting) ++counters_.contexts_of_waiting;
        // It may enter for what the same event made known.
        const bool active = !IsSuspended(job.state) && job.state != JobState::kPaused;
        if (own && active && in_turn_.contains(job.id))
          Fail("contexts of an active job released", now);
      }
    } else if (const auto* restore = std::get_if<scheduler::RestoreContexts>(&decision)) {
      CheckSerial(restore->serial, now);
      ++counters_.contexts_restored;
      const ClientView* client = Find(clients, restore->client);
      for (const auto& on : client == nullptr ? std::vector<ClientView::Gpu>{} : client->gpus) {
        if (on.credit < on.footprint.Fixed()) Fail("contexts restored without credit", now);
      }
    } else if (const auto* arena = std::get_if<scheduler::PrepareArena>(&decision)) {
      if (arena->bytes > config_.host_budget) Fail("arena exceeds the host budget", now);
    }
  }
}

// No gate of a paused job opens. No eviction leaves less than the request. What a job has grows
// beyond its limit only by a context that is larger than estimated.
void Checker::CheckPolicies(const Scheduler& scheduler, EventKind kind,
                            scheduler::ClientId client_of_event,
                            const std::vector<Decision>& decisions, Time now) {
  std::map<scheduler::JobId, JobView> jobs;
  for (const JobView& job : scheduler.Jobs()) jobs[job.id] = job;
  const std::vector<ClientView> clients = scheduler.Clients();
  Claims claims;
  std::map<std::pair<scheduler::JobId, scheduler::GpuId>, Bytes> credits;
  Claims fixed;
  Claims contexts;
  std::map<scheduler::JobId, Bytes> movable;
  for (const ClientView& client : clients) {
    for (const ClientView::Gpu& on : client.gpus) {
      const std::pair key(client.job, on.gpu);
      claims[key] += std::max(on.footprint.Need(), on.credit);
      credits[key] += on.credit;
      fixed[key] += on.footprint.Fixed();
      contexts[key] += on.footprint.context;
      movable[client.job] += on.footprint.resident;
    }
  }
  for (auto& [key, excess] : excess_) excess = std::min(excess, contexts[key]);
  const bool may_grow = kind == EventKind::kContextCreated || kind == EventKind::kResumed;
  const auto later = later_.find(client_of_event);
  for (const auto& [key, claim] : claims) {
    const Bytes before = claims_[key];
    if (kind == EventKind::kContextCreated && claim > before) excess_[key] += claim - before;
    Bytes limit = jobs.at(key.first).policy.limit;
    // A client may allocate what it was permitted to before the limit was lowered.
    if (kind == EventKind::kAllocated && later != later_.end()) {
      limit = std::max(limit, later->second);
    }
    // What was permitted before a context turned out larger than estimated may still come.
    if (claim > before && !may_grow && claim - std::min(claim, excess_[key]) > limit) {
      Fail("job grows beyond its limit", now);
    }
  }
  CheckQuotas(jobs, claims, may_grow, now);
  claims_ = claims;
  for (const auto& [id, job] : jobs) {
    if (job.state == JobState::kPaused && movable[id] == 0) ++counters_.pauses;
  }
  for (const Decision& decision : decisions) {
    if (const auto* open = std::get_if<scheduler::OpenGate>(&decision)) {
      const ClientView* client = Find(clients, open->client);
      // The gates of a job whose drain has failed open again.
      if (client != nullptr && jobs.at(client->job).policy.paused &&
          !in_turn_.contains(client->job)) {
        Fail("paused job runs", now);
      }
    } else if (const auto* evict = std::get_if<scheduler::Evict>(&decision)) {
      const ClientView* client = Find(clients, evict->client);
      const JobView& job = jobs.at(client->job);
      if (job.policy.request == 0 || job.policy.paused) continue;
      // Contexts of more than the request leave, with all memory.
      if (fixed[{client->job, evict->gpu}] > job.policy.request) continue;
      ++counters_.kept_requests;
      const std::pair key(client->job, evict->gpu);
      credits[key] -= std::min(credits[key], evict->bytes);
      // Whole pieces are moved.
      const Bytes granule = scheduler.Gpus().at(evict->gpu).config.granule;
      if (credits[key] + granule < std::min(job.policy.request, claims[key])) {
        Fail("evicted below the request", now);
      }
    } else if (const auto* growth = std::get_if<scheduler::AnswerGrowth>(&decision)) {
      const ClientView* client = Find(clients, growth->client);
      if (client == nullptr) continue;
      const JobView& job = jobs.at(client->job);
      if (growth->answer == scheduler::Growth::kLater) later_[client->id] = job.policy.limit;
      if (growth->answer != scheduler::Growth::kRefused) continue;
      counters_.limits += job.policy.limit != scheduler::Policy{}.limit ? 1 : 0;
      counters_.quotas += job.quota.limit != scheduler::Quota{}.limit ? 1 : 0;
    }
  }
  in_turn_.clear();
  for (const auto& [id, job] : jobs) {
    if (!IsSuspended(job.state) && job.state != JobState::kPaused) in_turn_.insert(id);
  }
}

// Once its gates are closed, a paused job is given no memory until it is resumed, and what it has
// on the GPUs is being evicted, if the host has room for all that clients may have: where it has
// not, the oldest job is not evicted.
void Checker::CheckPauses(const Scheduler& scheduler, const std::vector<Decision>& decisions,
                          Time now) {
  std::set<scheduler::JobId> paused;
  for (const JobView& job : scheduler.Jobs()) {
    if (job.state == JobState::kPaused) paused.insert(job.id);
  }
  if (paused.empty()) return;
  const std::vector<ClientView> clients = scheduler.Clients();
  for (const Decision& decision : decisions) {
    const ClientView* client = Find(clients, GivenMemory(decision));
    if (client != nullptr && paused.contains(client->job)) Fail("paused job is given memory", now);
  }
  const std::vector<GpuView> gpus = scheduler.Gpus();
  Bytes most = 0;
  for (const ClientView& client : clients) {
    for (const ClientView::Gpu& on : client.gpus) most += gpus.at(on.gpu).config.budget;
  }
  if (most > config_.host_budget) return;
  for (const ClientView& client : clients) {
    if (!paused.contains(client.job) || client.unresponsive) continue;
    const bool keeps = std::ranges::any_of(client.gpus, [](const ClientView::Gpu& on) {
      return on.footprint.resident > 0 && !on.evicting;
    });
    if (keeps) Fail("paused job keeps memory on a GPU", now);
  }
}

// What the jobs of an account have grows beyond its quota only as a job's beyond its limit.
void Checker::CheckQuotas(const std::map<scheduler::JobId, JobView>& jobs, const Claims& claims,
                          bool may_grow, Time now) {
  std::map<std::pair<scheduler::AccountId, scheduler::GpuId>, std::pair<Bytes, Bytes>> sums;
  std::map<std::pair<scheduler::AccountId, scheduler::GpuId>, Bytes> excess;
  std::map<scheduler::AccountId, Bytes> limits;
  for (const auto& [key, claim] : claims) {
    const JobView& job = jobs.at(key.first);
    if (!job.account) continue;
    auto& [sum, before] = sums[{*job.account, key.second}];
    sum += claim;
    excess[{*job.account, key.second}] += excess_[key];
    const auto known = claims_.find(key);
    before += known == claims_.end() ? 0 : known->second;
    limits[*job.account] = job.quota.limit;
  }
  for (const auto& [key, sum] : sums) {
    if (sum.first <= limits.at(key.first) + std::min(sum.first, excess[key])) continue;
    if (sum.first > sum.second && !may_grow) Fail("account grows beyond its quota", now);
  }
}

void Checker::CheckSerial(std::uint32_t serial, Time now) {
  if (serial == 0 || !serials_.insert(serial).second) Fail("serial reused", now);
}

void Checker::CheckTurns(const Scheduler& scheduler, EventKind kind, scheduler::ClientId client,
                         const std::vector<Decision>& decisions, Time now) {
  const bool disturbed =
      !pending_.empty() || !over_budget_.empty() || kind == EventKind::kGrowthRequested ||
      kind == EventKind::kContextRequested || kind == EventKind::kContextCreated ||
      kind == EventKind::kAllocated || kind == EventKind::kBudgetChanged ||
      kind == EventKind::kResumed || kind == EventKind::kDrainFailed ||
      kind == EventKind::kPolicyChanged || kind == EventKind::kContextsKept;
  for (const ClientView& view : scheduler.Clients()) job_of_[view.id] = view.job;
  // Interactive jobs interrupt slices, and an interrupted one goes on in a turn of its own.
  const bool preempted = std::ranges::any_of(
      scheduler.Jobs(), [](const JobView& job) { return job.policy != scheduler::Policy{}; });
  for (auto& [job, turn] : turns_) {
    if (disturbed || preempted || (kind == EventKind::kIdle && job_of_[client] == job))
      turn.exempt = true;
  }
  for (const Decision& decision : decisions) {
    const auto* close = std::get_if<scheduler::CloseGate>(&decision);
    if (close == nullptr || admissions_.contains(close->serial)) continue;
    const auto turn = turns_.find(job_of_[close->client]);
    if (turn == turns_.end() || turn->second.exempt) continue;
    ++counters_.slices_checked;
    if (now - turn->second.started < config_.slice_floor) Fail("slice shorter than its floor", now);
  }
  for (const JobView& job : scheduler.Jobs()) {
    std::uint64_t& count = turn_counts_[job.id];
    if (job.turns == count) continue;
    count = job.turns;
    turns_[job.id] = Turn{now, disturbed};
    ++counters_.turns;
  }
}

void Checker::CheckWait(scheduler::ClientId client, std::optional<Time> since, const char* what,
                        Time now) {
  if (!max_wait || !since || now - *since <= *max_wait) return;
  Fail("client " + std::to_string(client) + " waits too long for " + what, now);
}

}  // namespace reveza::simulator
