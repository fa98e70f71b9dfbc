// How a job's progress reads: the lines of a live display, the line of a log, and what is said of
// the number of workers at the end. Thread-safety: pure functions of values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/metrics.h"

namespace reveza::runner {

struct RemainingTime {
  std::chrono::nanoseconds p50{0};  // as likely too long as too short
  std::chrono::nanoseconds p90{0};  // in nine of ten cases it is less

  bool operator==(const RemainingTime&) const = default;
};

struct Progress {
  std::string name;           // of the job
  std::uint64_t steps = 0;    // in all
  std::uint64_t done = 0;     // with success, those of earlier runs as well
  std::uint64_t earlier = 0;  // of those done: in earlier runs
  std::uint64_t failed = 0;   // for good
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;   // to be started
  std::string waiting_reason;  // why the next does not start; empty: it needs no saying
  std::optional<unsigned> workers;
  std::chrono::nanoseconds elapsed{0};
  std::optional<double> rate;  // steps per second
  std::optional<RemainingTime> remaining;
  std::optional<double> drift;  // seconds by which each step is longer than the last, where certain
  std::vector<NamedSummary> metrics;
  std::size_t columns = 80;  // of the terminal
  bool colour = false;
};

// One to six lines without ends, none wider than `columns` (a code point counts as one). What does
// not fit is cut, what is not known is not said.
std::vector<std::string> ProgressLines(const Progress& progress);

// The same in one line for a log, however long. Without an end.
std::string ProgressLine(const Progress& progress);

// The time for which a rate is at least 1, up to an hour.
struct RateUnit {
  double seconds = 1;
  std::string_view name = "s";
};
RateUnit RateUnitFor(double per_second);

// "5.9 steps/s", "12 steps/min", "3.1 steps/h".
std::string FormatRate(double per_second, std::string_view unit = "steps");

}  // namespace reveza::runner
