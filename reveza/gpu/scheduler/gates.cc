#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// Longer than most drains, shorter than a wait for a client that does not come.
constexpr Time kAlignAfter = std::chrono::milliseconds(100);

void EndTurn(Ledger& ledger, Job& job) {
  SettleService(ledger, job);
  job.phase = Phase::kSuspended;
  job.ran = job.Ran(ledger.now);
  job.in_turn = false;
  job.backfill_turn.reset();
  job.handover_started.reset();
  job.entry_deficit.clear();
  job.preempted_others = false;
  job.idle_since = ledger.now;
  if (job.AllIdle()) job.asleep_since = ledger.now;
  for (auto& [id, client] : job.clients) client.idle = false;
  SettleTokens(ledger, job);
  WithdrawCreditOfAbsent(job);
  BeginWait(ledger, job);
}

void BeginService(Ledger& ledger, Job& job) {
  job.in_turn = true;
  job.turn_start = job.served_until = ledger.now;
  job.slice_start = ContinuesSlice(ledger, job) ? *job.interrupted_slice : ledger.now;
  job.interrupted_slice.reset();
  ++job.turns;
}

// Returns whether host memory was allocated during the handover to the job. That takes many times
// as long as the copies, and is done once: it tells nothing of the next handover.
bool AllocatedHostMemory(const Ledger& ledger, const Job& job) {
  return ledger.arena_grew_at && *ledger.arena_grew_at >= *job.handover_started;
}

void StartTurn(Ledger& ledger, Job& job) {
  BeginService(ledger, job);
  job.waiting_since.reset();
  if (job.preempted_others && job.handover_started && !AllocatedHostMemory(ledger, job)) {
    RecordHandover(ledger, job, ledger.now - *job.handover_started);
  }
  job.preempted_others = false;
  job.handover_started.reset();
  job.entry_deficit.clear();
}

void SendOpenGate(Ledger& ledger, Client& client) {
  client.gate = Gate::kOpen;
  client.wants_gate = false;
  client.idle = false;
  // The client gives up a swap-in that has not ended, and does not answer it.
  client.swap_in_serial = 0;
  for (auto& [gpu, holding] : client.gpus) holding.permitted = 0;
  client.gate_serial = ledger.NextSerial();
  ledger.decisions.push_back(OpenGate{client.id, client.gate_serial});
}

}  // namespace

void Enter(Ledger& ledger, Job& job) {
  ++ledger.changes;
  job.phase = Phase::kEntering;
  if (!job.in_turn) job.entered = ++ledger.next_entered;
  job.held_back_since.reset();
  job.why = WaitReason::kNone;
  job.blocked_by = 0;
  for (const GpuId gpu : job.uses) {
    job.entry_deficit[gpu] = std::max(job.entry_deficit[gpu], ledger.Deficit(job, gpu));
  }
}

void Leave(Ledger& ledger, Job& job) {
  ++ledger.changes;
  for (PendingGrowth& growth : ledger.growths) {
    if (growth.job == job.id) growth.approved = false;
  }
  job.phase = Phase::kLeaving;
  job.drain_failed = false;
  StartAlignment(ledger, job);
  const Time report_after = job.clients.size() > 1 ? kAlignAfter : ledger.config.drain_limit;
  for (auto& [id, client] : job.clients) {
    if (client.gate != Gate::kOpen) continue;
    client.gate = Gate::kClosing;
    client.wants_gate = false;
    client.draining = false;
    client.gate_serial = ledger.NextSerial();
    ledger.decisions.push_back(
        CloseGate{id, client.gate_serial, ledger.config.drain_limit, report_after, 0});
  }
  TryFinishLeaving(ledger, job);
}

bool HandleGateClosed(Ledger& ledger, Client& client, std::uint32_t serial) {
  if (!client.Closing() || client.gate_serial != serial) return false;
  client.gate = Gate::kClosed;
  client.draining = false;
  client.unpreemptible = false;
  TryFinishLeaving(ledger, ledger.jobs.at(client.job));
  return true;
}

bool HandleDrainFailed(Ledger& ledger, Client& client, std::uint32_t serial) {
  if (!client.Closing() || client.gate_serial != serial) return false;
  client.gate = Gate::kOpen;
  client.draining = false;
  client.unpreemptible = true;
  client.wants_gate = false;
  Job& job = ledger.jobs.at(client.job);
  job.drain_failed = true;
  TryFinishLeaving(ledger, job);
  return true;
}

void AdoptOpenGate(Ledger& ledger, Client& client) {
  Job& job = ledger.jobs.at(client.job);
  client.gate = Gate::kOpen;
  client.wants_gate = false;
  if (!job.in_turn) BeginService(ledger, job);
  if (job.phase == Phase::kSuspended) Enter(ledger, job);
  // The rest of the job is already leaving.
  if (job.phase == Phase::kLeaving) Leave(ledger, job);
}

void TryFinishLeaving(Ledger& ledger, Job& job) {
  if (job.phase != Phase::kLeaving) return;
  for (const auto& [id, client] : job.clients) {
    if (client.Closing()) return;
  }
  if (job.aligned && !job.drain_failed) ++job.aligned_drains;
  if (job.drain_failed) ++job.failed_drains;
  if (!job.drain_failed || !job.AnyGateOpen()) {
    job.drain_failed = false;
    job.drain_backoff = Time(0);
    EndTurn(ledger, job);
    return;
  }
  const Config& config = ledger.config;
  job.drain_backoff =
      job.drain_backoff == Time(0)
          ? config.drain_retry
          : std::min(2 * job.drain_backoff, std::max(config.drain_retry, config.slice_ceiling));
  job.closable_at = ledger.now + job.drain_backoff;
  job.drain_failed = false;
  job.waiting_since.reset();
  // The turn continues: closed gates open again once everything is resident, which it is unless a
  // client has allocated behind its closed gate.
  Enter(ledger, job);
}

bool OpenGates(Ledger& ledger) {
  bool changed = false;
  for (Job* one : ledger.scope.jobs) {
    Job& job = *one;
    if (!job.Active()) continue;
    if (!ledger.MayOpen(job)) {
      // A client joined late with swapped memory, or allocated before its gate had opened.
      const bool closed = std::ranges::any_of(
          job.clients, [](const auto& entry) { return entry.second.gate != Gate::kOpen; });
      if (job.phase != Phase::kRunning || !closed) continue;
      Enter(ledger, job);
      changed = true;
      continue;
    }
    for (auto& [id, client] : job.clients) {
      if (client.gate == Gate::kClosed) SendOpenGate(ledger, client);
    }
    if (job.phase == Phase::kRunning) continue;
    job.phase = Phase::kRunning;
    changed = true;
    if (!job.in_turn) StartTurn(ledger, job);
  }
  return changed;
}

}  // namespace reveza::scheduler
