#include "reveza/gpu/scheduler/scope.h"

#include <algorithm>
#include <utility>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

void Insert(std::vector<Job*>& jobs, Job& job) {
  const auto place = std::ranges::lower_bound(jobs, job.id, {}, &Job::id);
  if (place == jobs.end() || *place != &job) jobs.insert(place, &job);
}

void UpdateHostBound(Ledger& ledger, Job& job) {
  const Bytes bound = HostBound(ledger, job);
  ledger.host_bound += bound - std::exchange(job.host_bound, bound);
}

using Times = std::set<std::pair<Time, GpuId>>;

void Set(Times& times, GpuId gpu, std::optional<Time>& known, std::optional<Time> time) {
  if (known == time) return;
  if (known) times.erase({*known, gpu});
  if (time) times.emplace(*time, gpu);
  known = time;
}

void LeaveScope(Ledger& ledger) {
  for (const auto& [gpu, card] : ledger.scope.gpus) card->in_scope = false;
  ledger.scope.jobs.clear();
  ledger.scope.gpus.clear();
  ledger.scope.everything = false;
  ledger.scope.groups = ledger.scope.evicting = 0;
}

// Adds the group of a GPU.
void AddGroup(Ledger& ledger, GpuId first) {
  Gpu* card = &ledger.gpus.at(first);
  if (std::exchange(card->in_scope, true)) return;
  ++ledger.scope.groups;
  std::vector<std::pair<GpuId, Gpu*>>& gpus = ledger.scope.gpus;
  std::size_t next = gpus.size();
  gpus.emplace_back(first, card);
  for (; next < gpus.size(); ++next) {
    card = gpus[next].second;
    card->group = ledger.scope.groups;
    ledger.scope.evicting += card->evicting ? 1 : 0;
    for (const Job* job : card->jobs) {
      if (job->uses.size() == 1) continue;
      for (const GpuId gpu : job->uses) {
        Gpu& other = ledger.gpus.at(gpu);
        if (std::exchange(other.in_scope, true)) continue;
        gpus.emplace_back(gpu, &other);
      }
    }
  }
}

// Collects the jobs of the GPUs in scope, and those that use none.
void AddJobs(Ledger& ledger) {
  std::vector<Job*>& jobs = ledger.scope.jobs;
  std::ranges::sort(ledger.scope.gpus, {}, &std::pair<GpuId, Gpu*>::first);
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    jobs.insert(jobs.end(), card->jobs.begin(), card->jobs.end());
  }
  jobs.insert(jobs.end(), ledger.homeless.begin(), ledger.homeless.end());
  if (ledger.scope.gpus.size() == 1 && ledger.homeless.empty()) return;
  std::ranges::sort(jobs, {}, &Job::id);
  const auto duplicates = std::ranges::unique(jobs);
  jobs.erase(duplicates.begin(), duplicates.end());
}

bool HasAmpleHost(const Ledger& ledger) {
  return !ledger.config.consider_everything && ledger.host_bound <= ledger.config.host_budget;
}

// Returns whether groups do not depend on each other.
bool IsDivisible(const Ledger& ledger) {
  return ledger.ample_host && !ledger.has_quotas && ledger.takeover_settled_at <= ledger.now &&
         std::ranges::none_of(ledger.growths, [](const PendingGrowth& growth) {
           return growth.obstacle == Obstacle::kHostMemory;
         });
}

std::vector<GpuId> GpusToWake(Ledger& ledger) {
  std::vector<GpuId> gpus = std::exchange(ledger.touched_gpus, {});
  const auto take = [&](Times& times, std::optional<Time> Gpu::* known) {
    while (!times.empty() && times.begin()->first <= ledger.now) {
      gpus.push_back(times.begin()->second);
      (ledger.gpus.at(gpus.back()).*known).reset();
      times.erase(times.begin());
    }
  };
  take(ledger.wakes, &Gpu::wake);
  take(ledger.dues, &Gpu::due);
  return gpus;
}

void SetWakes(Ledger& ledger) {
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    Set(ledger.wakes, gpu, card->wake, ledger.wake);
    Set(ledger.dues, gpu, card->due, ledger.due);
  }
  ledger.common_wake = ledger.homeless.empty() ? std::nullopt : ledger.wake;
}

