// Aligns the clients of a job whose GPU work waits for each other (ranks of a collective). When
// their gates close, one may have submitted a collective that another has not: the first cannot
// drain, and the second cannot submit. So those that have drained are admitted a few more
// submissions, until all have drained.
//
// docs/scheduling.md describes the policy.
#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// Orders with a single submission, before the number doubles.
constexpr std::uint32_t kSingleSubmissions = 8;
constexpr std::uint32_t kMaxSubmissions = 64;
constexpr Time kPause = std::chrono::milliseconds(2);
constexpr Time kMaxPause = std::chrono::milliseconds(32);
// A client that was admitted submissions and does not drain waits for the others, most likely.
constexpr Time kReportAfter = std::chrono::milliseconds(5);

std::uint32_t Submissions(std::uint32_t orders) {
  if (orders < kSingleSubmissions) return 1;
  return std::min(kMaxSubmissions, 2u << std::min(orders - kSingleSubmissions, 5u));
}

template <typename Predicate>
bool Any(const Job& job, Predicate predicate) {
  return std::ranges::any_of(job.clients,
                             [&](const auto& entry) { return predicate(entry.second); });
}

// A thread waits at the gate, and what it needs is on the GPU.
bool MayBeAdmitted(const Client& client) {
  return client.gate == Gate::kClosed && client.wants_gate && Ledger::FullyResident(client);
}

void Admit(Ledger& ledger, const Job& job, Client& client) {
  client.gate = Gate::kAdmitting;
  client.wants_gate = false;
  client.gate_serial = ledger.NextSerial();
  const Time left = job.drain_deadline - ledger.now;
  ledger.decisions.push_back(CloseGate{client.id, client.gate_serial, left, kReportAfter,
                                       Submissions(client.admissions++)});
}

// Withdraws what the client has not used. It may be closing already: the answer is the same.
void Withdraw(Ledger& ledger, const Job& job, Client& client) {
  client.gate = Gate::kClosing;
  const Time left = std::max(job.drain_deadline - ledger.now, Time(0));
  ledger.decisions.push_back(CloseGate{client.id, client.gate_serial, left, kReportAfter, 0});
}

// If a client that was admitted submissions now waits for those that had waited for it, it was
// carried past them: all begin again, with longer pauses.
void BeginAgainAfterOvershoot(Job& job) {
  if (!Any(job, [](const Client& client) { return client.draining && client.admissions > 0; })) {
    return;
  }
  for (auto& [id, client] : job.clients) client.admissions = 0;
  job.alignment_pause = std::min(2 * job.alignment_pause, kMaxPause);
}

void Align(Ledger& ledger, Job& job) {
  const bool waits = Any(job, [](const Client& client) { return client.draining; });
  if (!waits || ledger.now >= job.drain_deadline) {
    for (auto& [id, client] : job.clients) {
      if (client.gate == Gate::kAdmitting) Withdraw(ledger, job, client);
    }
    return;
  }
  ledger.DueAt(job.drain_deadline);
  const bool unknown = Any(
      job, [](const Client& client) { return client.gate == Gate::kClosing && !client.draining; });
  if (unknown || !Any(job, MayBeAdmitted) || !ledger.Reached(job.next_alignment)) return;
  BeginAgainAfterOvershoot(job);
  for (auto& [id, client] : job.clients) {
    if (MayBeAdmitted(client)) Admit(ledger, job, client);
  }
  job.aligned = true;
  job.next_alignment = ledger.now + job.alignment_pause;
}

}  // namespace

bool HandleDraining(Client& client, std::uint32_t serial) {
  if (!client.Closing() || client.gate_serial != serial) return false;
  client.gate = Gate::kClosing;
  client.draining = true;
  return true;
}

void StartAlignment(Ledger& ledger, Job& job) {
  job.drain_deadline = ledger.now + ledger.config.drain_limit;
  job.next_alignment = ledger.now;
  job.alignment_pause = kPause;
  job.aligned = false;
  for (auto& [id, client] : job.clients) client.admissions = 0;
}

void AlignDrains(Ledger& ledger) {
  for (Job* job : ledger.scope.jobs) {
    if (job->phase == Phase::kLeaving) Align(ledger, *job);
  }
}

}  // namespace reveza::scheduler
