// Finds the number of workers that finishes the most work in a second, while the work goes on.
//
// A hill is climbed: another number is tried, kept if it is better by more than two standard errors
// and 2 %, or fewer and as good, else given up. From the first number it doubles while that pays
// nearly in full; then it goes by one, above eight by an eighth. A try that failed is judged again
// when the old number has been measured once more after it, so that steps that grow longer or
// shorter mislead nobody; what looks better and is not sure is measured up to twice more. When
// neither more nor fewer workers are better it is settled, and tries again now and then, at random
// times, ever more seldom; soon when the throughput changes by itself.
//
// A measurement has at least three windows and lasts two median steps; where steps differ much it
// goes on for a while (throughput.h). It begins when steps of before the change are through.
//
// The guard around the hill is that of TCP (additive increase, multiplicative decrease): a death
// for memory, full pressure or a GPU without memory halves the number at once. After each healthy
// window one worker is added, up to one less than what failed; that is tried again only after
// ever more healthy windows.
//
// With fewer than four steps left for each worker nothing is changed any more.
//
// For work on CPUs and on GPUs there are two of these. No clock: times are since any origin and do
// not go back. Thread-safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "runner/decide/throughput.h"

namespace reveza::runner {

// What tells at once that there are too many.
enum class HardSignal {
  kOutOfMemory,   // a step was killed for memory
  kPressureFull,  // everybody waits for memory
  kNoGpuMemory,   // a step was refused memory of the GPU
};

std::string_view ToText(HardSignal signal);

struct Decision {
  std::chrono::nanoseconds at{0};
  unsigned before = 0;  // workers
  unsigned after = 0;
  std::string sentence;  // "3 workers: 5.9 steps/s, 2 gave 6.1: back to 2"
};

struct TunerRow {
  unsigned workers = 0;
  double rate = 0;                // steps per second, newer measurements weigh more
  double gain = 0;                // over the first row: 0.5 is half as much again
  std::uint64_t steps = 0;        // that were measured
  std::optional<Bytes> memory{};  // the most that all running steps had together
};

// With how many to begin where `cores` may be used: half of them. Where steps need a core each, two
// tries more find the right number; where they need more, or memory, little harm is done.
unsigned FirstWorkers(double cores);
// The same for steps on a GPU, whose number has little to do with cores.
inline constexpr unsigned kFirstOnGpu = 2;

class Tuner {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Options {
    unsigned first = 1;  // to begin with; brought between the next two
    unsigned least = 1;  // at least 1
    unsigned most = 1;   // at least `least`
    std::uint64_t seed = 1;
    nanoseconds shortest_window = std::chrono::milliseconds(100);
    std::string unit = "steps";  // in sentences
  };

  explicit Tuner(Options options);

  // How many may run now. Changes in Pass and Hard only.
  unsigned workers() const { return workers_; }

  // A step ended well, `now`, after `duration` (pauses not counted) and did `work` (above 0) of
  // what is usual for its class. What failed is not told.
  void Finished(nanoseconds now, nanoseconds duration, double work = 1, WorkClass step_class = 0);
  void Hard(nanoseconds now, HardSignal signal);
  // To be called whenever steps were started or have ended. `remaining`: steps not started yet;
  // `running`: those that run now.
  void Pass(nanoseconds now, std::uint64_t remaining, unsigned running);
  // What all running steps have together, for the table.
  void Memory(Bytes in_use);

  // Whether neither more nor fewer workers were better when last tried, or nothing is changed any
  // more.
  bool settled() const { return phase_ == Phase::kSettled || frozen_; }
  // The last thousand.
  const std::vector<Decision>& log() const { return log_; }
  // What was measured, by number of workers.
  std::vector<TunerRow> Table() const;
  // Where that is one number: why there is no other. Words that go on behind "because".
  std::string WhyNoOther() const;

