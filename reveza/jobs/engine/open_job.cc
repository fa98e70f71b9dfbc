#include "reveza/jobs/engine/open_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/units.h"
#include "common/platform/network_file_system.h"
#include "common/platform/runtime_paths.h"
#include "reveza/jobs/decide/machine_reading.h"
#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/definition/job_json.h"
#include "reveza/jobs/engine/added_steps.h"
#include "reveza/jobs/engine/earlier_commands.h"
#include "reveza/jobs/engine/start_check.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/merge_journals.h"
#include "reveza/jobs/journal/step_listing.h"
#include "reveza/jobs/journal/verify_outputs.h"
#include "reveza/jobs/supervisor/child.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

Result<Journal> OpenJournal(const JobFolder& folder, const RunRequest& request) {
  auto journal = Journal::Open(folder.journal(), request.durable ? Journal::Durability::kPower
                                                                 : Journal::Durability::kProcess);
  if (journal || journal.error().code != Error::Code::kIncompatible) return journal;
  return Fail(Error::Code::kIncompatible,
              "{}; run reveza jobs repair {} to rebuild it from the supervisors' records",
              journal.error().message, folder.id());
}

struct UpdatedList {
  StepList list;
  std::uint64_t dropped = 0;  // finished steps that are no longer listed
};

// Reads the list, and writes it if it has changed.
Result<UpdatedList> UpdateList(Journal& journal, const Job& job,
                               const std::vector<Identity>& identities) {
  ASSIGN_OR_RETURN(auto known, StepList::Read(journal));
  if (std::ranges::equal(known, identities, {}, &StepStatus::identity)) {
    return UpdatedList{std::move(known)};
  }
  ASSIGN_OR_RETURN(const bool all_new, journal.SetList(identities.size(), [&](std::size_t step) {
    return ListedStep{identities[step], LabelOf(job, step)};
  }));
  if (all_new) return UpdatedList{StepList(identities)};
  UpdatedList updated;
  ASSIGN_OR_RETURN(updated.list, StepList::Read(journal));
  for (const StepStatus& step : known) {
    if (step.state == StepState::kDone && !updated.list.Find(step.identity)) ++updated.dropped;
  }
  return updated;
}

Status AppendAddedSteps(Journal& journal, Job& job, Expander& expander,
                        std::vector<Identity>& identities) {
  ASSIGN_OR_RETURN(const auto merged, MergeAddedSteps(journal, job, identities));
  if (merged == 0) return {};
  ASSIGN_OR_RETURN(auto larger, Expander::Make(job));
  expander = std::move(larger);
  return {};
}

// Requeues what has to run again: all steps with --force, otherwise finished ones that lack cycles
// because their number was raised.
Status RequeueFinished(Journal& journal, const RunRequest& request, const Job& job,
                       StepList& list) {
  const auto has_cycles = [](const Command& command) { return command.cycles.has_value(); };
  if (!request.force && std::ranges::none_of(job.commands, has_cycles)) return {};
  for (std::size_t i = 0; i < list.size() && i < job.steps.size(); ++i) {
    StepStatus& step = list[i];
    if (request.force) {
      if (step.state == StepState::kWaiting && step.attempts == 0) continue;
      RETURN_IF_ERROR(journal.ResetStep(step.identity));
      step.state = StepState::kWaiting;
      continue;
    }
    const auto& cycles = job.commands[job.steps[i].command].cycles;
    if (!cycles || step.state != StepState::kDone) continue;
    ASSIGN_OR_RETURN(const auto recorded, journal.CountCycles(step.identity));
    if (recorded.last >= cycles->count) continue;
    RETURN_IF_ERROR(journal.Requeue(step.identity));
    step.state = StepState::kWaiting;
  }
  return {};
}

// Returns what the user should know before the run starts, one line each.
std::vector<std::string> StartupNotes(const OpenedJob& opened, const JobFolder& folder,
                                      const std::vector<ChangedProgram>& changed, bool rerun) {
  std::vector<std::string> notes;
  if (const auto system = platform::NetworkFileSystem(folder.path())) {
    notes.push_back(
        fmt::format("{} is on {}, which other machines may mount: the journal is safe there only "
                    "while a single machine uses it; set REVEZA_STATE to a folder on a local disk",
                    folder.path().string(), *system));
  }
  if (opened.imported.unknown > 0) {
    notes.push_back(fmt::format(
        "the outcome of {} attempts is unknown: a supervisor was killed, or the power failed",
        opened.imported.unknown));
  }
  if (const auto live = opened.imported.live.size(); live > 0) {
    notes.push_back(fmt::format(
        "{} of the previous runner {} still running; the results are awaited, not computed again",
        live == 1 ? "a step" : fmt::format("{} steps", live), live == 1 ? "is" : "are"));
  }
  for (const auto& [path, steps] : changed) {
    const std::string done = steps == 1 ? "a step" : fmt::format("{} steps", steps);
    notes.push_back(
        rerun ? fmt::format("{} has changed since {} finished; running again", path.string(), done)
              : fmt::format("{} has changed since {} finished; --rerun-if-program-changed runs "
                            "these again",
                            path.string(), done));
  }
  if (opened.lost > 0) {
    notes.push_back(fmt::format("the outputs of {} steps were lost in a power cut; they run again",
                                opened.lost));
  }
  return notes;
}

