#include "reveza/jobs/engine/open_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <set>
#include <span>
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
#include "reveza/jobs/journal/verify_outputs.h"
#include "reveza/jobs/supervisor/child.h"

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

// Writes the list only if it has changed: writing 100,000 steps takes a second. Returns how many
// finished steps are no longer listed.
Result<std::uint64_t> UpdateList(Journal& journal, const Job& job,
                                 const std::vector<Identity>& identities) {
  ASSIGN_OR_RETURN(const auto known, journal.List());
  if (std::ranges::equal(known, identities, {}, &StepEntry::identity)) return 0;
  RETURN_IF_ERROR(journal.SetList(ListSteps(job, identities)));
  const std::set<Identity> listed(identities.begin(), identities.end());
  return std::ranges::count_if(known, [&](const StepEntry& step) {
    return step.state == StepState::kDone && !listed.contains(step.identity);
  });
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
Status RequeueFinished(Journal& journal, const RunRequest& request, const Job& job) {
  const auto has_cycles = [](const Command& command) { return command.cycles.has_value(); };
  if (!request.force && std::ranges::none_of(job.commands, has_cycles)) return {};
  ASSIGN_OR_RETURN(const auto list, journal.List());
  for (std::size_t i = 0; i < list.size() && i < job.steps.size(); ++i) {
    const StepEntry& step = list[i];
    if (request.force) {
      if (step.state == StepState::kWaiting && step.attempts == 0) continue;
      RETURN_IF_ERROR(journal.ResetStep(step.identity));
      continue;
    }
    const auto& cycles = job.commands[job.steps[i].command].cycles;
    if (!cycles || step.state != StepState::kDone) continue;
    ASSIGN_OR_RETURN(const auto recorded, journal.CountCycles(step.identity));
    if (recorded.last >= cycles->count) continue;
    RETURN_IF_ERROR(journal.Requeue(step.identity));
  }
  return {};
}

// Explains why steps that look finished run. `dropped`: finished steps that are no longer listed.
std::optional<std::string> ExplainNewSteps(const fs::path& state, const JobFolder& folder,
                                           const Job& job, std::span<const StepEntry> list,
                                           std::uint64_t dropped) {
  const auto is_new = [](const StepEntry& step) { return step.attempts == 0; };
  const auto added = std::ranges::count_if(list, is_new);
  if (dropped > 0 && added > 0) {
    const std::string differences = DescribeDifferences(KeptCommands(folder), job.commands);
    if (differences.empty()) return std::nullopt;
    return fmt::format(
        "{} finished here before, but {} are new, because their identity includes what has "
        "changed: {}",
        Plural(dropped, "step"), added, differences);
  }
  if (!std::ranges::all_of(list, is_new)) return std::nullopt;
  const auto other = SameJobElsewhere(state, folder, job);
  if (!other) return std::nullopt;
  return fmt::format(
      "the job {} runs the same command in another folder; its steps do not count here, because "
      "the folder is part of a step's identity",
      *other);
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

using nlohmann::json;

constexpr const char* kPrograms = "programs";  // in the journal

std::string AttemptText(const AttemptName& name) {
  return FormatIdentity(name.identity) + "-" + std::to_string(name.attempt);
}

// Encodes a path as a JSON key. Paths may contain arbitrary bytes; an encoded one cannot collide
// with a plain one, which starts with '/'.
std::string KeyOf(const std::string& path) {
  const json text = TextToJson(path);
  return text.is_string() ? path : text.dump();
}

// The versions of all programs. As JSON: {"/path": [{"since": 17, "hash": "...", "before":
// [...]}]}, newest last. "before" lists attempts that the previous version started and that ended
// later.
class Programs {
 public:
  explicit Programs(json kept) : kept_(std::move(kept)) {
    if (!kept_.is_object()) kept_ = json::object();
  }

  // Records the current hash of a program. Returns true if it has changed or is new.
  bool Record(const std::string& path, const std::string& hash, std::int64_t since,
              const std::vector<LiveAttempt>& live) {
    auto& versions = kept_[KeyOf(path)];
    if (!versions.is_array()) versions = json::array();
    if (!versions.empty() && versions.back().value("hash", "") == hash) return false;
    json before = json::array();
    for (const auto& one : live) before.push_back(AttemptText(one.name));
    const bool first = versions.empty();
    versions.push_back({{"since", first ? 0 : since}, {"hash", hash}, {"before", before}});
    return true;
  }

  void CountAsOldest(const std::vector<AttemptName>& attempts) {
    for (auto& versions : kept_) {
      for (std::size_t at = 1; versions.is_array() && at < versions.size(); ++at) {
        auto& before = versions[at]["before"];
        if (!before.is_array()) before = json::array();
        for (const auto& name : attempts) before.push_back(AttemptText(name));
      }
    }
  }

  bool HasChanged(const std::string& path) const {
    const auto found = kept_.find(KeyOf(path));
    return found != kept_.end() && found->size() > 1;
  }

  // Returns whether the newest version made the attempt.
  bool IsCurrent(const std::string& path, const AttemptEntry& attempt) const {
    const auto& versions = kept_.at(KeyOf(path));
    std::size_t at = versions.size() - 1;
    while (at > 0 && attempt.sequence <= versions[at].value("since", std::int64_t{0})) --at;
    const std::string name = AttemptText(attempt.result.name);
    const auto began_before = [&](const json& version) {
      return std::ranges::find(version["before"], json(name)) != version["before"].end();
    };
    while (at > 0 && began_before(versions[at])) --at;
    return versions[at].value("hash", "") == versions.back().value("hash", "");
  }

  std::string Text() const { return kept_.dump(); }

 private:
  json kept_;
};

using Program = std::pair<const std::filesystem::path, Identity>;

// Finds the program of each step, cached for steps whose command determines it.
class Finder {
 public:
  explicit Finder(const ProgramContext& what) : what_(what) {}

  // Returns the program of a step and its hash, valid as long as the finder; null if the file is
  // missing.
  Result<const Program*> Of(const Step& step) {
    const Command& command = what_.job.commands[step.command];
    if (!has_one_program_.contains(step.command))
      has_one_program_[step.command] = HasOneProgram(command);
    auto& known = known_[step.command];
    if (has_one_program_[step.command] && known) return *known;
    ASSIGN_OR_RETURN(const auto expanded, what_.expander.Expand(step, {1, 1, 1, 1}));
    std::string_view path = SearchPathOf(what_.environment);
    for (const auto& [name, value] : expanded.environment) {
      if (name == "PATH") path = value;
    }
    const auto program = FindProgram(expanded.arguments.front(), expanded.folder, path);
    known = program && files_.Hash(*program) ? &*files_.files().find(*program) : nullptr;
    return *known;
  }

 private:
  // Returns whether all steps of the command have the same program.
  static bool HasOneProgram(const Command& command) {
    const auto varies = [](std::string_view text) { return text.contains('{'); };
    const bool path_varies = std::ranges::any_of(command.environment, [&](const auto& variable) {
      return variable.first == "PATH" && varies(variable.second);
    });
    return !path_varies && !varies(command.folder.native()) &&
           (command.shell || !varies(command.arguments.front()));
  }

  const ProgramContext& what_;
  FileHashCache files_;
  std::map<std::uint32_t, bool> has_one_program_;
  std::map<std::uint32_t, std::optional<const Program*>> known_;
};

// Returns whether the newest version of its program made the last successful attempt of a step.
Result<bool> IsCurrent(Journal& journal, const Programs& programs, const std::string& path,
                       const Identity& identity) {
  ASSIGN_OR_RETURN(const auto attempts, journal.Attempts(identity));
  for (const auto& attempt : attempts | std::views::reverse) {
    if (attempt.result.outcome == Outcome::kSuccess) return programs.IsCurrent(path, attempt);
  }
  return true;
}

}  // namespace

Result<OpenedJob> OpenJob(const fs::path& state, Job& job, Expander& expander,
                          const RunRequest& request, const fs::path& supervisor) {
  ASSIGN_OR_RETURN(auto identities, ComputeIdentities(job));
  RETURN_IF_ERROR(CheckNewJob(state, job, expander));
  ASSIGN_OR_RETURN(auto folder,
                   JobFolder::Create(state, job.name.empty() ? DefaultName(job) : job.name));
  ASSIGN_OR_RETURN(auto lock, folder.Lock());
  ASSIGN_OR_RETURN(auto journal, OpenJournal(folder, request));
  ASSIGN_OR_RETURN(auto imported, ImportRecords(folder, journal, Supervisors::kOrphans));
  const auto outputs = request.output_folder.empty() ? folder.outputs() : request.output_folder;
  ASSIGN_OR_RETURN(const auto verified, VerifyOutputs(journal, outputs, ReadBootId()));
  RETURN_IF_ERROR(SyncAddedSteps(folder, journal));
  RETURN_IF_ERROR(AppendAddedSteps(journal, job, expander, identities));
  ASSIGN_OR_RETURN(const auto dropped, UpdateList(journal, job, identities));
  RETURN_IF_ERROR(RequeueFinished(journal, request, job));
  auto environment = OwnEnvironment();
  ASSIGN_OR_RETURN(const auto list, journal.List());
  RETURN_IF_ERROR(CheckPrograms(job, expander, environment, [&](std::size_t step) {
    const StepState step_state = list[step].state;
    return step_state != StepState::kDone &&
           (step_state != StepState::kFailed || request.retry_failed);
  }));
  const auto explained = ExplainNewSteps(state, folder, job, list, dropped);
  // Optional: without it the next run cannot say what has changed.
  static_cast<void>(KeepCommands(folder, job));
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
  if (explained) opened.notes.push_back(*explained);
  const auto is_done = [](const StepEntry& step) { return step.state == StepState::kDone; };
  const bool runs_again = request.rerun_if_program_changed && !changed->empty();
  if (!request.quiet && !runs_again && !list.empty() && std::ranges::all_of(list, is_done)) {
    opened.notes.push_back(fmt::format("{} done already; --force runs {} again",
                                       list.size() == 1
                                           ? std::string("the step is")
                                           : fmt::format("all {} steps are", list.size()),
                                       list.size() == 1 ? "it" : "them"));
  }
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

Status AssumeOldestVersion(Journal& journal, const std::vector<AttemptName>& attempts) {
  ASSIGN_OR_RETURN(const auto kept, journal.Get(kPrograms));
  if (!kept || attempts.empty()) return {};
  Programs programs(json::parse(*kept, nullptr, false));
  programs.CountAsOldest(attempts);
  return journal.Set(kPrograms, programs.Text());
}

Result<std::vector<ChangedProgram>> TrackPrograms(Journal& journal, const ProgramContext& what,
                                                  bool rerun) {
  ASSIGN_OR_RETURN(const auto kept, journal.Get(kPrograms));
  Programs programs(json::parse(kept.value_or("{}"), nullptr, false));
  ASSIGN_OR_RETURN(const auto list, journal.List());
  Finder finder(what);
  std::map<std::string, std::uint64_t> older;
  const Program* last = nullptr;
  bool changed_any = false;
  for (std::size_t i = 0; i < what.job.steps.size() && i < list.size(); ++i) {
    ASSIGN_OR_RETURN(const auto program, finder.Of(what.job.steps[i]));
    if (program == nullptr) continue;
    const std::string path = program->first;
    if (std::exchange(last, program) != program) {
      const auto hash = FormatIdentity(program->second);
      changed_any |= programs.Record(path, hash, journal.last_sequence(), what.live);
    }
    const StepEntry& step = list[i];
    if (step.state != StepState::kDone || !programs.HasChanged(path)) continue;
    ASSIGN_OR_RETURN(const auto is_current, IsCurrent(journal, programs, path, step.identity));
    if (is_current) continue;
    ++older[path];
    if (!rerun) continue;
    RETURN_IF_ERROR(journal.ResetStep(step.identity));
  }
  if (changed_any) {
    RETURN_IF_ERROR(journal.Set(kPrograms, programs.Text()));
  }
  std::vector<ChangedProgram> changed;
  for (const auto& [path, steps] : older) changed.push_back({path, steps});
  return changed;
}

}  // namespace reveza::jobs
