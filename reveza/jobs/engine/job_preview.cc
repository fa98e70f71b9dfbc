#include "reveza/jobs/engine/job_preview.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/definition/shard.h"
#include "reveza/jobs/engine/earlier_commands.h"
#include "reveza/jobs/engine/start_check.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal_reader.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

std::string NameFor(const Job& job) { return job.name.empty() ? DefaultName(job) : job.name; }

// Returns the journal of the job's earlier runs; nullopt if there are none.
Result<std::optional<JournalReader>> FindJournal(const fs::path& state, const std::string& id) {
  const auto folder = JobFolder::Find(state, id);
  std::error_code error;
  if (!folder || !fs::exists(folder->journal(), error)) return std::nullopt;
  ASSIGN_OR_RETURN(auto journal, JournalReader::Open(folder->journal()));
  return std::optional<JournalReader>(std::move(journal));
}

// Returns how many finished steps of the last run are not among `identities`.
Result<std::uint64_t> CountDropped(JournalReader& journal,
                                   const std::vector<Identity>& identities) {
  const std::set<Identity> known(identities.begin(), identities.end());
  std::uint64_t dropped = 0;
  RETURN_IF_ERROR(journal.ForEachStep([&](const StepEntry& step) {
    if (step.state == StepState::kDone && !known.contains(step.identity)) ++dropped;
  }));
  return dropped;
}

// Counts a step of the job. Returns whether it would run.
Result<bool> CountStep(JournalReader& journal, const Identity& identity, const Command& command,
                       bool retry_failed, JobPreview& preview, NewSteps& compared) {
  ASSIGN_OR_RETURN(const auto step, journal.FindStep(identity));
  if (!step || step->attempts == 0) ++compared.added;
  if (!step) return true;
  if (step->state == StepState::kFailed || step->state == StepState::kUndecided) {
    ++preview.failed;
    return retry_failed || step->state != StepState::kFailed;
  }
  if (step->state != StepState::kDone) return true;
  ++preview.done;
  if (!command.cycles) return false;
  ASSIGN_OR_RETURN(const auto last, journal.LastCycle(identity));
  const bool lacks_cycles = last < command.cycles->count;
  if (lacks_cycles) ++preview.continued;
  return lacks_cycles;
}

}  // namespace

Result<JobPreview> PreviewJob(const fs::path& state, const Job& whole, const Expander& expander,
                              const RunRequest& request) {
  FileHashCache files;
  ASSIGN_OR_RETURN(auto identities, ComputeIdentities(whole, files));
  Job part;
  if (request.shard) {
    part = whole;
    SelectShard(*request.shard, part, identities);
  }
  const Job& job = request.shard ? part : whole;
  const std::string id = NameFor(whole);
  ASSIGN_OR_RETURN(auto journal, FindJournal(state, id));
  JobPreview preview{.exists = journal.has_value(), .steps = job.steps.size()};
  NewSteps compared{.listed = job.steps.size()};
  std::vector<bool> will_run(job.steps.size(), true);
  if (journal) {
    for (std::size_t i = 0; i < job.steps.size(); ++i) {
      const Command& command = job.commands[job.steps[i].command];
      ASSIGN_OR_RETURN(const bool runs, CountStep(*journal, identities[i], command,
                                                  request.retry_failed, preview, compared));
      will_run[i] = runs || request.force;
    }
    ASSIGN_OR_RETURN(compared.dropped, CountDropped(*journal, identities));
  } else {
    compared.added = compared.listed;
  }
  RETURN_IF_ERROR(CheckPrograms(job, expander, OwnEnvironment(),
                                [&](std::size_t step) { return will_run[step]; }));
  preview.explanation = ExplainNewSteps(state, id, ContentOf(job, files), compared);
  return preview;
}

Result<std::optional<std::string>> ExplainChanges(const fs::path& state, const Job& job,
                                                  const Expander& expander,
                                                  const RunRequest& request) {
  FileHashCache files;
  const auto has_inputs = [](const Command& command) { return !command.inputs.empty(); };
  if (std::ranges::any_of(job.commands, has_inputs)) {
    RETURN_IF_ERROR(ComputeIdentities(job, files));
  }
  const auto folder = JobFolder::Find(state, NameFor(job));
  if (folder && DescribeDifferences(KeptContent(*folder), ContentOf(job, files)).empty()) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(auto preview, PreviewJob(state, job, expander, request));
  return std::move(preview.explanation);
}

}  // namespace reveza::jobs
