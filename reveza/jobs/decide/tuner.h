// Finds the number of workers with the highest throughput while the job runs.
//
// Hill climbing: another number is tried, and kept if it is better by more than two standard errors
// and 2 %, or smaller and as good. From the initial number it doubles as long as that nearly pays
// in full, or halves as long as that costs nothing; then it goes by one, above eight by an eighth.
// A rejected trial is judged again after the old number was measured once more, so that steps that
// grow longer or shorter do not bias it; a likely but unproven gain is measured up to twice more.
// If neither neighbour is better the tuner settles, and retries at random, growing intervals,
// sooner if the throughput changes by itself.
//
// A measurement has at least three windows and lasts two median steps, longer if steps vary a lot
// (throughput.h). It starts when the steps from before the change have finished.
//
// Out-of-memory deaths and full memory pressure halve the number at once (OverloadGuard). With
// fewer than four steps left per worker nothing is changed any more.
//
// CPU and GPU work have a tuner each. No clock: times are relative to any origin and monotonic.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
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

// A throughput is better than another if it exceeds it by this many standard errors and this share.
inline constexpr double kMinErrors = 2;
inline constexpr double kMinGain = 0.02;

// Returns the initial number of workers for `cores` usable cores: half of them. If each step needs
// one core, two trials find the right number; if steps need more, or memory, little harm is done.
unsigned InitialWorkers(double cores);
// The initial number of workers on a GPU, which hardly depends on cores.
inline constexpr unsigned kInitialGpuWorkers = 2;

class Tuner {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Options {
    unsigned initial = 1;  // clamped to [min, max]
    unsigned min = 1;      // >= 1
    unsigned max = 1;      // >= min
    std::uint64_t seed = 1;
  };

  explicit Tuner(Options options);

  // Returns how many steps may run now. Only Update and OnOverload change it.
  unsigned workers() const { return workers_; }

  // Records a successful step. `duration`: without pauses.
  void OnStepFinished(nanoseconds now, nanoseconds duration, WorkClass step_class = 0);
  // Halves the number of workers, once per incident.
  void OnOverload(nanoseconds now, OverloadSignal signal);
  // Advances the search; call whenever steps have started or ended. `remaining`: steps not started
  // yet; `running`: steps running now.
  void Update(nanoseconds now, std::uint64_t remaining, unsigned running);
  // Records the memory of all running steps together.
  void RecordMemory(Bytes in_use);

  // Whether neither neighbour was better when last tried, or nothing is changed any more.
  bool settled() const { return phase_ == Phase::kSettled || frozen_; }
  // Returns the last decisions, a bounded number.
  const std::vector<Decision>& log() const { return log_.decisions(); }
  // Returns what was measured, by number of workers.
  std::vector<TunerRow> Table() const { return table_.Rows(typical_.mean()); }
  // Returns why only one number was measured, as a clause that continues "because".
  std::string SingleCountReason() const;

 private:
  enum class Phase {
    kBase,     // measuring the best number so far
    kTrial,    // measuring another one
    kRecheck,  // measuring the best once more, after a rejected trial
    kSettled,  // no better neighbour
    kRecover,  // adding one worker after each healthy window
  };

  nanoseconds WindowLength() const;
  void Restart(nanoseconds now);
  bool leaping() const { return leap_up_ || leap_down_; }
  double MinLeapGain(unsigned workers) const;
  void Move(nanoseconds now, unsigned workers, Phase phase);
  bool IsWarmingUp(nanoseconds now, unsigned running);
  std::optional<Throughput> Measured(nanoseconds now, const Measurement& measurement) const;
  void OnMeasured(nanoseconds now, const Throughput& seen, bool saturated);
  void JudgeTrial(nanoseconds now, const Throughput& seen);
  void JudgeAfterRecheck(nanoseconds now, const Throughput& again);
  void TryNext(nanoseconds now);
  void Accept(nanoseconds now, const Throughput& tried, const Throughput& before, double gain);
  void GoBack(nanoseconds now, Phase phase);
  void CheckSettled(nanoseconds now, const Throughput& seen);
  void Settle(nanoseconds now);
  void Freeze(nanoseconds now);
  void Recover(nanoseconds now);
  unsigned MaxAllowed() const;
  unsigned TrialDistance() const;
  std::optional<unsigned> NextUp() const;
  std::optional<unsigned> NextDown() const;
  std::string Comparison(const Throughput& before, double gain) const;
  void LogDecision(nanoseconds now, unsigned before, std::string text);

  // Steps left per worker below which nothing is tried any more.
  static constexpr std::uint64_t kFreezeSteps = 4;

  Options options_;
  std::mt19937_64 random_;
  TypicalDurations typical_;
  ThroughputTable table_;
  DecisionLog log_;
  OverloadGuard guard_;

  Phase phase_ = Phase::kBase;
  unsigned workers_ = 1;
  std::optional<Measurement> measurement_;  // none while steps from before the change run
  std::optional<nanoseconds> changed_;
  unsigned base_workers_ = 1;
  Throughput base_;         // 0 workers: not measured
  Throughput tried_;        // the rejected trial, to be judged again
  unsigned rechecks_ = 0;   // of `tried_`
  bool leap_ = false;       // the current trial is a leap
  bool leap_up_ = true;     // leaps by a factor of two still pay upwards,
  bool leap_down_ = true;   // or downwards, which is tried second
  bool up_failed_ = false;  // the neighbour above was not better
  bool down_failed_ = false;
  bool prefer_up_ = true;
  bool frozen_ = false;
  bool starved_ = false;  // the best number never ran concurrently while measured
  std::uint64_t remaining_ = 0;
  double slowdown_ = 1;
  unsigned restarts_ = 0;

  // While settled.
  unsigned measurements_until_trial_ = 0;
  unsigned failed_trials_ = 0;
  bool change_suspected_ = false;  // the last measurement differed from the one before
  unsigned trial_scale_ = 1;       // neighbour steps per trial
};

}  // namespace reveza::jobs
