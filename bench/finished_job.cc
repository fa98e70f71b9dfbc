// Records a success of each waiting step of a job, as if it had run, to measure what a job of many
// finished steps costs: `finished_job STATE JOB`, with STATE as in $REVEZA_STATE.
#include <fmt/format.h>

#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/supervisor/record.h"

namespace reveza::jobs {
namespace {

Status Finish(const std::string& state, const std::string& name) {
  ASSIGN_OR_RETURN(const auto folder, JobFolder::Find(state, name));
  ASSIGN_OR_RETURN(auto journal, Journal::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto list, journal.List());
  AttemptExtra extra;
  extra.boot = ReadBootId();
  for (const StepEntry& step : list) {
    if (step.state == StepState::kDone) continue;
    AttemptResult result;
    result.name = {step.identity, step.attempts + 1};
    result.outcome = Outcome::kSuccess;
    result.pid = 1;
    result.began = WallNow();
    result.ended = result.began + 1'000'000;
    ASSIGN_OR_RETURN(const bool recorded, journal.RecordAttempt(result, extra));
    static_cast<void>(recorded);
  }
  return journal.Checkpoint();
}

}  // namespace
}  // namespace reveza::jobs

int main(int argc, char** argv) {
  const auto finished = argc == 3 ? reveza::jobs::Finish(argv[1], argv[2])
                                  : reveza::InvalidArgument("usage: finished_job STATE JOB");
  if (!finished) fmt::print(stderr, "{}\n", finished.error().message);
  return finished ? 0 : 1;
}
