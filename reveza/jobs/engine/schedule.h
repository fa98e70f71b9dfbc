// The states of all steps of a job and the order in which ready ones start. Pure; no clock. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/engine/step_set.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

class Schedule {
 public:
  enum class State : std::uint8_t {
    kBlocked,  // dependencies are not done
    kReady,
    kRunning,
    kDone,
    kFailed,
    kHeld,     // outcome unknown: the user has to decide
    kSkipped,  // a dependency failed
  };
  struct Counts {
    std::uint64_t blocked = 0, ready = 0, running = 0, done = 0, failed = 0, held = 0, skipped = 0;
  };

  // All steps are ready or blocked at first. `job` must outlive the schedule and be acyclic.
  explicit Schedule(const Job& job);

  // Returns the first `max` ready steps of the given lanes: by descending priority, then ascending
  // number.
  using Lanes = std::array<bool, kLanes>;
  std::vector<std::uint32_t> Ready(std::size_t max, Lanes lanes = {true, true}) const;
  // Returns how many steps are ready or blocked, by command or in a lane.
  std::span<const std::uint64_t> waiting_by_command() const { return waiting_; }
  std::uint64_t waiting(Lane lane) const {
    return waiting_in_lane_[static_cast<std::size_t>(lane)];
  }

  void Start(std::uint32_t step);  // from ready or held
  void Finish(std::uint32_t step);
  void Fail(std::uint32_t step);
  void Hold(std::uint32_t step);
  // Queues a running step again.
  void Requeue(std::uint32_t step);
  // Queues a failed or held step again, and unblocks the steps that were skipped because of it.
  void Revive(std::uint32_t step);
  // Picks up steps appended to the job.
  void AddNewSteps();

  std::size_t size() const { return states_.size(); }
  State state(std::uint32_t step) const { return states_[step]; }
  const Counts& counts() const { return counts_; }
  // Returns whether nothing is ready or running, so that nothing can become ready.
  bool finished() const { return counts_.ready == 0 && counts_.running == 0; }

 private:
  void Add(std::uint32_t step);
  void Move(std::uint32_t step, State to);
  std::uint64_t& Count(State state);
  StepSet& ReadyLike(std::uint32_t step);
  Lane LaneOfStep(std::uint32_t step) const;
  void Enter(std::uint32_t step, State state);
  void Leave(std::uint32_t step, State state);

  const Job& job_;
  std::vector<State> states_;
  std::vector<std::uint32_t> unmet_;                    // number of dependencies that are not done
  std::vector<std::vector<std::uint32_t>> dependents_;  // empty without dependencies
  std::array<std::map<int, StepSet>, kLanes> ready_;    // by descending priority
  std::vector<std::uint64_t> waiting_;                  // by command
  std::array<std::uint64_t, kLanes> waiting_in_lane_{};
  Counts counts_;
};

// Counts the failures of steps in this run and decides whether a step is retried. Pure values; not
// thread-safe.
class RetryPolicy {
 public:
  // Retries after a full disk cut the output.
  static constexpr std::uint32_t kMaxOutputRetries = 3;

  // `max_memory_retries`: after out-of-memory deaths, each with a larger claim; `max_retries`:
  // after other failures.
  explicit RetryPolicy(unsigned max_retries, unsigned max_memory_retries = 3)
      : max_retries_(max_retries), max_memory_retries_(max_memory_retries) {}

  // Counts an unsuccessful attempt. Returns whether the step is retried.
  bool RecordFailure(std::uint32_t step, Outcome outcome) {
    if (outcome == Outcome::kCancelled) return true;
    if (outcome == Outcome::kMemory) return memory_deaths_[step]++ < max_memory_retries_;
    if (outcome == Outcome::kOutputLost) return output_losses_[step]++ < kMaxOutputRetries;
    return failures_[step]++ < max_retries_;
  }
  // Counts a failure of an earlier run.
  void AddEarlierFailure(std::uint32_t step) { failures_[step] = 1; }
  // Forgets the failures of a step.
  void Reset(std::uint32_t step) {
    failures_.erase(step);
    memory_deaths_.erase(step);
    output_losses_.erase(step);
  }
  // Returns whether the next attempt is the last one after out-of-memory deaths.
  bool IsLastMemoryRetry(std::uint32_t step) const {
    const auto deaths = memory_deaths_.find(step);
    return deaths != memory_deaths_.end() && deaths->second >= max_memory_retries_;
  }

 private:
  unsigned max_retries_;
  unsigned max_memory_retries_;
  std::unordered_map<std::uint32_t, std::uint32_t> failures_;
  std::unordered_map<std::uint32_t, std::uint32_t> memory_deaths_;
  std::unordered_map<std::uint32_t, std::uint32_t> output_losses_;
};

// Delays starts after a step could not be started, so that failures are not retried in a busy loop.
// Pure values; not thread-safe.
class StartBackoff {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // Returns whether a step may be started now.
  bool MayStart(nanoseconds now) const { return now >= not_before_; }
  // Returns why the last start failed; empty after a successful one.
  const std::string& reason() const { return reason_; }

  // Delays the next start by a constant time.
  void Delay(nanoseconds now) { not_before_ = now + kDelay; }
  // Records why a start failed. Returns true if the reason has changed, so that the caller can
  // report it once.
  bool SetReason(const std::string& reason) { return std::exchange(reason_, reason) != reason; }
  // Delays the next start by exponentially growing times, because each failed attempt is journaled.
  void DelayExponentially(nanoseconds now) {
    delay_ = std::clamp(2 * delay_, kDelay, kMaxDelay);
    not_before_ = now + delay_;
  }
  // Resets after a successful start.
  void OnStarted() {
    reason_.clear();
    delay_ = {};
  }

 private:
  static constexpr nanoseconds kDelay = std::chrono::milliseconds(500);
  static constexpr nanoseconds kMaxDelay = std::chrono::seconds(10);

  std::string reason_;
  nanoseconds delay_{0};
  nanoseconds not_before_{0};
};

}  // namespace reveza::jobs
