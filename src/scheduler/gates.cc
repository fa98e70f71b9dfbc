#include "scheduler/gates.h"

#include <algorithm>

#include "scheduler/slices.h"

namespace reveza::scheduler {
namespace {

void EndTurn(Books& books, Job& job) {
  job.phase = Phase::kOut;
  job.ran = job.Ran(books.now);
  job.in_turn = false;
  job.filling_in_for.reset();
  job.handover_began.reset();
  job.coming_in.clear();
  job.displaced_others = false;
  for (auto& [id, client] : job.clients) client.idle = false;
  if (books.Wants(job) && !job.waiting_since) job.waiting_since = books.now;
}

void StartTurn(Books& books, Job& job) {
  job.in_turn = true;
  job.turn_start = books.now;
  ++job.turns;
  job.waiting_since.reset();
  if (job.displaced_others && job.handover_began) {
    RecordHandover(books, job, books.now - *job.handover_began);
  }
  job.displaced_others = false;
  job.handover_began.reset();
  job.coming_in.clear();
}

void OpenGateOf(Books& books, Client& client) {
  client.gate = Gate::kOpen;
  client.wants = false;
  client.idle = false;
  client.gate_serial = books.NextSerial();
  books.decisions.push_back(OpenGate{client.id, client.gate_serial});
}

}  // namespace

void Enter(Books& books, Job& job) {
  job.phase = Phase::kEntering;
  if (!job.in_turn) job.entered = ++books.next_entered;
  job.held_back_since.reset();
  job.why = WaitReason::kNone;
  job.blocked_by = 0;
  for (const auto& [gpu, card] : books.gpus) {
    if (job.Uses(gpu)) job.coming_in[gpu] = std::max(job.coming_in[gpu], books.Deficit(job, gpu));
  }
}

void Leave(Books& books, Job& job) {
  for (PendingGrowth& growth : books.growths) {
    if (growth.job == job.id) growth.approved = false;
  }
  job.phase = Phase::kLeaving;
  job.drain_failed = false;
  for (auto& [id, client] : job.clients) {
    if (client.gate != Gate::kOpen) continue;
    client.gate = Gate::kClosing;
    client.wants = false;
    client.gate_serial = books.NextSerial();
    books.decisions.push_back(CloseGate{id, client.gate_serial, books.config.drain_limit});
  }
  SettleLeaving(books, job);
}

bool GateHasClosed(Books& books, Client& client, std::uint32_t serial) {
  if (client.gate != Gate::kClosing || client.gate_serial != serial) return false;
  client.gate = Gate::kClosed;
  client.unpreemptible = false;
  SettleLeaving(books, books.jobs.at(client.job));
  return true;
}

bool DrainHasFailed(Books& books, Client& client, std::uint32_t serial) {
  if (client.gate != Gate::kClosing || client.gate_serial != serial) return false;
  client.gate = Gate::kOpen;
  client.unpreemptible = true;
  client.wants = false;
  Job& job = books.jobs.at(client.job);
  job.drain_failed = true;
  SettleLeaving(books, job);
  return true;
}

void GateFoundOpen(Books& books, Client& client) {
  Job& job = books.jobs.at(client.job);
  client.gate = Gate::kOpen;
  client.wants = false;
  if (!job.in_turn) {
    job.in_turn = true;
    job.turn_start = books.now;
    ++job.turns;
  }
  if (job.phase == Phase::kOut) Enter(books, job);
  // The rest of its job has been told to leave already.
  if (job.phase == Phase::kLeaving) Leave(books, job);
}

void SettleLeaving(Books& books, Job& job) {
  if (job.phase != Phase::kLeaving) return;
  for (const auto& [id, client] : job.clients) {
    if (client.gate == Gate::kClosing) return;
  }
  if (!job.drain_failed || !job.GateOpenSomewhere()) {
    job.drain_failed = false;
    job.drain_backoff = Time(0);
    EndTurn(books, job);
    return;
  }
  const Config& config = books.config;
  job.drain_backoff =
      job.drain_backoff == Time(0)
          ? config.drain_retry
          : std::min(2 * job.drain_backoff, std::max(config.drain_retry, config.slice_ceiling));
  job.closable_at = books.now + job.drain_backoff;
  job.drain_failed = false;
  job.waiting_since.reset();
  // The gates that had closed open again once all is resident, which it is unless a client
  // allocated behind its closed gate. The turn goes on.
  Enter(books, job);
}

bool OpenGates(Books& books) {
  bool changed = false;
  for (auto& [job_id, job] : books.jobs) {
    if (job.phase != Phase::kEntering && job.phase != Phase::kIn) continue;
    const bool resident =
        std::all_of(job.clients.begin(), job.clients.end(),
                    [](const auto& entry) { return Books::Resident(entry.second); });
    if (!resident) {
      // A client joined late with memory elsewhere, or allocated before its gate had opened.
      const bool closed =
          std::any_of(job.clients.begin(), job.clients.end(),
                      [](const auto& entry) { return entry.second.gate != Gate::kOpen; });
      if (job.phase != Phase::kIn || !closed) continue;
      Enter(books, job);
      changed = true;
      continue;
    }
    for (auto& [id, client] : job.clients) {
      if (client.gate == Gate::kClosed) OpenGateOf(books, client);
    }
    if (job.phase == Phase::kIn) continue;
    job.phase = Phase::kIn;
    changed = true;
    if (!job.in_turn) StartTurn(books, job);
  }
  return changed;
}

}  // namespace reveza::scheduler
