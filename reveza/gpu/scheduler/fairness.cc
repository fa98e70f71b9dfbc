// How the GPU time of jobs that compete is shared: in proportion to their weights, by priority, and
// with tokens for interactive jobs.
//
// The virtual runtime of a job is its GPU time divided by its weight (as in Linux's CFS). Of
// waiting jobs the one with the least enters first, and a job keeps its slice while it has less
// than those that wait for it. A job that begins to compete is moved next to the others: it has no
// credit for the time when it slept, and no debt for the time when it was alone.
#include <algorithm>
#include <utility>

#include "reveza/gpu/scheduler/passes.h"

namespace reveza::scheduler {
namespace {

Time Divide(Time time, double by) {
  return Time(static_cast<Time::rep>(static_cast<double>(time.count()) / by));
}

bool Competes(const Ledger& ledger, const Job& job) {
  if (job.phase != Phase::kSuspended) return true;
  return !job.policy.paused && !job.queued && ledger.WantsToRun(job) && !job.Unresponsive() &&
         ledger.CanRunAlone(job);
}

// Moves the virtual runtime of a job that begins to compete into the range of the others.
void Join(const Ledger& ledger, Job& job) {
  std::optional<Time> least;
  for (const Job* other : ledger.scope.jobs) {
    if (other == &job || !other->competing || !other->SharesGpuWith(job)) continue;
    const Time vruntime = other->Vruntime(ledger.now);
    least = std::min(least.value_or(vruntime), vruntime);
  }
  if (!least) return;
  const Time most = *least + Divide(SliceLength(ledger, job), job.weight);
  job.vruntime = std::clamp(job.Vruntime(ledger.now), *least, most);
  job.served_until = ledger.now;
}

// Gives each job its weight: that of its policy or, where its account has one, its part of that
// among the jobs of the account that compete, if it competes too.
void UpdateWeights(Ledger& ledger) {
  std::map<AccountId, double> competing;
  for (const Job* one : ledger.scope.jobs) {
    const Job& job = *one;
    if (job.account && job.competing) competing[*job.account] += job.policy.weight;
  }
  for (Job* one : ledger.scope.jobs) {
    Job& job = *one;
    double weight = job.policy.weight;
    const auto quota = job.account ? ledger.quotas.at(*job.account).weight : std::nullopt;
    if (quota) weight *= *quota / (competing[*job.account] + (job.competing ? 0 : weight));
    if (weight == job.weight) continue;
    SettleService(ledger, job);
    job.weight = weight;
  }
}

Time Tokens(const Ledger& ledger, const Job& job) {
  const Time elapsed = ledger.now - job.tokens_at;
  const Time earned = Divide(elapsed, 1 / ledger.config.interactive_share);
  return std::clamp(job.tokens + (job.takes_tokens ? -elapsed : earned), Time(0),
                    ledger.config.interactive_burst);
}

}  // namespace

Time Job::Vruntime(Time now) const {
  return in_turn ? vruntime + Divide(now - served_until, weight) : vruntime;
}

bool TakesTokens(const Job& job) {
  if (!job.policy.interactive || !job.in_turn || job.AllIdle()) return false;
  return std::ranges::any_of(
      job.clients, [](const auto& entry) { return entry.second.contention_sent.value_or(false); });
}

void SettleTokens(const Ledger& ledger, Job& job) {
  job.tokens = Tokens(ledger, job);
  job.tokens_at = ledger.now;
  job.takes_tokens = TakesTokens(job);
}

void SettleService(Ledger& ledger, Job& job) {
  job.vruntime = job.Vruntime(ledger.now);
  job.served_until = ledger.now;
}

void SetPolicyOf(Ledger& ledger, Job& job, const Policy& policy) {
  SettleService(ledger, job);
  if (policy.interactive && !job.policy.interactive) {
    job.tokens = ledger.config.interactive_burst;
    job.tokens_at = ledger.now;
    job.takes_tokens = false;
  }
  job.policy = policy;
  // They were approved under another limit.
  for (PendingGrowth& growth : ledger.growths) {
    if (growth.job == job.id) growth.approved = false;
  }
  for (const GpuId gpu : job.uses) {
    std::optional<ClientId>& context = ledger.gpus.at(gpu).approved_context;
    if (context && job.clients.contains(*context)) context.reset();
  }
}

void UpdateCompetitors(Ledger& ledger) {
  const Ledger::Frozen frozen(ledger);
  for (Job* one : ledger.scope.jobs) {
    Job& job = *one;
    const bool competes = Competes(ledger, job);
    if (competes && !job.competing) Join(ledger, job);
    job.competing = competes;
  }
  UpdateWeights(ledger);
}

Time TokensToPreempt(const Ledger& ledger, const Job& job) {
  return std::min(HandoverCost(ledger, job), ledger.config.interactive_burst);
}

bool MayPreempt(Ledger& ledger, const Job& job) {
  if (!job.policy.interactive) return false;
  // While it waits, it gets tokens.
  const Time missing = TokensToPreempt(ledger, job) - job.tokens;
  return ledger.Reached(job.tokens_at + Divide(missing, ledger.config.interactive_share));
}

Priority EffectivePriority(Ledger& ledger, const Job& job) {
  const bool overdue =
      job.waiting_since && ledger.Reached(*job.waiting_since + ledger.config.max_wait);
  return overdue ? Priority::kHigh : job.policy.priority;
}

Time YieldsAt(Ledger& ledger, const Job& job, const Job& other) {
  // As in the order of waiting jobs, or one that has its turn first would lose it to the next.
  const Priority priority = EffectivePriority(ledger, other);
  const bool preempts =
      !other.policy.interactive && job.policy.priority >= priority && MayPreempt(ledger, job);
  const Time end = ClosableAt(ledger, other);
  if (other.phase == Phase::kRunning && (other.Holds() || other.AllIdle())) return end;
  if (preempts) return std::max(ledger.now, other.closable_at);
  if (job.policy.priority > priority) {
    return std::min(end,
                    std::max(other.slice_start + ledger.config.slice_floor, other.closable_at));
  }
  const Time overdue = job.waiting_since.value_or(ledger.now) + ledger.config.max_wait;
  if (job.policy.priority < priority) return std::max(end, overdue);
  // Not from now on, or it would be rounded anew at each event.
  const Time since = other.in_turn ? other.served_until : ledger.now;
  const Time ahead = job.Vruntime(ledger.now) - other.vruntime;
  const Time level = since + Divide(std::max(ahead, Time(0)), 1 / other.weight);
  return std::max(end, std::min(level, overdue));
}

}  // namespace reveza::scheduler
