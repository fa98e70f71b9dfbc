// The invariants of the scheduler, looked at after every event.
//
// Thread-safety: none.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"

namespace reveza::simulator {

// What an event was, as far as the invariants care.
enum class EventKind {
  kOther,
  kIdle,
  kGrowthWanted,
  kContextWanted,
  kContextMade,
  kAllocated,  // behind a closed gate
  kBudget,
  kResumed,
  kDrainFailed,
  kTick,
  kDeath,
};

class Checker {
 public:
  explicit Checker(const scheduler::Config& config) : config_(config) {}

  void After(const scheduler::Scheduler& scheduler, EventKind kind, scheduler::ClientId client,
             const std::vector<scheduler::Decision>& decisions, scheduler::Time now);
  // Nobody waits for longer than `longest_wait`.
  void CheckWait(scheduler::ClientId client, std::optional<scheduler::Time> since, const char* what,
                 scheduler::Time now);
  void Restarted();

  void Fail(const std::string& what, scheduler::Time now);
  bool ok() const { return failure_.empty(); }
  const std::string& failure() const { return failure_; }

  std::optional<scheduler::Time> longest_wait;
  // Everything fits at all times: nothing may be closed or moved.
  bool everything_fits = false;

  // Counted, so that tests can tell that a world did what it was made for.
  struct Seen {
    std::uint64_t turns = 0;
    std::uint64_t gates_closed = 0;
    std::uint64_t slices_checked = 0;
    std::uint64_t evictions = 0;
    std::uint64_t swap_ins = 0;
    std::uint64_t growths_granted = 0;
    std::uint64_t growths_later = 0;
    std::uint64_t growths_refused = 0;
    std::uint64_t contexts = 0;
    std::uint64_t queued = 0;
    std::uint64_t held_for_host_memory = 0;
  };
  const Seen& seen() const { return seen_; }
  // How often the gates of a job opened, also when it has gone.
  std::uint64_t TurnsOf(scheduler::JobId job) const {
    const auto count = turn_counts_.find(job);
    return count == turn_counts_.end() ? 0 : count->second;
  }

 private:
  struct Turn {
    scheduler::Time began{0};
    bool excused = false;
  };

  void CheckBudget(const scheduler::Scheduler& scheduler, EventKind kind,
                   const std::set<scheduler::GpuId>& given, scheduler::Time now);
  void CheckGates(const scheduler::Scheduler& scheduler, scheduler::Time now);
  void CheckOrders(const scheduler::Scheduler& scheduler,
                   const std::vector<scheduler::Decision>& decisions, scheduler::Time now);
  void CheckTurns(const scheduler::Scheduler& scheduler, EventKind kind, scheduler::ClientId client,
                  const std::vector<scheduler::Decision>& decisions, scheduler::Time now);
  void CheckSerial(std::uint32_t serial, scheduler::Time now);

  scheduler::Config config_;
  std::string failure_;
  // A new daemon learns of arenas one by one and may have reserved too much by then.
  bool restarted_ = false;
  void CountPending(EventKind kind, scheduler::ClientId client);
  void CountDecisions(const std::vector<scheduler::Decision>& decisions);

  std::map<scheduler::JobId, Turn> turns_;
  std::map<scheduler::JobId, std::uint64_t> turn_counts_;
  std::map<scheduler::ClientId, scheduler::JobId> job_of_;
  std::map<scheduler::ClientId, int> pending_;  // growths and contexts that wait
  std::set<scheduler::GpuId> over_budget_;
  std::set<std::uint32_t> serials_;
  Seen seen_;
};

}  // namespace reveza::simulator
