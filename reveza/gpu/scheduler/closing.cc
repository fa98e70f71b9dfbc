// Which jobs are closed for the memory of others, and in which order.
#include <algorithm>
#include <tuple>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

// False during the backoff after a failed drain.
bool SliceExpired(Ledger& ledger, const Job& job) {
  return job.phase == Phase::kRunning && ledger.Reached(ClosableAt(ledger, job));
}

// Returns whether the growths of the job that wait are within what is promised to it.
bool GrowsWithinRequest(const Ledger& ledger, GpuId gpu, const Job& job) {
  Bytes sum = ledger.Claim(job, gpu);
  for (const PendingGrowth& growth : ledger.growths) {
    if (growth.job == job.id && growth.gpu == gpu) sum += growth.bytes;
  }
  return sum <= job.policy.request;
}

// Returns whether `job` may be closed for the growth of `growing_job`.
bool YieldsTo(Ledger& ledger, GpuId gpu, const Job& job, const Job& growing_job) {
  // It enters because its turn has come, or there is no host memory for it.
  if (job.phase == Phase::kEntering && job.preempted_others) return false;
  if (ExemptFromEviction(ledger, job)) return false;
  if (job.phase == Phase::kRunning && job.AllIdle()) return true;
  if (GrowsWithinRequest(ledger, gpu, growing_job)) return true;
  if (ExemptFromEviction(ledger, growing_job)) return true;
  if (job.policy.priority != growing_job.policy.priority) {
    return job.policy.priority < growing_job.policy.priority;
  }
  const bool over = SliceExpired(ledger, job);
  if (over != SliceExpired(ledger, growing_job)) return over;
  return !over && job.entered > growing_job.entered;
}

// Returns the jobs that may be closed, in this order: idle jobs, jobs whose slice has expired
// (longest running first), then jobs in their slice (last entered first), and last those exempt
// from eviction. `growing_job` 0: for a request with priority over slices.
std::vector<Job*> ClosingOrder(Ledger& ledger, GpuId gpu, JobId growing_job) {
  const auto key = [&](const Job& job) {
    const bool over = SliceExpired(ledger, job);
    return std::make_tuple(
        ExemptFromEviction(ledger, job), job.phase == Phase::kEntering && job.preempted_others,
        !(over && job.AllIdle()), job.policy.priority, !over,
        over ? job.turn_start.count() : -static_cast<Time::rep>(job.entered), job.id);
  };
  return ledger.JobsSortedBy(key, [&](const Job& job) {
    if (job.id == growing_job || !job.Active()) return false;
    if (ledger.EntryNeed(job, gpu) <= ledger.Fixed(job, gpu)) return false;
    return growing_job == 0 || YieldsTo(ledger, gpu, job, ledger.jobs.at(growing_job));
  });
}

bool FitsOnGpu(Ledger& ledger, GpuId gpu, const JobSet& active) {
  return ledger.Fits(gpu, active) && EvictionsSuffice(ledger, active);
}

// Returns whether the job fits with its approved growth as the only active job.
bool FitsAlone(Ledger& ledger, const Job& job) {
  return ledger.CanRunAlone(job) && EvictionsSuffice(ledger, JobSet(job));
}

// Closes the jobs in `closing` that are really necessary: a later, larger one may have made earlier
// ones superfluous.
template <typename Enough>
void CloseNecessary(Ledger& ledger, const std::vector<Job*>& closing, JobSet active,
                    Enough enough) {
  for (Job* job : closing) {
    active.insert(*job);
    if (enough(active)) continue;
    active.erase(*job);
    Leave(ledger, *job);
  }
}

}  // namespace

Fit MakeFit(Ledger& ledger, GpuId gpu, JobId growing_job) {
  JobSet active = ledger.ActiveJobs();
  JobSet active_later = active;  // also without those that cannot be closed now
  std::vector<Job*> closing;
  for (Job* job : ClosingOrder(ledger, gpu, growing_job)) {
    if (FitsOnGpu(ledger, gpu, active)) break;
    active_later.erase(*job);
    if (job->AnyGateOpen() && !ledger.Reached(job->closable_at)) continue;
    active.erase(*job);
    closing.push_back(job);
  }
  if (FitsOnGpu(ledger, gpu, active)) {
    CloseNecessary(ledger, closing, active,
                   [&](const JobSet& fewer) { return FitsOnGpu(ledger, gpu, fewer); });
    return Fit::kYes;
  }
  if (FitsOnGpu(ledger, gpu, active_later)) return Fit::kNotNow;
  const bool lacks_host_memory = ledger.Fits(gpu, active_later);
  // Jobs that are active on other GPUs are in nobody's way here.
  const bool others_stay = std::ranges::any_of(
      active_later, [&](const Job* job) { return job->id != growing_job && job->Uses(gpu); });
  if (growing_job != 0 && others_stay) {
    JobSet others = ledger.ActiveJobs();
    const Job& grower = ledger.jobs.at(growing_job);
    others.erase(grower);
    const bool fits_in_own_turn = !lacks_host_memory || FitsAlone(ledger, grower);
    if (fits_in_own_turn && ledger.Fits(gpu, others)) return Fit::kGrowerMustLeave;
  }
  return lacks_host_memory ? Fit::kNoHostMemory : Fit::kNotNow;
}

void RestoreBudget(Ledger& ledger) {
  for (const auto& [gpu, card] : ledger.scope.gpus) {
    JobSet active = ledger.ActiveJobs();
    if (ledger.Fits(gpu, active)) continue;
    card->approved_context.reset();
    for (PendingGrowth& growth : ledger.growths) {
      if (growth.gpu == gpu) growth.approved = false;
    }
    std::vector<Job*> closing;
    for (Job* job : ClosingOrder(ledger, gpu, 0)) {
      if (ledger.Fits(gpu, active)) break;
      if (job->AnyGateOpen() && !ledger.Reached(job->closable_at)) continue;
      active.erase(*job);
      closing.push_back(job);
    }
    CloseNecessary(ledger, closing, active,
                   [&](const JobSet& fewer) { return ledger.Fits(gpu, fewer); });
  }
}

void EnforcePauses(Ledger& ledger) {
  for (Job* job : ledger.scope.jobs) {
    if (!job->policy.paused || !job->Active()) continue;
    if (!job->AnyGateOpen() || ledger.Reached(job->closable_at)) Leave(ledger, *job);
  }
}

}  // namespace reveza::scheduler
