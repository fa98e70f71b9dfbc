#include "simulator/checker.h"

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
  for (const ClientView& client : clients) {
    if (client.id == id) return &client;
  }
  return nullptr;
}

Bytes Limit(const GpuView& gpu) {
  const Bytes budget = std::min(gpu.config.total, gpu.config.budget);
  return budget > gpu.external ? budget - gpu.external : 0;
}

bool Resident(const ClientView& client) {
  return std::all_of(client.gpus.begin(), client.gpus.end(), [](const ClientView::Gpu& gpu) {
    return gpu.footprint.swapped == 0 && gpu.credit >= gpu.footprint.Need();
  });
}

bool IsOut(JobState state) {
  return state == JobState::kIdle || state == JobState::kWaiting || state == JobState::kQueued;
}

}  // namespace

void Checker::Fail(const std::string& what, Time now) {
  if (!failure_.empty()) return;
  failure_ = what + " (at " + std::to_string(now.count()) + " ns)";
}

void Checker::Restarted() {
  restarted_ = true;
  turns_.clear();
  turn_counts_.clear();
  over_budget_.clear();
  serials_.clear();
  pending_.clear();
}

void Checker::After(const Scheduler& scheduler, EventKind kind, scheduler::ClientId client,
                    const std::vector<Decision>& decisions, Time now) {
  CountPending(kind, client);
  CountDecisions(decisions);
  std::set<scheduler::GpuId> given;
  for (const Decision& decision : decisions) {
    if (const auto* credit = std::get_if<scheduler::GiveCredit>(&decision)) {
      given.insert(credit->gpu);
    } else if (const auto* growth = std::get_if<scheduler::AnswerGrowth>(&decision)) {
      if (growth->credit > 0) given.insert(growth->gpu);
    } else if (const auto* context = std::get_if<scheduler::AdmitContext>(&decision)) {
      if (context->credit > 0) given.insert(context->gpu);
    }
  }
  CheckBudget(scheduler, kind, given, now);
  CheckGates(scheduler, now);
  CheckOrders(scheduler, decisions, now);
  CheckTurns(scheduler, kind, client, decisions, now);
  if (!restarted_ && scheduler.HostReserved() > config_.host_budget) {
    Fail("host memory beyond its budget", now);
  }
}

void Checker::CountPending(EventKind kind, scheduler::ClientId client) {
  if (kind == EventKind::kGrowthWanted || kind == EventKind::kContextWanted) ++pending_[client];
  if (kind == EventKind::kDeath) pending_.erase(client);
}

void Checker::CountDecisions(const std::vector<Decision>& decisions) {
  for (const Decision& decision : decisions) {
    if (const auto* growth = std::get_if<scheduler::AnswerGrowth>(&decision)) {
      if (--pending_[growth->client] == 0) pending_.erase(growth->client);
      if (growth->answer == scheduler::Growth::kGranted) ++seen_.growths_granted;
      if (growth->answer == scheduler::Growth::kLater) ++seen_.growths_later;
      if (growth->answer == scheduler::Growth::kRefused) ++seen_.growths_refused;
    } else if (const auto* context = std::get_if<scheduler::AdmitContext>(&decision)) {
      if (--pending_[context->client] == 0) pending_.erase(context->client);
      ++seen_.contexts;
    } else if (std::holds_alternative<scheduler::Evict>(decision)) {
      ++seen_.evictions;
    } else if (std::holds_alternative<scheduler::SwapIn>(decision)) {
      ++seen_.swap_ins;
    } else if (std::holds_alternative<scheduler::CloseGate>(decision)) {
      ++seen_.gates_closed;
    }
  }
}

void Checker::CheckBudget(const Scheduler& scheduler, EventKind kind,
                          const std::set<scheduler::GpuId>& given, Time now) {
  for (const GpuView& gpu : scheduler.Gpus()) {
    if (gpu.credit_out <= Limit(gpu)) {
      over_budget_.erase(gpu.id);
      continue;
    }
    if (given.contains(gpu.id)) Fail("credit given beyond the budget", now);
    const bool may_exceed = kind == EventKind::kBudget || kind == EventKind::kResumed ||
                            kind == EventKind::kContextMade;
    if (!may_exceed && !over_budget_.contains(gpu.id)) Fail("more credit than budget", now);
    over_budget_.insert(gpu.id);
  }
}