 private:
  enum class Phase {
    kBase,     // measuring the number that is the best so far
    kTry,      // measuring another
    kAgain,    // measuring the best once more, after a try that failed
    kSettled,  // nothing better near
    kRecover,  // adding one worker after each healthy window
  };
  struct Known {
    unsigned workers = 0;
    double work = 0;  // typical seconds, older ones faded
    double seconds = 0;
    std::uint64_t steps = 0;
    std::optional<Bytes> memory;
  };

  void Restart(nanoseconds now);
  bool leaping() const { return leap_up_ || leap_down_; }
  double LeastLeapGain(unsigned workers) const;
  void Move(nanoseconds now, unsigned workers, Phase phase);
  bool StillOld(nanoseconds now, unsigned running);
  std::optional<Throughput> Measured(nanoseconds now, const Measurement& measurement) const;
  void OnMeasured(nanoseconds now, const Throughput& seen, bool filled);
  void Judge(nanoseconds now, const Throughput& seen);
  void JudgeAgain(nanoseconds now, const Throughput& again);
  void TryNext(nanoseconds now);
  void Accept(nanoseconds now, const Throughput& tried, const Throughput& before, double gain);
  void GoBack(nanoseconds now, Phase phase);
  void WatchSettled(nanoseconds now, const Throughput& seen);
  void Settle(nanoseconds now);
  void Freeze(nanoseconds now);
  void Recover(nanoseconds now);
  void HealthyWindows(nanoseconds now, unsigned running);
  void Remember(const Throughput& seen);
  Known& KnownOf(unsigned workers);
  unsigned Ceiling() const;
  unsigned Far() const;
  std::optional<unsigned> Up() const;
  std::optional<unsigned> Down() const;
  std::string RateText(double rate) const;
  std::string Comparison(const Throughput& before, double gain) const;
  // So many steps are left for each worker, at least, as long as something is tried.
  static constexpr std::uint64_t kFreezeSteps = 4;
  static std::string WorkersText(unsigned workers);
  void Say(nanoseconds now, unsigned before, std::string sentence);

  Options options_;
  std::mt19937_64 random_;
  TypicalDurations typical_;
  std::vector<Known> known_;  // sorted by workers
  std::vector<Decision> log_;

  Phase phase_ = Phase::kBase;
  unsigned workers_ = 1;
  std::optional<Measurement> measurement_;  // none while steps of before the change run
  std::optional<nanoseconds> changed_;
  unsigned base_workers_ = 1;
  Throughput base_;      // of no workers: not measured
  Throughput tried_;     // that failed, to be judged again
  unsigned rounds_ = 0;  // in which it was
  // Leaps, by a factor of two: first up, then down, as long as they pay.
  bool leap_ = false;  // what is tried is one
  bool leap_up_ = true;
  bool leap_down_ = true;
  bool up_failed_ = false;
  bool down_failed_ = false;
  bool prefer_up_ = true;
  bool frozen_ = false;
  bool starved_ = false;  // the best number, when measured, did not all run at once
  std::uint64_t remaining_ = 0;
  double slowdown_ = 1;
  unsigned restarts_ = 0;

  // Settled: measurements until the next try.
  unsigned wait_ = 0;
  unsigned fruitless_ = 0;
  bool surprised_ = false;  // the last measurement was another one than before
  unsigned reach_ = 1;      // steps that a try goes

  // The guard.
  std::optional<unsigned> failed_at_;  // workers with which the last hard signal came
  unsigned hard_count_ = 0;
  // That was heeded, and when: what follows at once is of the same incident.
  std::optional<nanoseconds> last_hard_;
  HardSignal last_signal_ = HardSignal::kOutOfMemory;
  unsigned goal_ = 0;                        // of recovering
  std::optional<nanoseconds> window_begun_;  // of the healthy window that runs
  std::uint64_t finished_in_window_ = 0;
  unsigned healthy_ = 0;  // windows since the last hard signal
};

}  // namespace reveza::runner
