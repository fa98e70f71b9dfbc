// What is known of a job from its folder: for `reveza jobs list`, `show` and `why`. Not
// thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal_reader.h"
#include "reveza/jobs/report/run_record.h"

namespace reveza::cli {

struct JobSummary {
  std::string id;
  bool running = false;  // it has a runner
  std::map<jobs::StepState, std::uint64_t> states;
  std::optional<jobs::RunRecord> run;      // the last one; nullopt: of an earlier version
  std::optional<jobs::WallTime> last_end;  // of an attempt
  std::vector<jobs::Command> commands;     // of the last run; empty: unknown
  nlohmann::json cycles;  // of all steps, as the runner says; null: none, or no runner

  // Without a runner, a step whose retry is undecided has failed.
  std::uint64_t Count(jobs::StepState state) const;
  std::uint64_t AllSteps() const;
  // Returns "running", "done", "failed", ..., or "killed".
  std::string State() const;
  // Returns how long the last run took, or has taken so far; nullopt if that is unknown.
  std::optional<std::chrono::nanoseconds> Elapsed() const;
};

// Reads the summary of a job. kIncompatible: its journal is damaged.
Result<JobSummary> SummarizeJob(const jobs::JobFolder& folder, jobs::JournalReader& journal);

nlohmann::json SummaryJson(const JobSummary& job);

// Returns ", 23 of 60 cycles", of a runner's status; empty if the job has none.
std::string CyclesText(const nlohmann::json& status);

// Returns the jobs as a table for a terminal, with a line for each.
std::string ListText(const std::vector<JobSummary>& jobs);

// Returns a command as it was typed: placeholders need no quotes.
std::string CommandText(const jobs::Command& command);

// Formats a time as "2026-11-27 20:41:05", in the local time zone.
std::string TimeText(jobs::WallTime at);

}  // namespace reveza::cli
