// The order of the passes.
#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace {

// A pass may enable another (a job that enters may then grow), but only a few times.
constexpr int kMaxPasses = 8;

void RestoreLimits(Ledger& ledger) {
  ledger.wake.reset();
  ledger.due.reset();
  ExpireOrders(ledger);
  UpdateCrowding(ledger);
  EnforcePauses(ledger);
  RestoreBudget(ledger);
}

// Returns whether a decision was made, or a job has changed its phase.
bool RunPass(Ledger& ledger) {
  const std::size_t before = ledger.decisions.size();
  RestoreLimits(ledger);
  if (!ledger.scope.everything && !ShortagesCanBeCovered(ledger)) {
    ConsiderEverything(ledger);
    RestoreLimits(ledger);
  }
  AbandonHopeless(ledger);
  ProcessGrowths(ledger);
  ProcessContexts(ledger);
  UpdateQueue(ledger);
  UpdateCompetitors(ledger);
  ChooseTurns(ledger);
  AlignDrains(ledger);
  MoveMemory(ledger);
  ReleaseIdleContexts(ledger);
  const bool changed = OpenGates(ledger);
  return changed || ledger.decisions.size() > before || BreakDeadlock(ledger);
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
  std::uint64_t changes = 0;
  for (int pass = 0; pass < kMaxPasses && changed; ++pass) {
    changes = ledger.changes;
    changed = RunPass(ledger);
  }
  changed = SendHints(ledger) || changed || ledger.changes > changes;
  EndScope(ledger, !changed, [](Ledger& group) {
    RunPass(group);
    SendHints(group);
  });
}

}  // namespace reveza::scheduler