// Finds out when to wake each of several groups: passes that change nothing tell.
void SetWakeOfGroups(Ledger& ledger, void (*pass)(Ledger&)) {
  std::set<GpuId> left;
  for (const auto& [gpu, card] : ledger.scope.gpus) left.insert(gpu);
  while (!left.empty()) {
    LeaveScope(ledger);
    AddGroup(ledger, *left.begin());
    AddJobs(ledger);
    pass(ledger);
    SetWakes(ledger);
    for (const auto& [gpu, card] : ledger.scope.gpus) left.erase(gpu);
  }
}

void WakeAsOne(Ledger& ledger) {
  for (auto& [gpu, card] : ledger.gpus) {
    card.wake.reset();
    card.due.reset();
  }
  ledger.wakes.clear();
  ledger.dues.clear();
  ledger.common_wake = ledger.wake;
}

}  // namespace

void Register(Ledger& ledger, Job& job) {
  Touch(ledger, job);
  std::vector<GpuId> uses;
  for (const auto& [id, client] : job.clients) {
    for (const auto& [gpu, holding] : client.gpus) uses.push_back(gpu);
  }
  std::ranges::sort(uses);
  const auto duplicates = std::ranges::unique(uses);
  uses.erase(duplicates.begin(), duplicates.end());
  for (const GpuId gpu : job.uses) std::erase(ledger.gpus.at(gpu).jobs, &job);
  std::erase(ledger.homeless, &job);
  job.uses = std::move(uses);
  for (const GpuId gpu : job.uses) Insert(ledger.gpus.at(gpu).jobs, job);
  if (job.uses.empty()) Insert(ledger.homeless, job);
  for (const GpuId gpu : job.uses) Touch(ledger, gpu);
}

void Unregister(Ledger& ledger, Job& job) {
  Touch(ledger, job);
  for (const GpuId gpu : job.uses) std::erase(ledger.gpus.at(gpu).jobs, &job);
  std::erase(ledger.homeless, &job);
  ledger.host_bound -= job.host_bound;
}

void Touch(Ledger& ledger, Job& job) {
  Unpark(ledger, job);
  ledger.touched_jobs.push_back(job.id);
  for (const GpuId gpu : job.uses) Touch(ledger, gpu);
}

void Touch(Ledger& ledger, GpuId gpu) { ledger.touched_gpus.push_back(gpu); }

void BeginScope(Ledger& ledger) {
  for (const JobId id : std::exchange(ledger.touched_jobs, {})) {
    const auto job = ledger.jobs.find(id);
    if (job != ledger.jobs.end()) UpdateHostBound(ledger, job->second);
  }
  ledger.ample_host = HasAmpleHost(ledger);
  if (!ledger.divided || !IsDivisible(ledger)) return ConsiderEverything(ledger);
  LeaveScope(ledger);
  for (const GpuId gpu : GpusToWake(ledger)) AddGroup(ledger, gpu);
  AddJobs(ledger);
}

void ConsiderEverything(Ledger& ledger) {
  LeaveScope(ledger);
  ledger.divided = false;
  ledger.touched_gpus.clear();
  for (auto& [id, job] : ledger.jobs) Unpark(ledger, job);
  for (const auto& [gpu, card] : ledger.gpus) AddGroup(ledger, gpu);
  AddJobs(ledger);
  ledger.scope.everything = true;
}

void EndScope(Ledger& ledger, bool settled, void (*pass)(Ledger&)) {
  ledger.considered = ledger.scope.jobs.size();
  for (Job* job : ledger.scope.jobs) {
    UpdateHostBound(ledger, *job);
    CountWait(ledger, *job);
    if (TakesTokens(*job) != job->takes_tokens) SettleTokens(ledger, *job);
  }
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    ledger.evicting -= std::exchange(card->evicting, ledger.PendingEvictions(gpu) > 0) ? 1 : 0;
    ledger.evicting += card->evicting ? 1 : 0;
  }
  if (ledger.evicting > 0) ledger.deadlocks_unseen = true;
  ledger.ample_host = HasAmpleHost(ledger);
  // Passes over some groups have found out that their shortages can be covered.
  ledger.divided =
      IsDivisible(ledger) && (!ledger.scope.everything || ShortagesCanBeCovered(ledger));
  if (!ledger.divided) {
    WakeAsOne(ledger);
  } else {
    ParkJobs(ledger);
    if (settled && ledger.scope.groups > 1) {
      SetWakeOfGroups(ledger, pass);
    } else {
      SetWakes(ledger);
    }
    if (!settled) {
      for (const auto& [gpu, card] : ledger.scope.gpus) Touch(ledger, gpu);
    }
  }
  LeaveScope(ledger);
}

}  // namespace reveza::scheduler
