#include "runner/engine/open_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "platform/network_file_system.h"
#include "platform/runtime_paths.h"
#include "runner/decide/machine_reading.h"
#include "runner/definition/identity.h"
#include "runner/engine/added_steps.h"
#include "runner/engine/programs.h"
#include "runner/journal/verify_outputs.h"

extern char** environ;

namespace reveza::runner {
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
              fmt::format("{}; reveza jobs repair {} makes a new one from what the supervisors "
                          "wrote down",
                          journal.error().message, folder.id()));
}

// The list is written only where it is another one: that of 100,000 steps takes a second.
Status BringListUpToDate(Journal& journal, const Job& job,
                         const std::vector<Identity>& identities) {
  auto known = journal.List();
  if (!known) return std::unexpected(known.error());
  const auto same = std::ranges::equal(*known, identities, {}, &StepEntry::identity);
  if (same) return {};
  std::vector<ListedStep> steps;
  steps.reserve(identities.size());
  for (std::uint32_t step = 0; step < identities.size(); ++step) {
    steps.push_back({identities[step], LabelOf(job, step)});
  }
  return journal.SetList(steps);
}

Status TakeAddedSteps(Journal& journal, Job& job, Expander& expander,
                      std::vector<Identity>& identities) {
  const auto merged = MergeAdded(journal, job, identities);
  if (!merged) return std::unexpected(merged.error());
  if (*merged == 0) return {};
  auto larger = Expander::Make(job);
  if (!larger) return std::unexpected(larger.error());
  expander = *std::move(larger);
  return {};
}

// With --force, and where a finished job is to begin anew.
Status ForgetWhatIsDone(Journal& journal, const RunRequest& request, Finished finished) {
  const auto list = journal.List();
  if (!list) return std::unexpected(list.error());
  const bool all_done = std::ranges::all_of(
      *list, [](const StepEntry& step) { return step.state == StepState::kDone; });
  if (!request.force && !(all_done && finished == Finished::kBeginsAnew)) return {};
  for (const auto& step : *list) {
    if (step.state == StepState::kWaiting && step.attempts == 0) continue;
    if (auto begun = journal.BeginAnew(step.identity); !begun) return begun;
  }
  return {};
}

}  // namespace

Result<OpenedJob> OpenJob(const fs::path& state, Job& job, Expander& expander,
                          const RunRequest& request, const fs::path& supervisor,
                          Finished finished) {
  auto identities = IdentitiesOf(job);
  if (!identities) return std::unexpected(identities.error());
  auto folder = JobFolder::Make(state, job.name.empty() ? DefaultName(job) : job.name);
  if (!folder) return std::unexpected(folder.error());
  auto lock = folder->Lock();
  if (!lock) return std::unexpected(lock.error());
  auto journal = OpenJournal(*folder, request);
  if (!journal) return std::unexpected(journal.error());
  auto imported = ImportRecords(*folder, *journal, Supervisors::kOrphans);
  if (!imported) return std::unexpected(imported.error());
  const auto outputs = request.output_folder.empty() ? folder->outputs() : request.output_folder;
  const auto verified = VerifyOutputs(*journal, outputs, ReadBootId());
  if (!verified) return std::unexpected(verified.error());
  if (auto settled = SettleAdded(*folder, *journal); !settled) {
    return std::unexpected(settled.error());
  }
  if (auto merged = TakeAddedSteps(*journal, job, expander, *identities); !merged) {
    return std::unexpected(merged.error());
  }
  if (auto listed = BringListUpToDate(*journal, job, *identities); !listed) {
    return std::unexpected(listed.error());
  }
  if (auto begun = ForgetWhatIsDone(*journal, request, finished); !begun) {
    return std::unexpected(begun.error());
  }
  auto environment = OwnEnvironment();
  // Fewer workers, and fewer threads in each, where others are to have the rest.
  const double usable = UsableCores();
  const double cores = std::min(usable, request.cpu_budget.value_or(usable));
  const auto changed =
      NotePrograms(*journal, {job, expander, *identities, environment, imported->live},
                   request.rerun_if_program_changed);
  if (!changed) return std::unexpected(changed.error());
  if (auto kept = journal->Set(kOutputs, outputs.string()); !kept) {
    return std::unexpected(kept.error());
  }
  if (auto committed = journal->Commit(); !committed) return std::unexpected(committed.error());
  OpenedJob opened{
      std::move(*lock),
      EngineParts{&job, &expander, std::move(*identities), request, *folder, std::move(*journal),
                  imported->live, supervisor, std::move(environment), cores},
      *imported,
      verified->looked_at,
      verified->lost,
      {}};
  if (const auto system = platform::NetworkFileSystem(folder->path())) {
    opened.notes.push_back(fmt::format(
        "{} is on {}, a file system that may be of another machine: the journal's log is safe "
        "there "
        "only as long as one machine uses it; REVEZA_STATE names a folder on a disk of this one",
        folder->path().string(), *system));
  }
  if (imported->unknown > 0) {
    opened.notes.push_back(fmt::format(
        "of {} attempts nobody saw how they ended: a supervisor was killed, or the power failed",
        imported->unknown));
  }
  if (const auto live = imported->live.size(); live > 0) {
    opened.notes.push_back(fmt::format(
        "{} of the runner before still {}; what comes of that is "
        "waited for, and not done again",
        live == 1 ? "a step" : fmt::format("{} steps", live), live == 1 ? "runs" : "run"));
  }
  for (const auto& [path, steps] : *changed) {
    const std::string done = steps == 1 ? "a step" : fmt::format("{} steps", steps);
    opened.notes.push_back(
        request.rerun_if_program_changed
            ? fmt::format("{} has changed since {} finished; run again", path.string(), done)
            : fmt::format("{} has changed since {} finished; --rerun-if-program-changed runs what "
                          "the older one did again",
                          path.string(), done));
  }
  if (verified->lost > 0) {
    opened.notes.push_back(
        fmt::format("the outputs of {} steps did not survive the power cut; they "
                    "run again",
                    verified->lost));
  }
  return opened;
}

}  // namespace reveza::runner
