// Counts the failures of steps in this run and decides whether a step is retried. Pure values; not
// thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

class RetryPolicy {
 public:
  // Retries after out-of-memory deaths, each with a larger claim.
  static constexpr std::uint32_t kMaxMemoryRetries = 3;

  // `max_retries`: after other failures.
  explicit RetryPolicy(unsigned max_retries) : max_retries_(max_retries) {}

  // Counts an unsuccessful attempt. Returns whether the step is retried.
  bool RecordFailure(std::uint32_t step, Outcome outcome) {
    if (outcome == Outcome::kCancelled) return true;
    if (outcome == Outcome::kMemory) return memory_deaths_[step]++ < kMaxMemoryRetries;
    return failures_[step]++ < max_retries_;
  }
  // Counts a failure of an earlier run.
  void AddEarlierFailure(std::uint32_t step) { failures_[step] = 1; }
  // Forgets the failures of a step.
  void Reset(std::uint32_t step) {
    failures_.erase(step);
    memory_deaths_.erase(step);
  }
  // Returns whether the next attempt is the last one after out-of-memory deaths.
  bool IsLastMemoryRetry(std::uint32_t step) const {
    const auto deaths = memory_deaths_.find(step);
    return deaths != memory_deaths_.end() && deaths->second >= kMaxMemoryRetries;
  }

 private:
  unsigned max_retries_;
  std::unordered_map<std::uint32_t, std::uint32_t> failures_;
  std::unordered_map<std::uint32_t, std::uint32_t> memory_deaths_;
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
