// How much work a number of workers finishes in a second, measured while steps run: in windows, so
// that it is known how sure the figure is, and in two ways.
//
// Counted: finished work over time. Right in any case, but a few long steps finish in bursts.
// By Little's law (L = X R, J. Little 1961): the steps that run at once over the time that one
// takes. Exact after a few steps of equal length, and with the mean of the logarithms of the times
// hardly disturbed by a few very long ones.
//
// Steps of different classes are made comparable by what a step of the class usually takes.
// Pure values; no clock. Thread-safety: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace reveza::runner {

// A class of steps that are alike: those of one command, say.
using WorkClass = std::uint64_t;

// What a step of each class takes, and what any step takes.
class TypicalDurations {
 public:
  // A step took `seconds` for each unit of its work while the machine was slower by `slowdown` than
  // when the first class was measured. True: what is typical for the class is fixed from now on;
  // what was measured with other values cannot be compared with what comes.
  bool Add(WorkClass step_class, double seconds, double work, double slowdown);
  // Seconds for one unit; fixed after the first few steps of the class. Absent: never seen.
  std::optional<double> Of(WorkClass step_class) const;
  // Of all units of work that were finished, in seconds; 0 when there were none.
  double mean() const { return work_ > 0 ? weighted_ / work_ : 0; }
  // Of the last steps of any class, work not considered; nothing before the first.
  std::optional<std::chrono::nanoseconds> median() const;

 private:
  struct First {
    std::vector<double> seconds;  // sorted, at most kFirst
    double typical = 0;
  };
  std::unordered_map<WorkClass, First> classes_;
  std::vector<double> last_;  // a ring
  std::size_t next_ = 0;
  double weighted_ = 0;
  double work_ = 0;
};

// A figure with its standard error, both as logarithms: differences are shares.
struct LogRate {
  double value = 0;
  double error = 0;
};

struct Throughput {
  unsigned workers = 0;
  std::uint64_t steps = 0;
  double seconds = 0;
  LogRate counted;      // typical seconds of work per second
  LogRate little;       // of the typical step: a few very long ones do not count
  double rate = 0;      // typical seconds of work per second, counted or by Little's law
  double slowdown = 1;  // times a step takes its typical duration
};

// How much better `to` is than `from` (0.05: 5 %), by the same measure of both, and its error.
LogRate GainBetween(const Throughput& from, const Throughput& to);

// One measurement with one number of workers.
class Measurement {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // Windows are closed after `shortest` at the earliest, and after a third of the workers finished
  // a step.
  Measurement(nanoseconds now, unsigned workers, nanoseconds shortest);

  // A step ended that took `duration`, `typical` seconds by its class and amount of work.
  void Finished(nanoseconds now, nanoseconds duration, double typical);
  // So many steps run from now on.
  void Running(nanoseconds now, unsigned running);

  std::size_t windows() const { return windows_.size(); }  // that are closed
  std::uint64_t steps() const { return steps_; }           // in closed windows
  nanoseconds begun() const { return begun_; }
  // Whether as many steps as workers ever ran at once.
  bool filled() const { return most_running_ >= workers_; }
  // Nothing before the third window.
  std::optional<Throughput> Result() const;
  // How much slower steps are than is typical for them; 1 before the first.
  double slowdown() const;

 private:
  struct Window {
    double seconds = 0;
    double busy = 0;  // seconds of workers
    double work = 0;
    double log_sum = 0;  // of duration over typical duration
    double log_squares = 0;
    double ratio_sum = 0;
    double ratio_squares = 0;
    std::uint64_t steps = 0;
  };
  void Advance(nanoseconds now);

  nanoseconds begun_;
  unsigned workers_;
  double shortest_;
  nanoseconds last_;
  unsigned running_;
  unsigned most_running_ = 0;
  std::uint64_t steps_ = 0;
  Window open_;
  std::vector<Window> windows_;
};

}  // namespace reveza::runner