// User-visible names of journal keys; keys not listed here are not reported.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kKeyNames = {{
    {"added", "added steps"},
    {"learned", "learned step needs"},
    {"outputs", "the output folder"},
    {"programs", "program versions"},
    {"tuning", "tuning measurements"},
}};

}  // namespace

Result<OpenedJob> OpenJob(const fs::path& state, Job& job, Expander& expander,
                          const RunRequest& request, const fs::path& supervisor,
                          std::vector<Identity> identities) {
  FileHashCache files;
  if (identities.empty()) {
    ASSIGN_OR_RETURN(identities, ComputeIdentities(job, files));
    if (request.shard) SelectShard(*request.shard, job, identities);
  }
  RETURN_IF_ERROR(CheckNewJob(state, job, expander));
  ASSIGN_OR_RETURN(auto folder,
                   JobFolder::Create(state, job.name.empty() ? DefaultName(job) : job.name));
  ASSIGN_OR_RETURN(auto lock, folder.Lock());
  ASSIGN_OR_RETURN(auto journal, OpenJournal(folder, request));
  ASSIGN_OR_RETURN(auto imported, ImportRecords(folder, journal, Supervisors::kOrphans));
  ASSIGN_OR_RETURN(auto shard_export, PrepareExport(request, journal));
  const auto outputs = request.output_folder.empty() ? folder.outputs() : request.output_folder;
  ASSIGN_OR_RETURN(const auto verified, VerifyOutputs(journal, outputs, ReadBootId()));
  RETURN_IF_ERROR(SyncAddedSteps(folder, journal));
  RETURN_IF_ERROR(AppendAddedSteps(journal, job, expander, identities));
  ASSIGN_OR_RETURN(auto updated, UpdateList(journal, job, identities));
  RETURN_IF_ERROR(StepListing::Of(job).WriteTo(journal));
  StepList& list = updated.list;
  RETURN_IF_ERROR(RequeueFinished(journal, request, job, list));
  auto environment = OwnEnvironment();
  RETURN_IF_ERROR(CheckPrograms(job, expander, environment, [&](std::size_t step) {
    const StepState step_state = list[step].state;
    return step_state != StepState::kDone &&
           (step_state != StepState::kFailed || request.retry_failed);
  }));
  const JobContent content = ContentOf(job, files);
  const auto is_new = [](const StepStatus& step) { return step.attempts == 0; };
  const NewSteps compared{static_cast<std::uint64_t>(std::ranges::count_if(list, is_new)),
                          list.size(), updated.dropped};
  const auto explained = ExplainNewSteps(state, folder.id(), content, compared);
  // Optional: without it the next run cannot say what has changed.
  static_cast<void>(KeepContent(folder, content));
  // A CPU budget reduces the workers as well as the threads of each.
  const double usable = UsableCores();
  const double cores = std::min(usable, request.cpu_budget.value_or(usable));
  const auto changed = TrackPrograms(journal, {job, expander, environment, imported.live, list},
                                     request.rerun_if_program_changed);
  if (!changed) return std::unexpected(changed.error());
  RETURN_IF_ERROR(journal.Set(kOutputsKey, outputs.string()));
  RETURN_IF_ERROR(journal.Commit());
  OpenedJob opened{
      std::move(lock),
      EngineParts{&job, &expander, std::move(identities), request, folder, std::move(journal),
                  imported.live, supervisor, std::move(environment), cores},
      imported,
      verified.checked,
      verified.lost,
      {}};
  if (shard_export) opened.parts.shard_export.emplace(*std::move(shard_export));
  opened.notes = StartupNotes(opened, folder, *changed, request.rerun_if_program_changed);
  if (explained) opened.notes.push_back(*explained);
  const auto is_done = [](const StepStatus& step) { return step.state == StepState::kDone; };
  const bool runs_again = request.rerun_if_program_changed && !changed->empty();
  if (!request.quiet && !runs_again && !list.empty() && std::ranges::all_of(list, is_done)) {
    opened.notes.push_back(fmt::format("{} done already; --force runs {} again",
                                       list.size() == 1
                                           ? std::string("the step is")
                                           : fmt::format("all {} steps are", list.size()),
                                       list.size() == 1 ? "it" : "them"));
  }
  if (!runs_again) opened.parts.list = std::move(list);
  return opened;
}

Status CheckNewJob(const fs::path& state, const Job& job, const Expander& expander) {
  std::error_code error;
  const auto folder = JobFolder::Find(state, job.name.empty() ? DefaultName(job) : job.name);
  if (folder && fs::exists(folder->journal(), error)) return {};
  return CheckPrograms(job, expander, OwnEnvironment(), [](std::size_t) { return true; });
}

Result<Repaired> RepairJob(const JobFolder& folder) {
  ASSIGN_OR_RETURN(auto rebuilt, RebuildJournal(folder));
  Journal& journal = rebuilt.journal;
  Repaired repaired{rebuilt.imported.attempts, rebuilt.imported.unknown, {}, false};
  const bool file_is_damaged = IsAddedFileDamaged(folder);
  RETURN_IF_ERROR(SyncAddedSteps(folder, journal));
  RETURN_IF_ERROR(AssumeOldestVersion(journal, rebuilt.from_record));
  for (const auto& [key, name] : kKeyNames) {
    ASSIGN_OR_RETURN(const auto value, journal.Get(key));
    if (value) repaired.kept.emplace_back(name);
    if (key == "added" && !value) repaired.added_lost = file_is_damaged;
  }
  RETURN_IF_ERROR(journal.Checkpoint());
  return repaired;
}

}  // namespace reveza::jobs
