#include "reveza/jobs/engine/open_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>
#include <utility>

#include "common/platform/network_file_system.h"
#include "common/platform/runtime_paths.h"
#include "reveza/jobs/decide/machine_reading.h"
#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/engine/added_steps.h"
#include "reveza/jobs/engine/programs.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/verify_outputs.h"

extern char** environ;

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> environment;
  for (char** at = environ; *at != nullptr; ++at) environment.emplace_back(*at);
  return environment;
}

Result<Journal> OpenJournal(const JobFolder& folder, const RunRequest& request) {
  auto journal = Journal::Open(folder.journal(), request.durable ? Journal::Durability::kPower
                                                                 : Journal::Durability::kProcess);
  if (journal || journal.error().code != Error::Code::kIncompatible) return journal;
  return Fail(Error::Code::kIncompatible,
              "{}; run reveza jobs repair {} to rebuild it from the supervisors' records",
              journal.error().message, folder.id());
}

// Writes the list only if it has changed: writing 100,000 steps takes a second.
Status UpdateList(Journal& journal, const Job& job, const std::vector<Identity>& identities) {
  ASSIGN_OR_RETURN(auto known, journal.List());
  if (std::ranges::equal(known, identities, {}, &StepEntry::identity)) return {};
  return journal.SetList(ListSteps(job, identities));
}

Status AppendAddedSteps(Journal& journal, Job& job, Expander& expander,
                        std::vector<Identity>& identities) {
  ASSIGN_OR_RETURN(const auto merged, MergeAddedSteps(journal, job, identities));
  if (merged == 0) return {};
  ASSIGN_OR_RETURN(auto larger, Expander::Make(job));
  expander = std::move(larger);
  return {};
}

// Requeues all steps, with --force or if a finished job is to restart.
Status RequeueFinished(Journal& journal, const RunRequest& request, FinishedJob finished) {
  ASSIGN_OR_RETURN(const auto list, journal.List());
  const bool all_done = std::ranges::all_of(
      list, [](const StepEntry& step) { return step.state == StepState::kDone; });
  if (!request.force && !(all_done && finished == FinishedJob::kRestart)) return {};
  for (const auto& step : list) {
    if (step.state == StepState::kWaiting && step.attempts == 0) continue;
    if (auto begun = journal.ResetStep(step.identity); !begun) return begun;
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
                          FinishedJob finished) {
  ASSIGN_OR_RETURN(auto identities, ComputeIdentities(job));
  ASSIGN_OR_RETURN(auto folder,
                   JobFolder::Create(state, job.name.empty() ? DefaultName(job) : job.name));
  ASSIGN_OR_RETURN(auto lock, folder.Lock());
  ASSIGN_OR_RETURN(auto journal, OpenJournal(folder, request));
  ASSIGN_OR_RETURN(auto imported, ImportRecords(folder, journal, Supervisors::kOrphans));
  const auto outputs = request.output_folder.empty() ? folder.outputs() : request.output_folder;
  ASSIGN_OR_RETURN(const auto verified, VerifyOutputs(journal, outputs, ReadBootId()));
  RETURN_IF_ERROR(SyncAddedSteps(folder, journal));
  RETURN_IF_ERROR(AppendAddedSteps(journal, job, expander, identities));
  RETURN_IF_ERROR(UpdateList(journal, job, identities));
  RETURN_IF_ERROR(RequeueFinished(journal, request, finished));
  auto environment = OwnEnvironment();
  // A CPU budget reduces the workers as well as the threads of each.
  const double usable = UsableCores();
  const double cores = std::min(usable, request.cpu_budget.value_or(usable));
  const auto changed =
      TrackPrograms(journal, {job, expander, identities, environment, imported.live},
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
  opened.notes = StartupNotes(opened, folder, *changed, request.rerun_if_program_changed);
  return opened;
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
