#include "reveza/jobs/engine/program_versions.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/definition/job_json.h"
#include "reveza/jobs/engine/start_check.h"
#include "reveza/jobs/supervisor/child.h"

namespace reveza::jobs {
namespace {

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
  Finder finder(what);
  std::map<std::string, std::uint64_t> older;
  const Program* last = nullptr;
  bool changed_any = false;
  for (std::size_t i = 0; i < what.job.steps.size() && i < what.list.size(); ++i) {
    ASSIGN_OR_RETURN(const auto program, finder.Of(what.job.steps[i]));
    const StepStatus& step = what.list[i];
    if (program == nullptr || (program == last && step.state != StepState::kDone)) continue;
    const std::string path = program->first;
    if (std::exchange(last, program) != program) {
      const auto hash = FormatIdentity(program->second);
      changed_any |= programs.Record(path, hash, journal.last_sequence(), what.live);
    }
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
