// A job's progress, and the metrics of its steps, formatted for terminals and logs. Pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/decide/estimate.h"
#include "reveza/jobs/journal/journal_reader.h"
#include "reveza/jobs/supervisor/cycle_lines.h"

namespace reveza::jobs {

// Summarises the metrics that steps report, e.g. phi. The order of adding affects only rounding.
// Pure values. Not thread-safe.
struct MetricSummary {
  std::uint64_t count = 0;  // 0: the other fields are meaningless
  double min = 0;
  double mean = 0;
  double max = 0;
  double final = 0;                // value of the highest-numbered step
  std::uint64_t final_number = 0;  // number of that step

  // Adds the value of step `number`. Of two values with the same number the larger is final.
  void Add(std::uint64_t number, double value);

  bool operator==(const MetricSummary&) const = default;
};

struct NamedSummary {
  std::string name;
  MetricSummary summary;

  bool operator==(const NamedSummary&) const = default;
};

class Metrics {
 public:
  // Bounds memory, e.g. if a program uses a new name in every step. Further names are ignored.
  static constexpr std::size_t kMaxNames = 256;

  void Add(std::uint64_t number, std::span<const Metric> metrics);

  std::span<const NamedSummary> all() const { return all_; }  // in order of first appearance

 private:
  std::vector<NamedSummary> all_;
};

// Returns what a cycle reported.
std::vector<Metric> MetricsOf(const CycleResult& cycle);

// Returns the metrics of all recorded cycles of listed steps, of any run.
Result<Metrics> ReadMetrics(JournalReader& journal);

struct Progress {
  std::string name;               // of the job
  std::uint64_t steps = 0;        // in all
  std::uint64_t done = 0;         // successful, including earlier runs
  std::uint64_t done_before = 0;  // of those, in earlier runs
  std::uint64_t failed = 0;       // permanently
  std::uint64_t cycles = 0;       // of all steps; 0: some have none
  std::uint64_t cycles_done = 0;  // including earlier runs
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;   // not started yet
  std::string waiting_reason;  // why the next step does not start; may be empty
  std::optional<unsigned> workers;
  std::chrono::nanoseconds elapsed{0};
  std::optional<double> rate;  // steps per second
  std::optional<RemainingTime> remaining;
  std::vector<NamedSummary> metrics;
  std::size_t columns = 80;  // of the terminal
  bool colour = false;
};

// Formats one to six lines without newlines, truncated to `columns` code points. Unknown values are
// omitted.
std::vector<std::string> ProgressLines(const Progress& progress);

// Returns what became of an attempt, as the end of a sentence: "failed with status 1".
std::string OutcomeText(const AttemptResult& result);

// Returns the number of code points, and truncates to as many, ending with "…".
std::size_t Width(std::string_view text);
std::string Truncate(std::string_view text, std::size_t columns);

// Formats "2 min to 3 min left".
std::string RemainingText(const RemainingTime& remaining);
// Parses what EtaJson() returns, unless that is null.
RemainingTime RemainingFromJson(const nlohmann::json& eta);

// Writes control characters as \t, \n or \xHH.
std::string EscapeControls(std::string_view text);

// Formats a single log line of any length, without newline.
std::string ProgressLine(const Progress& progress);

// Formats "phi 0.61 (min 0.5, mean 0.6, max 0.7)", starting with the final value.
std::string MetricText(const NamedSummary& metric);

// A job's progress as JSON, for `jobs run --json` and the control socket. Pure functions.
// Returns {"phi": {"count": 500, "min": 0.5, "mean": 0.6, "max": 0.7, "final": 0.6}}
nlohmann::json MetricsJson(std::span<const NamedSummary> metrics);
// Returns {"done": 23, "all": 60}; null if the job has no cycles.
nlohmann::json CyclesJson(const Progress& progress);
// Returns {"p50": 60, "p90": 75} in seconds; null if unknown.
nlohmann::json EtaJson(const std::optional<RemainingTime>& remaining);
// Returns the fields of a "progress" event. "rate": steps per second,
// null if unknown. "reason" is null if no step is held back.
nlohmann::json ProgressJson(const Progress& progress);

struct JoblogEntry {
  std::uint64_t number = 0;                       // of the step in its job, 1-based
  std::chrono::system_clock::time_point start{};  // of the attempt
  std::chrono::nanoseconds duration{0};           // of the attempt
  std::uint64_t received = 0;                     // bytes of output
  int exit_status = 0;                            // 0 if killed by a signal
  int signal = 0;                                 // 0 if none
  std::string command;                            // as executed
};

// Returns the header of a job log compatible with GNU parallel's --joblog: tab-separated columns
// Seq, Host, Starttime, JobRuntime, Send, Receive, Exitval, Signal and Command.
std::string_view JoblogHeader();

// Formats a line with its newline. Control characters in the command are escaped as \t, \n or \xHH.
std::string JoblogLine(const JoblogEntry& entry);

}  // namespace reveza::jobs
