#include "scheduler/view.h"

#include <algorithm>

#include "scheduler/hints.h"
#include "scheduler/slices.h"

namespace reveza::scheduler {
namespace {

bool WaitsForContext(const Books& books, const Job& job) {
  return std::any_of(books.contexts.begin(), books.contexts.end(),
                     [&](const PendingContext& context) { return context.job == job.id; });
}

JobState StateOf(const Books& books, const Job& job) {
  switch (job.phase) {
    case Phase::kEntering:
      return JobState::kEntering;
    case Phase::kIn:
      return JobState::kRunning;
    case Phase::kLeaving:
      return JobState::kLeaving;
    case Phase::kOut:
      break;
  }
  if (WaitsForContext(books, job)) return JobState::kQueued;
  if (!books.Wants(job)) return JobState::kIdle;
  return job.queued ? JobState::kQueued : JobState::kWaiting;
}

// Why a client of the job waits for a context, if one does.
WaitReason ContextReason(const Books& books, const Job& job) {
  for (const PendingContext& context : books.contexts) {
    if (context.job != job.id) continue;
    if (context.obstacle == Obstacle::kHostMemory) return WaitReason::kHostMemory;
    const Gpu& gpu = books.gpus.at(context.gpu);
    return gpu.maker || gpu.context_for ? WaitReason::kContext : WaitReason::kGpuMemory;
  }
  return WaitReason::kNone;
}

// Why a thread of a running job waits for memory, if one does.
WaitReason GrowthReason(const Books& books, const Job& job) {
  for (const PendingGrowth& growth : books.growths) {
    if (growth.job != job.id) continue;
    if (growth.obstacle == Obstacle::kFixedMemory) return WaitReason::kGpuMemory;
    if (growth.obstacle == Obstacle::kHostMemory) return WaitReason::kHostMemory;
    return WaitReason::kTurn;
  }
  return WaitReason::kNone;
}

}  // namespace

ClientView ViewOf(const Client& client) {
  ClientView view;
  view.id = client.id;
  view.job = client.job;
  for (const auto& [gpu, holding] : client.gpus) {
    view.gpus.push_back({gpu, holding.books, holding.credit});
  }
  view.arena = client.arena;
  view.gate_open = client.gate != Gate::kClosed;
  view.unpreemptible = client.unpreemptible;
  return view;
}

JobView ViewOf(const Books& books, const Job& job) {
  JobView view;
  view.id = job.id;
  view.state = StateOf(books, job);
  view.why = job.why;
  view.blocked_by = job.blocked_by;
  if (view.why == WaitReason::kNone) view.why = ContextReason(books, job);
  if (view.why == WaitReason::kNone) view.why = GrowthReason(books, job);
  view.waiting_since = job.waiting_since.value_or(Time(0));
  if (job.phase == Phase::kIn && Contended(books, job)) view.slice_ends = ClosableAt(books, job);
  view.ran = job.Ran(books.now);
  view.turns = job.turns;
  for (const auto& [id, client] : job.clients) view.clients.push_back(id);
  return view;
}

GpuView ViewOf(const Books& books, GpuId id, const Gpu& gpu) {
  GpuView view;
  view.id = id;
  view.config = gpu.config;
  view.external = gpu.external;
  view.credit_out = books.CreditOut(id);
  view.handover = gpu.handover;
  return view;
}

const char* ToText(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "queued";
    case JobState::kIdle:
      return "idle";
    case JobState::kWaiting:
      return "waiting";
    case JobState::kEntering:
      return "entering";
    case JobState::kRunning:
      return "running";
    case JobState::kLeaving:
      return "leaving";
  }
  return "unknown";
}

const char* ToText(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone:
      return "";
    case WaitReason::kTurn:
      return "others are in the slice";
    case WaitReason::kContext:
      return "another client makes its context";
    case WaitReason::kGpuMemory:
      return "GPU memory that cannot be moved is in the way";
    case WaitReason::kHostMemory:
      return "no host memory to move others into";
    case WaitReason::kUnpreemptible:
      return "the job in the slice does not drain";
    case WaitReason::kQueue:
      return "as many jobs take turns as max_wait allows";
  }
  return "unknown";
}

}  // namespace reveza::scheduler
