// Measures the throughput of a number of workers while steps run: in windows, so that the error of
// the figure is known, and in two ways.
//
// Counted: finished work over time. Always unbiased, but a few long steps finish in bursts.
// Little's law (L = X R, J. Little 1961): concurrency over the time per step. Exact after a few
// steps of equal length; with the mean of logarithms, robust against a few very long ones.
//
// Steps of different classes are normalised by the typical duration of their class.
// Pure values. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/bytes.h"

namespace reveza::jobs {

inline double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Identifies steps with similar durations, e.g. those of one command.
using WorkClass = std::uint64_t;

// Typical step durations, by class and overall.
class TypicalDurations {
 public:
  // Records a step that took `seconds` while the machine was slower by the factor `slowdown` than
  // when the first class was measured. Returns true if the typical duration of the class became
  // final with this step: earlier measurements are not comparable with later ones.
  bool Add(WorkClass step_class, double seconds, double slowdown);
  // Returns seconds per step, final after the first few steps of the class; empty if unknown.
  std::optional<double> Typical(WorkClass step_class) const;
  // Returns the mean typical duration of all finished steps, in seconds; 0 without any.
  double mean() const { return steps_ > 0 ? sum_ / steps_ : 0; }
  // Returns the median duration of the last steps of any class; empty without any.
  std::optional<std::chrono::nanoseconds> median() const;

 private:
  struct FirstSteps {
    std::size_t enough = 1;
    std::vector<double> seconds;  // sorted, at most kFirstSteps
    double typical = 0;
  };
  std::unordered_map<WorkClass, FirstSteps> classes_;
  std::vector<double> recent_;  // ring buffer
  std::size_t next_ = 0;
  double sum_ = 0;  // typical seconds
  double steps_ = 0;
};

// A logarithm with its standard error; differences are relative changes.
struct LogRate {
  double value = 0;
  double error = 0;
};

struct Throughput {
  unsigned workers = 0;
  std::uint64_t steps = 0;
  double seconds = 0;
  LogRate counted;      // typical seconds of work per second
  LogRate little;       // the same by Little's law, of the typical step
  double rate = 0;      // typical seconds of work per second, by the more precise method
  double slowdown = 1;  // ratio of actual to typical durations
  double busy = 0;      // cores that the workers use
};

// Returns the gain of `to` over `from` (0.05: 5 %) with its error, comparing like with like.
LogRate GainBetween(const Throughput& from, const Throughput& to);

inline constexpr std::chrono::milliseconds kMinWindow{100};

// One measurement of one number of workers.
class Measurement {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // A window closes after kMinWindow, and once a third of the workers have finished a step.
  Measurement(nanoseconds now, unsigned workers)
      : begun_(now), workers_(workers), last_(now), running_(workers) {}

  // Records a finished step that is typically `typical` seconds long.
  // `cpu`: its processor time.
  void OnStepFinished(nanoseconds now, nanoseconds duration, nanoseconds cpu, double typical);
  // Sets the number of running steps from now on.
  void SetRunning(nanoseconds now, unsigned running);

  std::size_t windows() const { return windows_.size(); }  // closed ones
  std::uint64_t steps() const { return steps_; }           // in closed windows
  nanoseconds begun() const { return begun_; }
  // Whether all workers were ever busy at the same time.
  bool saturated() const { return max_running_ >= workers_; }
  unsigned max_running() const { return max_running_; }
  // Returns the result; empty while there are fewer windows than `min_windows`, at least 2.
  std::optional<Throughput> Result(std::size_t min_windows = 3) const;
  // Returns the ratio of actual to typical durations; 1 without any step.
  double slowdown() const;

 private:
  struct Window {
    double seconds = 0;
    double busy = 0;  // worker-seconds
    double work = 0;
    double log_sum = 0;  // of actual over typical duration
    double log_squares = 0;
    double ratio_sum = 0;
    double ratio_squares = 0;
    double duration_sum = 0;  // of finished steps
    double cpu_sum = 0;
    std::uint64_t steps = 0;
  };
  void Advance(nanoseconds now);

  nanoseconds begun_;
  unsigned workers_;
  nanoseconds last_;
  unsigned running_;
  unsigned max_running_ = 0;
  std::uint64_t steps_ = 0;
  Window open_;
  std::vector<Window> windows_;
};

// The measured throughput by number of workers, for reports. Pure values; not thread-safe.
struct TunerRow {
  unsigned workers = 0;
  double rate = 0;                // steps per second; newer measurements weigh more
  double gain = 0;                // over the first row: 0.5 is 50 % more
  std::uint64_t steps = 0;        // measured
  std::optional<Bytes> memory{};  // peak of all running steps together
};

class ThroughputTable {
 public:
  void Record(const Throughput& measured);
  // Records the memory of all running steps together, with `workers` workers.
  void RecordMemory(unsigned workers, Bytes in_use);

  // Returns the rows with measurements, by number of workers. `typical_seconds`: mean work per
  // step.
  std::vector<TunerRow> Rows(double typical_seconds) const;

 private:
  struct Entry {
    unsigned workers = 0;
    double work = 0;  // typical seconds, exponentially decayed
    double seconds = 0;
    std::uint64_t steps = 0;
    std::optional<Bytes> memory;
  };
  Entry& EntryFor(unsigned workers);

  std::vector<Entry> entries_;  // sorted by workers
};

// Formats rates in a unit of time in which they are at least 1. Pure functions.
// Formats with two significant digits, three from ten on: "1234", "59.2", "5.9".
std::string FormatShort(double value);

// A unit of time in which a rate is at least 1, up to an hour.
struct RateUnit {
  double seconds = 1;
  std::string_view name = "s";
};
RateUnit RateUnitFor(double per_second);

// Formats as "5.9 steps/s", "12 steps/min" or "3.1 steps/h".
std::string FormatRate(double per_second);

}  // namespace reveza::jobs
