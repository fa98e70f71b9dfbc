// Contexts, with the memory that their clients have pinned, leave the card and come back.
#include <algorithm>
#include <utility>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// A thread was in a call of the driver: the pause before the next attempt, doubled each time.
constexpr Time kFirstBackoff = std::chrono::seconds(1);
constexpr Time kMaxBackoff = std::chrono::minutes(5);
// A job whose contexts come back too early must be idle for longer, at most so many times as long.
constexpr int kMaxPatience = 64;

bool HasRoomOnHost(const Ledger& ledger, Bytes bytes) {
  if (ledger.ample_host) return true;
  return ledger.HostReserved() + bytes <= ledger.HostBudget();
}

// Returns whether the contexts of the client, whose job is suspended, can leave now.
bool MayLeaveNow(Ledger& ledger, const Client& client) {
  const bool holds_only_contexts = std::ranges::all_of(client.gpus, [](const auto& entry) {
    const Holding& on = entry.second;
    return on.footprint.resident == 0 && on.evict_serial == 0 && on.pinned_in_flight == 0 &&
           on.permitted == 0;
  });
  return ledger.HasMovableContexts(client) && client.contexts == Contexts::kHere &&
         client.gate == Gate::kClosed && holds_only_contexts && client.Unswappable() > 0 &&
         HasRoomOnHost(ledger, client.Unswappable()) && ledger.Reached(client.release_at);
}

void SendRelease(Ledger& ledger, Client& client) {
  client.swap_in_serial = 0;  // of a turn that was abandoned before it had credit
  client.contexts = Contexts::kLeaving;
  client.contexts_serial = ledger.NextSerial();
  client.contexts_deadline = ledger.now + ledger.config.evict_timeout;
  ledger.decisions.push_back(ReleaseContexts{client.id, client.contexts_serial});
}

Time IdleBeforeRelease(const Ledger& ledger, const Job& job) {
  return std::max(job.release_after, ledger.config.release_contexts_after);
}

bool AllFitAlone(const Ledger& ledger, GpuId gpu) {
  const Ledger::Frozen frozen(ledger);
  const Gpu& card = ledger.gpus.at(gpu);
  const Bytes reserved = ledger.ReservedOfAll(gpu);
  const auto fits = [&](const Job& job) {
    return ledger.EntryNeed(job, gpu) + reserved - ledger.Reserved(job, gpu) <= card.Limit();
  };
  bool all = std::ranges::all_of(card.jobs, [&](const Job* job) { return fits(*job); });
  if (reserved + card.parked.LargestMovable() > card.Limit()) {
    card.parked.ForEach([&](const Job& job) { all = all && fits(job); });
  }
  return all;
}

// Returns whether some job, or a request of one, fits on the GPU only if contexts of others leave.
bool LacksRoomOfContexts(const Ledger& ledger, GpuId gpu) {
  return !AllFitAlone(ledger, gpu) ||
         std::ranges::any_of(ledger.growths,
                             [&](const PendingGrowth& growth) {
                               return growth.gpu == gpu &&
                                      ledger.RequiredAlone(growth) > ledger.gpus.at(gpu).Limit();
                             }) ||
         std::ranges::any_of(ledger.contexts, [&](const PendingContext& context) {
           return context.gpu == gpu && !ContextFits(ledger, context);
         });
}

}  // namespace

bool MovableContextsFitOnHost(const Ledger& ledger, Bytes more) {
  if (ledger.ample_host) return true;
  return HasRoomOnHost(ledger, more + ledger.SumOverClients([&](const Client& client) {
    const bool stays = client.contexts == Contexts::kHere && ledger.HasMovableContexts(client);
    return stays ? client.Unswappable() : 0;
  }));
}

void UpdateCrowding(Ledger& ledger) {
  if (ledger.config.release_contexts_after == Time(0)) return;
  const JobSet active = ledger.ActiveJobs();
  const bool any = std::ranges::any_of(ledger.scope.jobs, [&](const Job* job) {
    return std::ranges::any_of(
        job->clients, [&](const auto& one) { return ledger.HasMovableContexts(one.second); });
  });
  const bool may_leave = any && MovableContextsFitOnHost(ledger, 0);
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    const bool was_crowded = std::exchange(card->crowded, false);
    // What was admitted while it was crowded is not closed. Where contexts do not fit beside each
    // other, because one is larger than estimated, as many leave as the host has room for.
    card->crowded = (may_leave && LacksRoomOfContexts(ledger, gpu)) ||
                    (was_crowded && !ledger.Fits(gpu, active)) ||
                    (any && !ledger.Fits(gpu, JobSet{}));
  }
}

