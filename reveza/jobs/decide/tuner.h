// Finds the number of workers with the highest throughput while the job runs.
//
// Fill (tuner_fill.cc): samples of the running steps' processor time show which share of it they
// compute. While cores are idle there are more workers, at once as many as would fill the cores if
// steps compute all the time, otherwise two or four times as many. If twice as many do not use more
// of the cores, steps wait for each other, and the tuner goes back.
//
// Search (tuner_search.cc): once the cores are full, or more workers do not fill them, fewer are
// tried, and kept if they finish as much; then numbers in between. Without cores to fill, on a GPU,
// twice as many are tried first. A trial is made only if what it may lose is small beside what is
// left to do, and repeated when the throughput changes by itself.
//
// A measurement has at least three windows (throughput.h). It starts when the steps from before the
// change have finished.
//
// Out-of-memory deaths and full memory pressure halve the number at once (OverloadGuard).
//
// CPU and GPU work have a tuner each. No clock: times are relative to any origin and monotonic.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "reveza/jobs/decide/core_use.h"
#include "reveza/jobs/decide/throughput.h"

namespace reveza::jobs {

// Tracks overload: which number of workers was too many, and when it may be tried again. Additive
// increase, multiplicative decrease, as in TCP: the tuner halves the number on an overload, then
// adds one worker after each healthy window, up to one less than what failed. That number itself is
// tried again after 30 healthy windows, twice as many after each further overload.
//
// A window is healthy if steps finish in it and no overload occurs. Pure values; not thread-safe.
// An unambiguous sign of too many workers.
enum class OverloadSignal {
  kOutOfMemory,   // a step was killed for memory
  kPressureFull,  // all tasks stall on memory
  kNoGpuMemory,   // a step ran out of GPU memory
};

std::string_view ToText(OverloadSignal signal);

class OverloadGuard {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // Records an overload with `workers` workers. Returns false if it belongs to the last incident:
  // within `window` of it.
  bool OnOverload(nanoseconds now, OverloadSignal signal, unsigned workers, nanoseconds window);
  void OnStepFinished() { ++finished_in_window_; }
  // Returns true if a healthy window of length `window` has ended. `is_over_target`: more steps run
  // than the number of workers, left over from before the decrease.
  bool EndWindow(nanoseconds now, nanoseconds window, bool is_over_target);
  // Stops watching once no number is ruled out; call after a healthy window outside of recovery.
  void StopIfClear();

  // Returns the number of workers that failed, while it is ruled out.
  std::optional<unsigned> failed_at() const { return failed_at_; }
  // Returns the last signal; empty if there was none.
  std::optional<OverloadSignal> last_signal() const { return last_signal_; }

  // The number of workers at which recovery ends.
  unsigned recovery_target() const { return recovery_target_; }
  void set_recovery_target(unsigned workers) { recovery_target_ = workers; }

 private:
  std::optional<unsigned> failed_at_;
  unsigned overloads_ = 0;
  std::optional<nanoseconds> incident_begun_;
  std::optional<OverloadSignal> last_signal_;
  unsigned recovery_target_ = 0;
  std::optional<nanoseconds> window_begun_;
  std::uint64_t finished_in_window_ = 0;
  unsigned healthy_windows_ = 0;  // since the last overload
};

// A decision of the tuner, for reports.
struct Decision {
  std::chrono::nanoseconds at{0};
  unsigned before = 0;  // workers
  unsigned after = 0;
  std::string text;  // "3 workers: 5.9 steps/s, 2 gave 6.1: back to 2"
};

// Keeps the last decisions.
class DecisionLog {
 public:
  static constexpr std::size_t kMaxDecisions = 1000;

  // Appends a decision, unless it repeats the last one and changes nothing.
  void Add(Decision decision) {
    const bool is_change = decision.before != decision.after;
    if (!is_change && !decisions_.empty() && decisions_.back().text == decision.text) return;
    if (decisions_.size() >= kMaxDecisions) decisions_.erase(decisions_.begin());
    decisions_.push_back(std::move(decision));
  }
  // Corrects the outcome of the last decision.
  void SetLastAfter(unsigned workers) {
    if (!decisions_.empty()) decisions_.back().after = workers;
  }

  const std::vector<Decision>& decisions() const { return decisions_; }

 private:
  std::vector<Decision> decisions_;
};

// The gain of a number over another that counts.
inline constexpr double kMinGain = 0.02;

struct FinishedStep {
  std::uint64_t step = 0;
  std::chrono::nanoseconds duration{0};  // without pauses
  std::chrono::nanoseconds cpu{0};
  WorkClass step_class = 0;
};

// Returns the initial number of workers for `cores` usable cores: a quarter of them. If they
// compute all the time, a fifth of a second later there is one for each core.
unsigned InitialWorkers(double cores);
// The initial number of workers on a GPU.
inline constexpr unsigned kInitialGpuWorkers = 2;

// The number of workers among which tuned steps divide the cores until there are more: one for each
// core, because steps that divide them by the initial number would leave none for others.
unsigned WorkersThatShare(double cores);

class Tuner {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Options {
    unsigned initial = 1;                      // clamped to [min, max]
    unsigned min = 1;                          // >= 1
    unsigned max = 1;                          // >= min
    std::string max_reason = "--max-workers";  // what `max` comes from
    double cores = 0;  // that steps may use; 0: cores do not limit them, or use is not observed
  };

