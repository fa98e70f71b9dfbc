// The order of the passes.
#include <algorithm>
#include <utility>
#include <vector>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace {

void RestoreLimits(Ledger& ledger) {
  ledger.wake.reset();
  ledger.due.reset();
  ExpireOrders(ledger);
  UpdateCrowding(ledger);
  EnforcePauses(ledger);
  RestoreBudget(ledger);
}

// What a pass finds out about the requests in scope: no decision tells of it, and the beginning of
// the next pass depends on it.
std::vector<std::uint64_t> Findings(const Ledger& ledger) {
  std::vector<std::uint64_t> findings;
  for (const PendingGrowth& growth : ledger.growths) {
    if (!ledger.InScope(growth.gpu)) continue;
    findings.push_back(static_cast<std::uint64_t>(growth.obstacle));
    findings.push_back(growth.approved ? 1 : 0);
  }
  for (const PendingContext& context : ledger.contexts) {
    if (ledger.InScope(context.gpu)) {
      findings.push_back(static_cast<std::uint64_t>(context.obstacle));
    }
  }
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    findings.push_back(card->approved_context.value_or(0));
    findings.push_back(card->context_creator.value_or(0));
  }
  return findings;
}

// Returns whether another pass may decide anything: a decision was made, a job has changed its
// phase, or what is known of a request has changed.
bool RunPass(Ledger& ledger) {
  const std::size_t before = ledger.decisions.size();
  const std::uint64_t changes = ledger.changes;
  const std::vector<std::uint64_t> known = Findings(ledger);
  RestoreLimits(ledger);
  if (!ledger.scope.everything && !ShortagesCanBeCovered(ledger)) {
    ConsiderEverything(ledger);
    RestoreLimits(ledger);
  }
  AbandonHopeless(ledger);
  ProcessGrowths(ledger);
  ProcessContexts(ledger);
  {
    const Ledger::Frozen frozen(ledger);
    UpdateQueue(ledger);
    UpdateCompetitors(ledger);
    ChooseTurns(ledger);
  }
  AlignDrains(ledger);
  MoveMemory(ledger);
  ReleaseIdleContexts(ledger);
  if (OpenGates(ledger) || ledger.decisions.size() > before || BreakDeadlock(ledger)) return true;
  // Last: a job may enter and be abandoned in each pass, which must not put deadlocks off.
  return ledger.changes > changes || Findings(ledger) != known;
}

// What still waits counts for more once it is overdue.
void NoteOverdue(Ledger& ledger) {
  const auto note = [&](const auto& request) {
    if (ledger.InScope(request.gpu)) ledger.DueAt(request.requested_at + ledger.config.max_wait);
  };
  std::ranges::for_each(ledger.growths, note);
  std::ranges::for_each(ledger.contexts, note);
}

// Returns whether another pass may change something.
bool SendHints(Ledger& ledger) {
  NoteOverdue(ledger);
  const bool changed = SendContention(ledger);
  SendQueueBounds(ledger);
  SendArenaRequests(ledger);
  return changed;
}

}  // namespace

void RunPasses(Ledger& ledger) {
  BeginScope(ledger);
  bool changed = true;
  ledger.passes = 0;
  for (; ledger.passes < Scheduler::kMaxPasses && changed; ++ledger.passes) {
    changed = RunPass(ledger);
  }
  changed = SendHints(ledger) || changed;
  EndScope(ledger, !changed, [](Ledger& group) {
    RunPass(group);
    SendHints(group);
  });
}

}  // namespace reveza::scheduler
