// Checks the invariants of the scheduler after every event.
//
// Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::simulator {

// Kind of an event, as far as the invariants depend on it.
enum class EventKind {
  kOther,
  kIdle,
  kGrowthRequested,
  kContextRequested,
  kContextCreated,
  kAllocated,  // behind a closed gate
  kBudgetChanged,
  kResumed,
  kDrainFailed,
  kPolicyChanged,
  kContextsKept,  // the driver refuses to move them: what counted on it no longer fits
  kTick,
  kDied,
};

class Checker {
 public:
  explicit Checker(const scheduler::Config& config) : config_(config) {}

  void CheckEvent(const scheduler::Scheduler& scheduler, EventKind kind, scheduler::ClientId client,
                  const std::vector<scheduler::Decision>& decisions, scheduler::Time now);
  // Fails if the client has waited for longer than `max_wait`.
  void CheckWait(scheduler::ClientId client, std::optional<scheduler::Time> since, const char* what,
                 scheduler::Time now);
  void OnRestart();

  void Fail(const std::string& what, scheduler::Time now);
  bool ok() const { return failure_.empty(); }
  const std::string& failure() const { return failure_; }

  std::optional<scheduler::Time> max_wait;
  // If set, everything fits at all times: no gate may close and no memory may move.
  bool everything_fits = false;

  // Counters by which tests verify that a world exercised what it was built for.
  struct Counters {
    std::uint64_t turns = 0;
    std::uint64_t gates_closed = 0;
    std::uint64_t admissions = 0;  // of submissions behind closed gates
    std::uint64_t failed_drains = 0;
    std::uint64_t slices_checked = 0;
    std::uint64_t evictions = 0;
    std::uint64_t growths_granted = 0;
    std::uint64_t growths_later = 0;
    std::uint64_t growths_refused = 0;
    std::uint64_t queued = 0;
    std::uint64_t waits_for_host_memory = 0;
    std::uint64_t pauses = 0;         // events in which a paused job held nothing that can move
    std::uint64_t limits = 0;         // refused growths of jobs with a limit
    std::uint64_t quotas = 0;         // refused growths of jobs whose account has one
    std::uint64_t kept_requests = 0;  // evictions of jobs with a request
    std::uint64_t contexts_released = 0;
    std::uint64_t contexts_restored = 0;
    std::uint64_t contexts_of_waiting = 0;  // released while the job waited for its turn
  };
  const Counters& counters() const { return counters_; }
  // Returns the number of turns of a job, including jobs that have ended.
  std::uint64_t TurnsOf(scheduler::JobId job) const {
    const auto count = turn_counts_.find(job);
    return count == turn_counts_.end() ? 0 : count->second;
  }

 private:
  struct Turn {
    scheduler::Time started{0};
    bool exempt = false;
  };

  // Returns the GPUs on which credit was given.
  std::set<scheduler::GpuId> CountDecisions(const std::vector<scheduler::Decision>& decisions);
  void CheckBudget(const scheduler::Scheduler& scheduler, EventKind kind,
                   const std::set<scheduler::GpuId>& given, scheduler::Time now);
  void CheckGates(const scheduler::Scheduler& scheduler, scheduler::Time now);
  using Claims = std::map<std::pair<scheduler::JobId, scheduler::GpuId>, Bytes>;

  void CheckQuotas(const std::map<scheduler::JobId, scheduler::JobView>& jobs, const Claims& claims,
                   bool may_grow, scheduler::Time now);
  void CheckPolicies(const scheduler::Scheduler& scheduler, EventKind kind,
                     scheduler::ClientId client_of_event,
                     const std::vector<scheduler::Decision>& decisions, scheduler::Time now);
  void CheckPauses(const scheduler::Scheduler& scheduler,
                   const std::vector<scheduler::Decision>& decisions, scheduler::Time now);
  void CheckOrders(const scheduler::Scheduler& scheduler,
                   const std::vector<scheduler::Decision>& decisions, scheduler::Time now);
  void CheckTurns(const scheduler::Scheduler& scheduler, EventKind kind, scheduler::ClientId client,
                  const std::vector<scheduler::Decision>& decisions, scheduler::Time now);
  void CheckSerial(std::uint32_t serial, scheduler::Time now);
  // Returns whether the order withdraws an admission, whose serial it has.
  bool IsWithdrawal(const scheduler::CloseGate& order) const {
    return order.submissions == 0 && admissions_.contains(order.serial);
  }

  scheduler::Config config_;
  std::string failure_;
  // A restarted daemon learns of arenas one by one and may exceed the host budget meanwhile.
  bool restarted_ = false;
  std::map<scheduler::JobId, Turn> turns_;
  std::map<scheduler::JobId, std::uint64_t> turn_counts_;
  std::map<scheduler::ClientId, scheduler::JobId> job_of_;
  std::map<scheduler::ClientId, int> pending_;  // growths and contexts in progress
  std::set<scheduler::GpuId> over_budget_;
  Claims claims_;
  Claims excess_;                               // of contexts beyond their estimates
  std::map<scheduler::ClientId, Bytes> later_;  // the limit when a growth was last answered kLater
  std::set<scheduler::JobId> in_turn_;          // after the last event; also those that enter
  std::set<std::uint32_t> serials_;
  std::set<std::uint32_t> admissions_;  // their serials
  Counters counters_;
};

}  // namespace reveza::simulator
