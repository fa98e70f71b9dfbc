#include "scheduler/growth.h"

#include <algorithm>

#include "scheduler/gates.h"
#include "scheduler/room.h"

namespace reveza::scheduler {
namespace {

void Answer(Books& books, const PendingGrowth& growth, Growth answer) {
  books.decisions.push_back(
      AnswerGrowth{growth.client, growth.request, growth.gpu, answer, Bytes{0}});
}

// The card could not serve it with nobody else on it.
bool Impossible(const Books& books, const PendingGrowth& growth) {
  return books.Claim(books.jobs.at(growth.job), growth.gpu) + growth.bytes >
         books.gpus.at(growth.gpu).Limit();
}

// Fixed memory of others is in the way.
bool Blocked(const Books& books, const PendingGrowth& growth) {
  return books.Claim(books.jobs.at(growth.job), growth.gpu) + growth.bytes +
             books.FixedOfOthers(growth.job, growth.gpu) >
         books.gpus.at(growth.gpu).Limit();
}

// Nothing that others do by themselves will let this job go on.
bool Stuck(const Books& books, const Job& job) {
  const bool blocked = std::any_of(
      books.growths.begin(), books.growths.end(),
      [&](const PendingGrowth& growth) { return growth.job == job.id && growth.blocked; });
  return blocked || (job.phase == Phase::kOut && books.Wants(job) && !books.CanRunAlone(job));
}

// Everyone whose fixed memory is in the way of `growth` is stuck as well.
bool Deadlocked(const Books& books, const PendingGrowth& growth) {
  return std::all_of(books.jobs.begin(), books.jobs.end(), [&](const auto& entry) {
    const Job& job = entry.second;
    return job.id == growth.job || books.Fixed(job, growth.gpu) == 0 || Stuck(books, job);
  });
}

// Of the growths that block each other, refuses one of the youngest job.
void BreakDeadlock(Books& books) {
  auto youngest = books.growths.end();
  for (auto growth = books.growths.begin(); growth != books.growths.end(); ++growth) {
    if (!growth->blocked || !Deadlocked(books, *growth)) continue;
    if (youngest == books.growths.end() ||
        books.jobs.at(growth->job).joined > books.jobs.at(youngest->job).joined) {
      youngest = growth;
    }
  }
  if (youngest == books.growths.end()) return;
  Answer(books, *youngest, Growth::kRefused);
  books.growths.erase(youngest);
}

void Approve(Books& books, PendingGrowth& growth) {
  Job& job = books.jobs.at(growth.job);
  switch (MakeFit(books, growth.gpu, growth.bytes, growth.job, /*best_effort=*/false)) {
    case Fit::kYes:
      growth.approved = true;
      break;
    case Fit::kItself:
      if (books.Reached(job.closable_at)) Leave(books, job);
      break;
    case Fit::kNotNow:
      break;
  }
}

// Growths that need no wait are answered; true: this one is.
bool Settle(Books& books, PendingGrowth& growth) {
  if (Impossible(books, growth) && !growth.approved) {
    Answer(books, growth, Growth::kRefused);
    return true;
  }
  growth.blocked = !growth.approved && Blocked(books, growth);
  const bool open = books.Find(growth.client)->gate == Gate::kOpen;
  if (open || growth.blocked || growth.kind == GrowthKind::kPinned) return false;
  Answer(books, growth, Growth::kLater);
  return true;
}

}  // namespace

void ConsiderGrowths(Books& books) {
  std::erase_if(books.growths, [&](PendingGrowth& growth) { return Settle(books, growth); });
  BreakDeadlock(books);
  std::set<GpuId> waiting;  // in order of asking, on each GPU
  for (PendingGrowth& growth : books.growths) {
    if (growth.blocked || growth.approved || waiting.contains(growth.gpu)) continue;
    const Client& client = *books.Find(growth.client);
    const Phase phase = books.jobs.at(growth.job).phase;
    if (client.gate != Gate::kOpen || (phase != Phase::kIn && phase != Phase::kEntering)) continue;
    Approve(books, growth);
    if (!growth.approved) waiting.insert(growth.gpu);
  }
  // A job that has just begun to leave needs no memory for its swappable growths.
  std::erase_if(books.growths, [&](PendingGrowth& growth) { return Settle(books, growth); });
}

}  // namespace reveza::scheduler
