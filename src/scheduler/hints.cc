#include "scheduler/hints.h"

#include <algorithm>

#include "scheduler/host.h"
#include "scheduler/slices.h"

namespace reveza::scheduler {
namespace {

constexpr Bytes kArenaStep = 64 * kMiB;

bool WaitsForRoom(const Books& books, const Job& job) {
  return job.phase == Phase::kOut && job.why != WaitReason::kGpuMemory && books.Wants(job);
}

bool EverythingFits(const Books& books) {
  JobSet all;
  for (const auto& [id, job] : books.jobs) all.insert(id);
  return std::all_of(books.gpus.begin(), books.gpus.end(),
                     [&](const auto& entry) { return books.Fits(entry.first, all); });
}

}  // namespace

bool Contended(const Books& books, const Job& job) {
  for (const auto& [id, other] : books.jobs) {
    if (id == job.id || !WaitsForRoom(books, other)) continue;
    for (const auto& [gpu, card] : books.gpus) {
      if (other.Uses(gpu) && job.Uses(gpu)) return true;
    }
  }
  for (const PendingGrowth& growth : books.growths) {
    if (growth.job != job.id && growth.obstacle != Obstacle::kFixedMemory && job.Uses(growth.gpu))
      return true;
  }
  return std::any_of(books.gpus.begin(), books.gpus.end(), [&](const auto& entry) {
    return entry.second.context_for && job.Uses(entry.first) &&
           !job.clients.contains(*entry.second.context_for);
  });
}

void TellContention(Books& books) {
  for (auto& [job_id, job] : books.jobs) {
    if (job.phase != Phase::kIn) continue;
    const bool contended = Contended(books, job);
    for (auto& [id, client] : job.clients) {
      const Time idle_after = IdleAfter(books, job);
      const bool outdated = contended && idle_after > 2 * client.idle_after_sent;
      if (client.gpus.empty()) continue;
      if (client.contention_sent.value_or(false) == contended && !outdated) continue;
      client.contention_sent = contended;
      client.idle_after_sent = idle_after;
      client.idle = false;
      books.decisions.push_back(SetContention{id, contended, idle_after});
    }
  }
}

void TellArenas(Books& books) {
  if (EverythingFits(books) || !books.AllAreKnown()) return;
  const Bytes reserved = books.HostReserved();
  Bytes left = books.config.host_budget - std::min(books.config.host_budget, reserved);
  for (auto& [job_id, job] : books.jobs) {
    for (auto& [id, client] : job.clients) {
      if (client.resident_only) continue;
      const Bytes held = Books::HostReserved(client);
      const Bytes wanted = RoundUp(HostShare(books, client), kArenaStep);
      const Bytes bytes = std::min(std::max(wanted, held), held + left);
      if (bytes <= client.arena_asked + client.arena_asked / 8) continue;
      left -= bytes - held;
      client.arena_asked = bytes;
      books.decisions.push_back(PrepareArena{id, bytes});
    }
  }
}

}  // namespace reveza::scheduler
