#include "scheduler/growth.h"

#include <algorithm>

#include "scheduler/gates.h"
#include "scheduler/host.h"
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

// Fixed memory that is as good as given, and not in the books of others yet.
Bytes PromisedToOthers(const Books& books, const PendingGrowth& growth) {
  Bytes sum = 0;
  for (const PendingGrowth& other : books.growths) {
    const bool promised = other.approved && other.kind == GrowthKind::kPinned;
    if (promised && other.gpu == growth.gpu && other.job != growth.job) sum += other.bytes;
  }
  const Gpu& gpu = books.gpus.at(growth.gpu);
  const bool context = gpu.context_for && books.job_of.at(*gpu.context_for) != growth.job;
  return sum + (context ? books.ContextEstimate(gpu) : 0);
}

Obstacle ObstacleOf(Books& books, const PendingGrowth& growth) {
  if (growth.approved) return Obstacle::kNone;
  const Job& job = books.jobs.at(growth.job);
  const bool swappable =
      growth.kind == GrowthKind::kSwappable && !books.Find(growth.client)->resident_only;
  if (books.Claim(job, growth.gpu) + growth.bytes + books.FixedOfOthers(job.id, growth.gpu) +
          PromisedToOthers(books, growth) >
      books.gpus.at(growth.gpu).Limit()) {
    return Obstacle::kFixedMemory;
  }
  const Extra extra{growth.client, growth.gpu, swappable ? growth.bytes : 0,
                    swappable ? 0 : growth.bytes};
  return HostAllows(books, extra) ? Obstacle::kNone : Obstacle::kHostMemory;
}

bool HasBlockedGrowth(const Books& books, ClientId client) {
  return std::any_of(books.growths.begin(), books.growths.end(), [&](const auto& growth) {
    return growth.client == client && growth.Blocked();
  });
}

// No thread of the job will go on by itself.
bool Stuck(const Books& books, const Job& job) {
  const bool blocked =
      std::any_of(books.growths.begin(), books.growths.end(),
                  [&](const auto& growth) { return growth.job == job.id && growth.Blocked(); });
  switch (job.phase) {
    case Phase::kEntering:
    case Phase::kLeaving:
      return false;
    case Phase::kIn:
      return blocked && std::all_of(job.clients.begin(), job.clients.end(), [&](const auto& entry) {
               const Client& client = entry.second;
               return client.idle || client.gpus.empty() || HasBlockedGrowth(books, client.id);
             });
    case Phase::kOut:
      break;
  }
  const bool no_context =
      std::any_of(books.contexts.begin(), books.contexts.end(), [&](const auto& context) {
        return context.job == job.id && context.obstacle != Obstacle::kNone;
      });
  const bool no_turn =
      books.Wants(job) && (job.why == WaitReason::kHostMemory || !books.CanRunAlone(job));
  return blocked || no_context || no_turn;
}

bool HoldsMemory(const Books& books, const Job& job) {
  return std::any_of(books.gpus.begin(), books.gpus.end(),
                     [&](const auto& entry) { return books.Claim(job, entry.first) > 0; });
}

// Everyone who is in the way of `growth`, with fixed memory or on the host, is stuck as well.
bool Deadlocked(const Books& books, const PendingGrowth& growth) {
  return std::all_of(books.jobs.begin(), books.jobs.end(), [&](const auto& entry) {
    const Job& job = entry.second;
    const bool in_the_way = growth.obstacle == Obstacle::kHostMemory
                                ? HoldsMemory(books, job)
                                : books.Fixed(job, growth.gpu) > 0;
    return job.id == growth.job || !in_the_way || Stuck(books, job);
  });
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
  growth.obstacle = ObstacleOf(books, growth);
  const bool open = books.Find(growth.client)->gate == Gate::kOpen;
  if (open || growth.Blocked() || growth.kind == GrowthKind::kPinned) return false;
  Answer(books, growth, Growth::kLater);
  // It will be allocated, which the books show only then.
  const Holding& holding = *books.Find(growth.client, growth.gpu);
  const Bytes expected = holding.books.Swappable() + growth.bytes;
  NotePeak(books, growth.gpu, *books.Find(growth.client), expected);
  return true;
}

}  // namespace

void ConsiderGrowths(Books& books) {
  std::erase_if(books.growths, [&](PendingGrowth& growth) { return Settle(books, growth); });
  std::set<GpuId> waiting;  // in order of asking, on each GPU
  for (PendingGrowth& growth : books.growths) {
    if (growth.Blocked() || growth.approved || waiting.contains(growth.gpu)) continue;
    // A context that is being made may turn out larger than thought; what is pinned stays.
    const std::optional<ClientId>& maker = books.gpus.at(growth.gpu).maker;
    if (growth.kind == GrowthKind::kPinned && maker && *maker != growth.client) continue;
    const Client& client = *books.Find(growth.client);
    const Phase phase = books.jobs.at(growth.job).phase;
    if (client.gate != Gate::kOpen || (phase != Phase::kIn && phase != Phase::kEntering)) continue;
    Approve(books, growth);
    if (!growth.approved) waiting.insert(growth.gpu);
  }
  // A job that has just begun to leave needs no memory for its swappable growths.
  std::erase_if(books.growths, [&](PendingGrowth& growth) { return Settle(books, growth); });
}

bool BreakDeadlock(Books& books) {
  for (const auto& [gpu, card] : books.gpus) {
    if (books.Returning(gpu) > 0) return false;
  }
  auto youngest = books.growths.end();
  for (auto growth = books.growths.begin(); growth != books.growths.end(); ++growth) {
    if (!growth->Blocked() || !Deadlocked(books, *growth)) continue;
    if (growth->obstacle == Obstacle::kHostMemory && !AllHaveSettled(books)) continue;
    if (youngest == books.growths.end() ||
        books.jobs.at(growth->job).joined > books.jobs.at(youngest->job).joined) {
      youngest = growth;
    }
  }
  if (youngest == books.growths.end()) return false;
  Answer(books, *youngest, Growth::kRefused);
  books.growths.erase(youngest);
  return true;
}

}  // namespace reveza::scheduler