  explicit Tuner(Options options);

  // Returns how many steps may run now. Only Update, ObserveUsage and OnOverload change it.
  unsigned workers() const { return workers_; }

  // Records a successful step.
  void OnStepFinished(nanoseconds now, const FinishedStep& step);
  // Records the processor time of all running steps; call every SampleInterval(). None: they are
  // paused.
  void ObserveUsage(nanoseconds now, std::span<const StepUsage> steps);
  nanoseconds SampleInterval() const;
  // Changes how many cores there are for steps.
  void SetCores(double cores);
  // Halves the number of workers, once per incident.
  void OnOverload(nanoseconds now, OverloadSignal signal);
  // Advances the search; call whenever steps have started or ended. `remaining`: steps not started
  // yet; `running`: steps running now.
  void Update(nanoseconds now, std::uint64_t remaining, unsigned running);
  // Records the memory of all running steps together.
  void RecordMemory(Bytes in_use);

  // Returns true while no other number is worth a trial.
  bool settled() const { return phase_ == Phase::kSettled; }
  // Returns the last decisions, a bounded number.
  const std::vector<Decision>& log() const { return log_.decisions(); }
  // Returns what was measured, by number of workers.
  std::vector<TunerRow> Table() const { return table_.Rows(typical_.mean()); }
  // Returns what keeps more steps from running, "cores: 3.9 of 4 busy"; empty while unknown.
  std::string Limit() const;

 private:
  enum class Phase {
    kBase,     // measuring the best number so far
    kTrial,    // measuring another one
    kSettled,  // nothing else is worth trying
    kRecover,  // adding one worker after each healthy window
  };
  // How many cores a number of workers used.
  struct Level {
    unsigned workers = 0;
    double busy = 0;
  };

  nanoseconds WindowLength() const;
  void Restart(nanoseconds now);
  void Move(nanoseconds now, unsigned workers, Phase phase);
  bool IsWarmingUp(nanoseconds now, unsigned running);
  bool IsHopeless(const Measurement& measurement) const;
  std::optional<Throughput> Measured(const Measurement& measurement) const;
  void OnMeasured(nanoseconds now, const Throughput& seen, unsigned max_running);
  void LeaveStarved(nanoseconds now);
  void Recover(nanoseconds now);
  unsigned MaxAllowed() const;
  void LogDecision(nanoseconds now, unsigned before, std::string text);

  std::optional<Level> CurrentLevel(nanoseconds now, double* seconds) const;
  bool IsFull(const Level& level) const;
  bool IsFlat(const Level& level) const;
  void FillCores(nanoseconds now);
  void Grow(nanoseconds now, const Level& level, unsigned next);
  void LeaveFlat(nanoseconds now, const Level& level);

  void JudgeTrial(nanoseconds now, const Throughput& seen);
  void TryNext(nanoseconds now);
  bool IsFilling() const;
  std::vector<unsigned> Candidates() const;
  bool IsWorthTrying(unsigned workers) const;
  void CheckSettled(nanoseconds now, const Throughput& seen);
  void Settle(nanoseconds now);
  std::string Comparison(const Throughput& before, double gain) const;

  Options options_;
  TypicalDurations typical_;
  ThroughputTable table_;
  DecisionLog log_;
  OverloadGuard guard_;
  CoreUse use_;

  Phase phase_ = Phase::kBase;
  unsigned workers_ = 1;
  std::optional<Measurement> measurement_;  // none while steps from before the change run
  std::optional<nanoseconds> changed_;
  unsigned base_workers_ = 1;
  Throughput base_;                       // 0 workers: not measured
  std::map<unsigned, Throughput> worse_;  // than the base
  bool starved_ = false;                  // the best number never ran concurrently while measured
  std::uint64_t remaining_ = 0;
  unsigned running_ = 0;
  double slowdown_ = 1;
  unsigned restarts_ = 0;

  // Filling the cores.
  std::optional<Level> last_;   // in use, last seen
  std::optional<Level> below_;  // from which it grew, at least to nearly twice as many
  unsigned samples_ = 0;        // of usage, since the last change
  bool flat_ = false;           // more workers do not use more of the cores
  unsigned flat_levels_ = 0;    // found so far

  bool change_suspected_ = false;  // the last measurement differed from the one before
};

}  // namespace reveza::jobs
