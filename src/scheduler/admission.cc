#include "scheduler/admission.h"

#include <algorithm>

#include "scheduler/host.h"
#include "scheduler/room.h"
#include "scheduler/slices.h"

namespace reveza::scheduler {
namespace {

bool Active(const Books& books, const Job& job) {
  return job.phase != Phase::kOut || books.Wants(job);
}

std::vector<Job*> ActiveByRank(Books& books) {
  std::vector<Job*> active;
  for (auto& [id, job] : books.jobs) {
    if (Active(books, job)) active.push_back(&job);
  }
  std::sort(active.begin(), active.end(),
            [](const Job* a, const Job* b) { return a->rank < b->rank; });
  return active;
}

// How many jobs may rotate on a GPU; nothing when all that want to run fit together.
std::optional<std::size_t> Places(const Books& books, GpuId gpu, const std::vector<Job*>& active) {
  JobSet all;
  for (const Job* job : active) all.insert(job->id);
  if (books.Fits(gpu, all)) return std::nullopt;
  const Time turn = SliceLength(books, gpu) + HandoverCost(books, gpu);
  return std::max<std::size_t>(1, static_cast<std::size_t>(books.config.max_wait / turn));
}

// Marks, in order of rank, who rotates: who finds a place on each of its GPUs.
void Seat(const std::vector<Job*>& active,
          const std::map<GpuId, std::optional<std::size_t>>& places) {
  std::map<GpuId, std::size_t> taken;
  for (Job* job : active) {
    job->queued = false;
    for (const auto& [gpu, limit] : places) {
      if (limit && job->Uses(gpu) && taken[gpu] >= *limit) job->queued = true;
    }
    if (job->queued) continue;
    for (const auto& [gpu, limit] : places) {
      if (job->Uses(gpu)) ++taken[gpu];
    }
  }
}

// Ageing: who queued for max_wait takes the place of the eldest that rotated for as long.
bool PassOnePlace(Books& books, const std::vector<Job*>& active) {
  for (const Job* waiter : active) {
    if (!waiter->queued || !waiter->queued_since) continue;
    if (!books.Reached(*waiter->queued_since + books.config.max_wait)) continue;
    for (Job* job : active) {
      if (job->queued || job->rank > waiter->rank) continue;
      const bool shares = std::any_of(books.gpus.begin(), books.gpus.end(), [&](const auto& entry) {
        return job->Uses(entry.first) && waiter->Uses(entry.first);
      });
      if (!shares || !job->admitted_since) continue;
      if (!books.Reached(*job->admitted_since + books.config.max_wait)) continue;
      job->rank = ++books.next_rank;
      return true;
    }
  }
  return false;
}

bool ImpossibleEvenAlone(Books& books, const PendingContext& context, Bytes estimate) {
  const Gpu& card = books.gpus.at(context.gpu);
  const Bytes wanted = books.Claim(books.jobs.at(context.job), context.gpu) + estimate;
  return wanted > card.Whole() ||
         (wanted > card.Limit() && books.OutsideStays(card, context.asked_at));
}

Obstacle ObstacleOf(Books& books, const PendingContext& context, Bytes estimate) {
  const Job& job = books.jobs.at(context.job);
  if (!AllCouldRunAlone(books, job, context.gpu, estimate)) return Obstacle::kFixedMemory;
  const Extra extra{context.client, context.gpu, 0, estimate};
  return HostAllows(books, extra) ? Obstacle::kNone : Obstacle::kHostMemory;
}

}  // namespace

bool AllCouldRunAlone(const Books& books, const Job& job, GpuId gpu, Bytes bytes) {
  const Bytes limit = books.gpus.at(gpu).Limit();
  for (const auto& [id, other] : books.jobs) {
    if (!other.Uses(gpu) && id != job.id) continue;
    const Bytes claim = books.Claim(other, gpu);
    // Who could not run on an empty card is in nobody's way.
    if (id != job.id && claim > limit) continue;
    if (claim + books.FixedOfOthers(id, gpu) + bytes > limit) return false;
  }
  return true;
}

void ConsiderContexts(Books& books) {
  if (!books.AllAreKnown()) return;
  for (auto& [gpu, card] : books.gpus) {
    if (card.maker && books.Reached(card.maker_limit)) card.maker.reset();
    if (card.maker || card.context_for) continue;
    const Bytes estimate = books.ContextEstimate(card);
    for (PendingContext& context : books.contexts) {
      if (context.gpu != gpu) continue;
      if (ImpossibleEvenAlone(books, context, estimate)) {
        // No waiting will make room: let the driver say what it says to a full card.
        const std::int64_t free = std::max<std::int64_t>(books.Free(gpu), 0);
        AdmitNow(books, gpu, context.client, std::min(estimate, static_cast<Bytes>(free)));
        break;
      }
      context.obstacle = ObstacleOf(books, context, estimate);
      if (context.obstacle != Obstacle::kNone) continue;
      card.context_for = context.client;
      const Fit fit = MakeFit(books, gpu, 0);
      if (fit != Fit::kYes) card.context_for.reset();
      if (fit != Fit::kNoHostMemory) break;
      context.obstacle = Obstacle::kHostMemory;
    }
  }
}

void AdmitNow(Books& books, GpuId gpu, ClientId client, Bytes credit) {
  Gpu& card = books.gpus.at(gpu);
  card.context_for.reset();
  card.maker = client;
  card.maker_limit = books.now + books.config.context_limit;
  Holding& holding = books.Find(client)->gpus[gpu];
  holding.making_context = true;
  holding.context_credit += credit;
  holding.credit += credit;
  holding.context_before = holding.books.context;
  books.contexts.remove_if([&](const PendingContext& context) {
    return context.client == client && context.gpu == gpu;
  });
  books.decisions.push_back(AdmitContext{client, gpu, credit});
}

void ContextHasEnded(Books& books, ClientId client, GpuId gpu, Bytes overhead) {
  Holding* holding = books.Find(client, gpu);
  if (holding == nullptr || !holding->making_context) return;
  Gpu& card = books.gpus.at(gpu);
  if (card.maker == client) card.maker.reset();
  card.largest_context = std::max(card.largest_context, overhead);
  holding->credit -= std::min(holding->credit, holding->context_credit);
  holding->context_credit = 0;
  holding->making_context = false;
  holding->credit += overhead;
  holding->books.context = std::max(holding->books.context, holding->context_before + overhead);
}

void UpdateQueue(Books& books) {
  const std::size_t most = books.jobs.size();
  for (std::size_t round = 0; round <= most; ++round) {
    const std::vector<Job*> active = ActiveByRank(books);
    std::map<GpuId, std::optional<std::size_t>> places;
    for (const auto& [gpu, card] : books.gpus) places[gpu] = Places(books, gpu, active);
    Seat(active, places);
    for (Job* job : active) {
      std::optional<Time>& since = job->queued ? job->queued_since : job->admitted_since;
      if (!since) since = books.now;
      (job->queued ? job->admitted_since : job->queued_since).reset();
    }
    if (!PassOnePlace(books, active)) break;
  }
  for (auto& [id, job] : books.jobs) {
    if (Active(books, job)) continue;
    job.queued = false;
    job.queued_since.reset();
    job.admitted_since.reset();
  }
}

}  // namespace reveza::scheduler
