// Core: what jobs used, for the sink of usage.
#include <algorithm>
#include <set>

#include "reveza/gpu/daemon/core.h"

namespace reveza::daemon {

using usage::Counter;

namespace {

// Returns the counters of a job, with the time of one GPU.
usage::Counters CountersOf(const scheduler::JobView& view, const JobEntry& entry) {
  usage::Counters counters;
  counters[Counter::kGpuTime] = view.ran.count();
  counters[Counter::kTurns] = static_cast<std::int64_t>(view.turns);
  counters[Counter::kBytesOut] = static_cast<std::int64_t>(entry.copied_out);
  counters[Counter::kBytesIn] = static_cast<std::int64_t>(entry.copied_in);
  for (std::size_t reason = 0; reason < view.waited.size(); ++reason) {
    counters[usage::kFirstWait + reason] = view.waited[reason].count();
  }
  return counters;
}

}  // namespace

void Core::ReportUsage(const scheduler::JobView& view) {
  const auto entry = jobs_.find(view.id);
  if (entry == jobs_.end()) return;
  JobEntry& job = entry->second;
  const usage::Counters counters = CountersOf(view, job);
  usage::Counters used = counters - job.reported;
  job.reported = counters;
  if (used == usage::Counters{}) return;
  std::set<GpuId> gpus;
  for (const auto& [id, client] : clients_) {
    if (client.job == view.id) gpus.insert(client.admitted.begin(), client.admitted.end());
  }
  used[Counter::kGpuTime] *= static_cast<std::int64_t>(std::max<std::size_t>(gpus.size(), 1));
  usage_->Add({.job = view.id, .user = job.owner, .name = job.name, .counters = used});
}

void Core::ReportUsage() {
  if (usage_ == nullptr) return;
  scheduler_.Tick(clock_.Now());
  for (const auto& view : scheduler_.Jobs()) ReportUsage(view);
}

}  // namespace reveza::daemon
