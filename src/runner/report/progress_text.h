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

#include "runner/decide/estimate.h"
#include "runner/report/metrics.h"

namespace reveza::runner {

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

// "phi 0.61 (min 0.5, mean 0.6, max 0.7)": first what was last.
std::string MetricText(const NamedSummary& metric);

}  // namespace reveza::runner
