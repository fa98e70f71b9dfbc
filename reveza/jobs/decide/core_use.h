// Measures which share of their time running steps compute, the rest being waits, from samples of
// their processor time. Pure values. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

namespace reveza::jobs {

// The processor time that a running step has used so far.
struct StepUsage {
  std::uint64_t step = 0;
  std::chrono::nanoseconds cpu{0};
};

class CoreUse {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // Cores used per running step, since the last Restart().
  struct Share {
    double cores = 0;
    double seconds = 0;  // observed
  };

  // Discards what was observed; call when the number of workers changes.
  void Restart(nanoseconds now);
  // Records the usage of all running steps, of which `workers` should run on `cores` cores.
  void Observe(nanoseconds now, std::span<const StepUsage> steps, unsigned workers, double cores);
  // Records the total processor time of a step that has ended.
  void OnStepEnded(std::uint64_t step, nanoseconds cpu);

  // Returns the share of steps that have started up: what they do first, such as importing modules,
  // does not show how they go on. Only time in which most workers ran such a step counts.
  std::optional<Share> AfterStartup() const;
  // Returns the share of whole steps, of which parts and ends are observed as well.
  std::optional<Share> OfAll(nanoseconds now, unsigned workers) const;

 private:
  struct Usage {
    nanoseconds cpu{0};
    bool started_up = false;
  };

  std::optional<nanoseconds> observed_;             // last
  std::unordered_map<std::uint64_t, Usage> usage_;  // at that time
  double started_cpu_ = 0;                          // seconds, of steps that have started up
  double started_seconds_ = 0;                      // of them together
  double most_started_ = 0;                         // seconds in which most workers ran such steps
  double all_cpu_ = 0;
  std::optional<nanoseconds> all_since_;  // none: some workers were idle
};

}  // namespace reveza::jobs