Bytes ReleasableContexts(const Ledger& ledger, const Client& client, GpuId gpu) {
  const bool leaves = ledger.gpus.at(gpu).crowded && client.contexts == Contexts::kHere &&
                      ledger.HasMovableContexts(client);
  return leaves ? client.On(gpu).footprint.Fixed() : 0;
}

void ReleaseForOthers(Ledger& ledger, GpuId gpu, std::int64_t shortage) {
  for (Job* job : ledger.EvictionOrder(gpu)) {
    if (job->phase != Phase::kSuspended) continue;
    for (auto& [id, client] : job->clients) {
      const Bytes bytes = ReleasableContexts(ledger, client, gpu);
      if (shortage <= 0 || bytes == 0 || !ledger.Reached(client.release_at)) continue;
      EvictAllOf(ledger, client);
      if (MayLeaveNow(ledger, client)) SendRelease(ledger, client);
      if (client.contexts == Contexts::kHere && !client.Evicting()) continue;
      shortage -= static_cast<std::int64_t>(bytes);
    }
  }
}

void ReleaseIdleContexts(Ledger& ledger) {
  if (!ledger.TakeoverSettled()) return;
  for (Job* job : ledger.scope.jobs) {
    if (job->phase != Phase::kSuspended || ledger.WantsToRun(*job)) continue;
    const Time since = job->idle_since + IdleBeforeRelease(ledger, *job);
    for (auto& [id, client] : job->clients) {
      if (!MayLeaveNow(ledger, client)) continue;
      if (job->policy.paused || ledger.Reached(since)) SendRelease(ledger, client);
    }
  }
}

void SendRestores(Ledger& ledger) {
  if (!ledger.TakeoverSettled()) return;
  for (Job* job : ledger.scope.jobs) {
    if (job->phase != Phase::kEntering) continue;
    for (auto& [id, client] : job->clients) {
      const bool has_credit = std::ranges::all_of(client.gpus, [](const auto& entry) {
        return entry.second.credit >= entry.second.footprint.Fixed();
      });
      if (client.contexts != Contexts::kAway || !has_credit) continue;
      client.contexts = Contexts::kComing;
      client.contexts_serial = ledger.NextSerial();
      client.contexts_deadline = ledger.now + ledger.config.evict_timeout;
      ledger.decisions.push_back(RestoreContexts{id, client.contexts_serial});
    }
  }
}

void WithdrawCreditOfAbsent(Job& job) {
  for (auto& [id, client] : job.clients) {
    if (client.contexts != Contexts::kAway) continue;
    for (auto& [gpu, holding] : client.gpus) holding.credit = 0;
  }
}

bool HandleContextsReleased(Ledger& ledger, Client& client, std::uint32_t serial,
                            ContextRelease outcome) {
  if (client.contexts != Contexts::kLeaving || client.contexts_serial != serial) return false;
  client.contexts_deadline.reset();
  client.contexts = outcome == ContextRelease::kReleased ? Contexts::kAway : Contexts::kHere;
  if (outcome == ContextRelease::kReleased) {
    client.release_backoff = Time(0);
    for (auto& [gpu, holding] : client.gpus) holding.credit = 0;
    ledger.jobs.at(client.job).contexts_left = ledger.now;
  } else if (outcome == ContextRelease::kRefused) {
    client.movable_contexts = false;
  } else {
    client.release_backoff = std::clamp(2 * client.release_backoff, kFirstBackoff, kMaxBackoff);
    client.release_at = ledger.now + client.release_backoff;
  }
  return true;
}

bool HandleContextsRestored(Ledger& ledger, Client& client, std::uint32_t serial) {
  if (client.contexts != Contexts::kComing || client.contexts_serial != serial) return false;
  client.contexts_deadline.reset();
  client.contexts = Contexts::kHere;
  Job& job = ledger.jobs.at(client.job);
  if (!job.contexts_left) return true;
  const Time wait = IdleBeforeRelease(ledger, job);
  const bool too_early = ledger.now - *job.contexts_left < wait;
  job.release_after =
      too_early ? std::min(2 * wait, kMaxPatience * ledger.config.release_contexts_after) : Time(0);
  job.contexts_left.reset();
  return true;
}

}  // namespace reveza::scheduler
