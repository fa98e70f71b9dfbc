#include <algorithm>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// Returns why a client of the job waits for a context; kNone if none does.
WaitReason ContextReason(const Ledger& ledger, const Job& job) {
  if (job.ContextRequests() == 0) return WaitReason::kNone;
  for (const PendingContext& context : ledger.contexts) {
    if (context.job != job.id) continue;
    if (context.obstacle == Obstacle::kHostMemory) return WaitReason::kHostMemory;
    const Gpu& gpu = ledger.gpus.at(context.gpu);
    return gpu.context_creator || gpu.approved_context ? WaitReason::kContext
                                                       : WaitReason::kGpuMemory;
  }
  return WaitReason::kNone;
}

JobState StateOf(const Ledger& ledger, const Job& job) {
  switch (job.phase) {
    case Phase::kEntering:
      return JobState::kEntering;
    case Phase::kRunning:
      return JobState::kRunning;
    case Phase::kLeaving:
      return JobState::kLeaving;
    case Phase::kSuspended:
      break;
  }
  if (job.policy.paused) return JobState::kPaused;
  if (ContextReason(ledger, job) != WaitReason::kNone) return JobState::kQueued;
  if (!ledger.WantsToRun(job)) return JobState::kIdle;
  return job.queued ? JobState::kQueued : JobState::kWaiting;
}

// Returns why a thread of a running job waits for memory; kNone if none does.
WaitReason GrowthReason(const Ledger& ledger, const Job& job) {
  if (job.Growths() == 0) return WaitReason::kNone;
  for (const PendingGrowth& growth : ledger.growths) {
    if (growth.job != job.id) continue;
    if (growth.obstacle == Obstacle::kFixedMemory) return WaitReason::kGpuMemory;
    if (growth.obstacle == Obstacle::kHostMemory) return WaitReason::kHostMemory;
    return WaitReason::kTurn;
  }
  return WaitReason::kNone;
}

WaitReason ReasonOf(const Ledger& ledger, const Job& job) {
  if (job.policy.paused) return WaitReason::kPaused;
  if (job.why != WaitReason::kNone) return job.why;
  const WaitReason reason = ContextReason(ledger, job);
  return reason != WaitReason::kNone ? reason : GrowthReason(ledger, job);
}

// Returns for what the job waits; kNone: while its memory is swapped in.
std::optional<WaitReason> WaitsFor(const Ledger& ledger, const Job& job) {
  if (job.in_turn) return std::nullopt;
  const JobState state = StateOf(ledger, job);
  if (state == JobState::kIdle) return std::nullopt;
  return state == JobState::kEntering ? WaitReason::kNone : ReasonOf(ledger, job);
}

std::array<Time, kWaitReasons> Waited(const Ledger& ledger, const Job& job) {
  std::array<Time, kWaitReasons> waited = job.waited;
  if (job.waits_for) {
    waited[static_cast<std::size_t>(*job.waits_for)] += ledger.now - job.waits_since;
  }
  return waited;
}

}  // namespace

void CountWait(const Ledger& ledger, Job& job) {
  const std::optional<WaitReason> reason = WaitsFor(ledger, job);
  if (reason == job.waits_for) return;
  job.waited = Waited(ledger, job);
  job.waits_for = reason;
  job.waits_since = ledger.now;
}

ClientView ViewOf(const Client& client) {
  ClientView view;
  view.id = client.id;
  view.job = client.job;
  for (const auto& [gpu, holding] : client.gpus) {
    view.gpus.push_back({gpu, holding.footprint, holding.credit, holding.evict_serial != 0});
  }
  view.arena = client.arena;
  view.gate_open = client.gate != Gate::kClosed;
  view.unpreemptible = client.unpreemptible;
  view.unresponsive = client.unresponsive;
  view.contexts_away = client.contexts == Contexts::kAway || client.contexts == Contexts::kComing;
  return view;
}

JobView ViewOf(const Ledger& ledger, const Job& job) {
  JobView view;
  view.id = job.id;
  view.state = StateOf(ledger, job);
  view.policy = job.policy;
  view.weight = job.weight;
  view.account = job.account;
  if (job.account) view.quota = ledger.quotas.at(*job.account);
  view.why = ReasonOf(ledger, job);
  view.blocked_by = job.blocked_by;
  view.waiting_since = job.waiting_since.value_or(Time(0));
  if (job.phase == Phase::kRunning && Contended(ledger, job))
    view.slice_ends = ClosableAt(ledger, job);
  view.ran = job.Ran(ledger.now);
  view.waited = Waited(ledger, job);
  view.turns = job.turns;
  view.aligned_drains = job.aligned_drains;
  view.failed_drains = job.failed_drains;
  for (const auto& [id, client] : job.clients) view.clients.push_back(id);
  return view;
}

GpuView ViewOf(const Ledger& ledger, GpuId id, const Gpu& gpu) {
  return {.id = id,
          .config = gpu.config,
          .external = gpu.external,
          .outstanding_credit = ledger.OutstandingCredit(id),
          .handover = gpu.handover};
}

std::vector<ClientView> Scheduler::Clients() const {
  std::vector<ClientView> views;
  for (const auto& [job_id, job] : ledger_->jobs) {
    for (const auto& [id, client] : job.clients) views.push_back(ViewOf(client));
  }
  return views;
}

std::vector<JobView> Scheduler::Jobs() const {
  std::vector<JobView> views;
  for (const auto& [id, job] : ledger_->jobs) views.push_back(ViewOf(*ledger_, job));
  return views;
}

std::vector<GpuView> Scheduler::Gpus() const {
  std::vector<GpuView> views;
  for (const auto& [id, gpu] : ledger_->gpus) views.push_back(ViewOf(*ledger_, id, gpu));
  return views;
}

Bytes Scheduler::HostReserved() const { return ledger_->HostReserved(); }

std::size_t Scheduler::JobsConsidered() const { return ledger_->considered; }

int Scheduler::Passes() const { return ledger_->passes; }

const char* ToText(Priority priority) {
  static constexpr const char* kTexts[] = {"low", "normal", "high"};
  return kTexts[static_cast<std::size_t>(priority)];
}

const char* ToText(JobState state) {
  static constexpr const char* kTexts[] = {"queued",  "idle",    "waiting", "entering",
                                           "running", "leaving", "paused"};
  return kTexts[static_cast<std::size_t>(state)];
}

const char* ToText(WaitReason reason) {
  static constexpr const char* kTexts[] = {
      "",
      "other jobs are in their slice",
      "another client is creating its context",
      "GPU memory held by pinned allocations and contexts of other jobs",
      "no host memory to evict into",
      "the running job fails to drain",
      "max_wait allows no more jobs in the rotation",
      "a process of the job does not answer",
      "the job is paused",
  };
  return kTexts[static_cast<std::size_t>(reason)];
}

}  // namespace reveza::scheduler
