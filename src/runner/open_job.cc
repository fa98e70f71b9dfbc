#include "runner/open_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "platform/runtime_paths.h"
#include "runner/identity.h"
#include "runner/machine_reading.h"
#include "runner/verify_outputs.h"

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

// With --force, and where a finished job is to begin anew.
Status ForgetWhatIsDone(Journal& journal, const RunRequest& request, Finished finished) {
  const auto list = journal.List();
  if (!list) return std::unexpected(list.error());
  const bool all_done = std::ranges::all_of(
      *list, [](const StepEntry& step) { return step.state == StepState::kDone; });
  if (!request.force && !(all_done && finished == Finished::kBeginsAnew)) return {};
  for (const auto& step : *list) {
    if (step.state == StepState::kWaiting) continue;
    if (auto forgotten = journal.Forget(step.identity); !forgotten) return forgotten;
  }
  return {};
}

}  // namespace

std::string LabelOf(const Job& job, std::uint32_t step) {
  const auto& parameters = job.steps[step].parameters;
  if (parameters.empty()) return fmt::format("{}", step + 1);
  std::string label;
  for (const auto& [name, value] : parameters) {
    if (!label.empty()) label += ' ';
    label.append(name).append("=").append(value);
  }
  return label;
}

Result<OpenedJob> OpenJob(const fs::path& state, const Job& job, const Expander& expander,
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
  if (auto listed = BringListUpToDate(*journal, job, *identities); !listed) {
    return std::unexpected(listed.error());
  }
  if (auto begun = ForgetWhatIsDone(*journal, request, finished); !begun) {
    return std::unexpected(begun.error());
  }
  if (auto committed = journal->Commit(); !committed) return std::unexpected(committed.error());
  OpenedJob opened{
      std::move(*lock),
      EngineParts{&job, &expander, std::move(*identities), request, *folder, std::move(*journal),
                  imported->live, supervisor, OwnEnvironment(), UsableCores()},
      *imported,
      verified->looked_at,
      verified->lost,
      {}};
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
  if (verified->lost > 0) {
    opened.notes.push_back(
        fmt::format("the outputs of {} steps did not survive the power cut; they "
                    "run again",
                    verified->lost));
  }
  return opened;
}

}  // namespace reveza::runner
