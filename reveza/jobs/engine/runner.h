// What every runner of a job does with its steps, on this machine (engine.h) and elsewhere
// (../cluster/cluster_run.h). Not thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "reveza/jobs/definition/run_request.h"
#include "reveza/jobs/engine/schedule.h"
#include "reveza/jobs/engine/step_list.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/report/run_record.h"

namespace reveza::jobs {

struct EngineParts;

// Blocks SIGINT, SIGTERM and SIGHUP, ignores SIGPIPE, and returns a signalfd of the former.
Result<UniqueFd> OpenRunnerSignals();

// Takes the list of the job's steps from `parts`, or reads it.
Result<StepList> TakeList(EngineParts& parts);

// Brings a waiting step of the schedule into the state that it has in the journal. Fails if the
// journal cannot be written, after the step has that state.
Status RestoreStep(const RunRequest& request, const StepStatus& status, std::uint32_t step,
                   Journal& journal, Schedule& schedule, RetryPolicy& retries);

// Appends steps that the journal has and the job lacks, also to `list`: all or, if it fails, none.
// Returns how many.
Result<std::uint64_t> AppendListedSteps(EngineParts& parts, StepList& list);

// Returns the failed and held steps that a request names by their numbers from 1; all if it names
// none.
Result<std::set<std::uint32_t>> StepsToRetry(const nlohmann::json& steps, const Schedule& schedule);

// Returns how a run ended; `early`: if steps are left.
RunEnd EndOf(const Schedule::Counts& counts, RunEnd early);
// Writes down the end of a run, now.
void RecordEnd(const Schedule::Counts& counts, RunEnd end, RunRecord& record);

}  // namespace reveza::jobs
