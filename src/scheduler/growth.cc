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
bool Impossible(Books& books, const PendingGrowth& growth) {
  const Gpu& card = books.gpus.at(growth.gpu);
  const Bytes wanted = books.Claim(books.jobs.at(growth.job), growth.gpu) + growth.bytes;
  return wanted > card.Whole() ||
         (wanted > card.Limit() && books.OutsideStays(card, growth.asked_at));
}

// What others of the same job will have by then: what is approved, and what was asked for earlier
// and comes with the entry of the job.
Bytes OfTheSameJob(const Books& books, const PendingGrowth& growth) {
  Bytes sum = 0;
  bool earlier = true;
  for (const PendingGrowth& other : books.growths) {
    if (&other == &growth) {
      earlier = false;
    } else if (other.job == growth.job && other.gpu == growth.gpu) {
      sum += other.approved || (earlier && books.ComesWithEntry(other)) ? other.bytes : 0;
    }
  }
  return sum;
}

// What it takes to have it with nobody else in.
Bytes TakenByThen(const Books& books, const PendingGrowth& growth) {
  return books.Claim(books.jobs.at(growth.job), growth.gpu) + OfTheSameJob(books, growth) +
         growth.bytes + books.FixedOfOthers(growth.job, growth.gpu);
}

Obstacle ObstacleOf(Books& books, const PendingGrowth& growth) {
  if (growth.approved) return Obstacle::kNone;
  const bool swappable =
      growth.kind == GrowthKind::kSwappable && !books.Find(growth.client)->resident_only;
  if (TakenByThen(books, growth) > books.gpus.at(growth.gpu).Limit()) {
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

// What is in its way is in part memory of processes outside, which may yet make room.
bool OutsideMayYield(Books& books, const PendingGrowth& growth) {
  const Gpu& card = books.gpus.at(growth.gpu);
  if (growth.obstacle == Obstacle::kFixedMemory) {
    return TakenByThen(books, growth) <= card.Whole() && !books.OutsideStays(card, growth.asked_at);
  }
  bool may = false;  // they also add to what has to find room on the host
  for (const auto& [gpu, other] : books.gpus) {
    may = (other.external > 0 && !books.OutsideStays(other, growth.asked_at)) || may;
  }
  return may;
}

// What has no room on the host now has none later either: nobody grows on, and no eviction that
// failed is to be tried again.
bool HostMemoryIsAllThereIs(Books& books) {
  bool rests = false;
  for (const auto& [id, job] : books.jobs) rests = !books.Reached(job.evictable_at) || rests;
  return AllHaveSettled(books) && !rests;
}

void Approve(Books& books, PendingGrowth& growth) {
  Job& job = books.jobs.at(growth.job);
  growth.approved = true;
  const Fit fit = MakeFit(books, growth.gpu, growth.job);
  growth.approved = fit == Fit::kYes;
  if (fit == Fit::kNoHostMemory) growth.obstacle = Obstacle::kHostMemory;
  if (fit == Fit::kItself && books.Reached(job.closable_at)) Leave(books, job);
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

bool MayBeApproved(const Books& books, const PendingGrowth& growth) {
  if (growth.Blocked() || growth.approved) return false;
  // A context that is being made may turn out larger than thought; what is pinned stays.
  const std::optional<ClientId>& maker = books.gpus.at(growth.gpu).maker;
  if (growth.kind == GrowthKind::kPinned && maker && *maker != growth.client) return false;
  const Job& job = books.jobs.at(growth.job);
  const bool is_in = job.phase == Phase::kIn || job.phase == Phase::kEntering;
  return is_in && job.clients.at(growth.client).gate == Gate::kOpen;
}

}  // namespace

void ConsiderGrowths(Books& books) {
  if (!books.AllAreKnown()) return;
  std::set<GpuId> waiting;  // in order of asking, on each GPU
  // One after the other: what one is given or promised is not there for the next.
  for (auto growth = books.growths.begin(); growth != books.growths.end();) {
    if (Settle(books, *growth)) {
      growth = books.growths.erase(growth);
      continue;
    }
    if (MayBeApproved(books, *growth) && !waiting.contains(growth->gpu)) {
      Approve(books, *growth);
      if (!growth->approved && !growth->Blocked()) waiting.insert(growth->gpu);
    }
    ++growth;
  }
  // A job that has just begun to leave needs no memory for its swappable growths.
  std::erase_if(books.growths, [&](PendingGrowth& growth) {
    return books.Find(growth.client)->gate != Gate::kOpen && Settle(books, growth);
  });
}

bool BreakDeadlock(Books& books) {
  for (const auto& [gpu, card] : books.gpus) {
    if (books.Returning(gpu) > 0) return false;
  }
  auto youngest = books.growths.end();
  for (auto growth = books.growths.begin(); growth != books.growths.end(); ++growth) {
    if (!growth->Blocked() || !Deadlocked(books, *growth)) continue;
    if (OutsideMayYield(books, *growth)) continue;
    if (growth->obstacle == Obstacle::kHostMemory && !HostMemoryIsAllThereIs(books)) continue;
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
