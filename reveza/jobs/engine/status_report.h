// Reports the state of a running job: progress, status JSON and tuning text. Reads the engine's
// parts and changes nothing. Not thread-safe; called from the runner's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "reveza/jobs/decide/governor.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/engine/cycle_progress.h"
#include "reveza/jobs/engine/schedule.h"
#include "reveza/jobs/engine/worker_pool.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::jobs {

// A view of the engine; references must outlive it.
struct EngineView {
  using Nanoseconds = std::chrono::nanoseconds;

  std::string_view id;  // of the job
  const Job& job;
  const Schedule& schedule;
  const WorkerPool& pool;
  const Governor& governor;
  const Metrics& metrics;
  const CycleProgress& cycles;
  std::span<const RunningStep> running;
  const Governor::Counts& running_by_lane;
  std::string_view state;           // "running", "paused" or "stopping"
  std::string_view limits;          // how memory limits are enforced
  std::string_view waiting_reason;  // empty: no step is held back
  std::uint64_t done_before = 0;    // steps finished by earlier runs
  std::uint64_t ended_here = 0;     // attempts ended in this run
  Nanoseconds now{0};
  Nanoseconds began{0};
};

Progress MakeProgress(const EngineView& view);

// Returns the part of the answer to a status request that does not depend on where steps run.
// `state`: "running", "paused" or "stopping"; `limits`: how memory limits are enforced.
nlohmann::json CommonStatusJson(const Job& job, const Schedule::Counts& counts,
                                const Progress& progress, std::string_view state,
                                std::string_view limits);

// Returns the answer to a status request (docs/jobs.md).
nlohmann::json StatusJson(const EngineView& view);

// Formats the tuner's table and decisions; empty if the number of workers is fixed. `began`: start
// of the run.
std::string TuningText(const Governor& governor, std::chrono::nanoseconds began);

}  // namespace reveza::jobs