void Checker::CheckGates(const Scheduler& scheduler, Time now) {
  const std::vector<ClientView> clients = scheduler.Clients();
  for (const JobView& job : scheduler.Jobs()) {
    if (job.why == scheduler::WaitReason::kQueue) ++seen_.queued;
    if (job.why == scheduler::WaitReason::kHostMemory) ++seen_.held_for_host_memory;
    for (const scheduler::ClientId id : job.clients) {
      const bool open = Find(clients, id)->gate_open;
      if (job.state == JobState::kRunning && !open) Fail("a running job with a closed gate", now);
      if (IsOut(job.state) && open) Fail("an open gate of a job that is out", now);
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
      if (client != nullptr && !Resident(*client)) Fail("a gate opens on swapped memory", now);
    } else if (const auto* close = std::get_if<scheduler::CloseGate>(&decision)) {
      CheckSerial(close->serial, now);
      if (everything_fits) Fail("a gate closes although everything fits", now);
    } else if (const auto* evict = std::get_if<scheduler::Evict>(&decision)) {
      CheckSerial(evict->serial, now);
      if (everything_fits) Fail("memory moves although everything fits", now);
      const ClientView* victim = Find(clients, evict->client);
      for (const ClientView& client : clients) {
        if (victim != nullptr && client.job == victim->job && client.gate_open) {
          Fail("a job is evicted behind an open gate", now);
        }
      }
    } else if (const auto* in = std::get_if<scheduler::SwapIn>(&decision)) {
      CheckSerial(in->serial, now);
    } else if (const auto* arena = std::get_if<scheduler::PrepareArena>(&decision)) {
      if (arena->bytes > config_.host_budget) Fail("an arena beyond the host budget", now);
    }
  }
}

void Checker::CheckSerial(std::uint32_t serial, Time now) {
  if (serial == 0 || !serials_.insert(serial).second) Fail("a serial number used twice", now);
}

void Checker::CheckTurns(const Scheduler& scheduler, EventKind kind, scheduler::ClientId client,
                         const std::vector<Decision>& decisions, Time now) {
  const bool disturbed = !pending_.empty() || !over_budget_.empty() ||
                         kind == EventKind::kGrowthWanted || kind == EventKind::kContextWanted ||
                         kind == EventKind::kContextMade || kind == EventKind::kAllocated ||
                         kind == EventKind::kBudget || kind == EventKind::kResumed ||
                         kind == EventKind::kDrainFailed;
  for (const ClientView& view : scheduler.Clients()) job_of_[view.id] = view.job;
  for (auto& [job, turn] : turns_) {
    if (disturbed || (kind == EventKind::kIdle && job_of_[client] == job)) turn.excused = true;
  }
  for (const Decision& decision : decisions) {
    const auto* close = std::get_if<scheduler::CloseGate>(&decision);
    if (close == nullptr) continue;
    const auto turn = turns_.find(job_of_[close->client]);
    if (turn == turns_.end() || turn->second.excused) continue;
    ++seen_.slices_checked;
    if (now - turn->second.began < config_.slice_floor) Fail("a slice below its floor", now);
  }
  for (const JobView& job : scheduler.Jobs()) {
    std::uint64_t& count = turn_counts_[job.id];
    if (job.turns == count) continue;
    count = job.turns;
    turns_[job.id] = Turn{now, disturbed};
    ++seen_.turns;
  }
}

void Checker::CheckWait(scheduler::ClientId client, std::optional<Time> since, const char* what,
                        Time now) {
  if (!longest_wait || !since || now - *since <= *longest_wait) return;
  Fail("client " + std::to_string(client) + " waits too long for " + what, now);
}

}  // namespace reveza::simulator
