#include "runner/engine/programs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "runner/definition/identity.h"
#include "runner/definition/job_json.h"

namespace reveza::runner {
namespace {

using nlohmann::json;

constexpr const char* kPrograms = "programs";  // in the journal

std::string_view PathOf(const std::vector<std::string>& environment) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string_view one : environment) {
    if (one.starts_with(kName)) return one.substr(kName.size());
  }
  return "/usr/bin:/bin";
}

std::string AttemptText(const AttemptName& name) {
  return IdentityText(name.identity) + "-" + std::to_string(name.attempt);
}

// A path may be any bytes, a key of JSON may not. Those of programs begin with '/', so it is none.
std::string KeyOf(const std::string& path) {
  const json text = TextToJson(path);
  return text.is_string() ? path : text.dump();
}

// One program after the other. As JSON: {"/path": [{"since": 17, "hash": "...", "before": [...]}]},
// the newest version last. "before" are attempts that were begun by the version before and end
// later.
class Programs {
 public:
  explicit Programs(json kept) : kept_(std::move(kept)) {
    if (!kept_.is_object()) kept_ = json::object();
  }

  // True: it is not what it was.
  bool Note(const std::string& path, const std::string& hash, std::int64_t since,
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

  // Whether the newest version made the attempt.
  bool IsOfNow(const std::string& path, const AttemptEntry& attempt) const {
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

// The program of each step, found once for all that are alike.
class Finder {
 public:
  explicit Finder(const ProgramsOf& what) : what_(what) {}

  // Nothing: it is not there. What is returned lives as long as the finder.
  Result<const FileContent*> Of(const Step& step) {
    const Command& command = what_.job.commands[step.command];
    if (!alike_.contains(step.command)) alike_[step.command] = IsAlike(command);
    auto& known = known_[step.command];
    if (alike_[step.command] && known) return *known;
    const auto expanded = what_.expander.Expand(step, {1, 1, 1, 1});
    if (!expanded) return std::unexpected(expanded.error());
    std::string_view path = PathOf(what_.environment);
    for (const auto& [name, value] : expanded->environment) {
      if (name == "PATH") path = value;
    }
    const auto content =
        ProgramIdentity(expanded->arguments.front(), expanded->folder, path, files_);
    known = content ? &files_.files().at(content->path) : nullptr;
    return *known;
  }

 private:
  // Whether what decides is the same for all steps of the command.
  static bool IsAlike(const Command& command) {
    const auto varies = [](std::string_view text) { return text.contains('{'); };
    const bool path_varies = std::ranges::any_of(command.environment, [&](const auto& variable) {
      return variable.first == "PATH" && varies(variable.second);
    });
    return !path_varies && !varies(command.folder.native()) &&
           (command.shell || !varies(command.arguments.front()));
  }

  const ProgramsOf& what_;
  FileHashes files_;
  std::map<std::uint32_t, bool> alike_;
  std::map<std::uint32_t, std::optional<const FileContent*>> known_;
};

// Whether the newest version of its program has made the last success of a step.
Result<bool> IsOfNow(Journal& journal, const Programs& programs, const std::string& path,
                     const Identity& identity) {
  const auto attempts = journal.Attempts(identity);
  if (!attempts) return std::unexpected(attempts.error());
  for (const auto& attempt : *attempts | std::views::reverse) {
    if (attempt.result.outcome == Outcome::kSuccess) return programs.IsOfNow(path, attempt);
  }
  return true;
}

}  // namespace

Status ForgetWhoMade(Journal& journal, const std::vector<AttemptName>& attempts) {
  const auto kept = journal.Get(kPrograms);
  if (!kept) return std::unexpected(kept.error());
  if (!*kept || attempts.empty()) return {};
  Programs programs(json::parse(**kept, nullptr, false));
  programs.CountAsOldest(attempts);
  return journal.Set(kPrograms, programs.Text());
}

Result<std::vector<ChangedProgram>> NotePrograms(Journal& journal, const ProgramsOf& what,
                                                 bool rerun) {
  const auto kept = journal.Get(kPrograms);
  if (!kept) return std::unexpected(kept.error());
  Programs programs(json::parse(kept->value_or("{}"), nullptr, false));
  const auto list = journal.List();
  if (!list) return std::unexpected(list.error());
  Finder finder(what);
  std::map<std::string, std::uint64_t> older;
  const FileContent* last = nullptr;
  bool news = false;
  for (std::size_t i = 0; i < what.job.steps.size() && i < list->size(); ++i) {
    const auto program = finder.Of(what.job.steps[i]);
    if (!program) return std::unexpected(program.error());
    if (*program == nullptr) continue;
    const std::string path = (*program)->path;
    if (std::exchange(last, *program) != *program) {
      const auto hash = IdentityText((*program)->hash);
      news |= programs.Note(path, hash, journal.last_sequence(), what.live);
    }
    const StepEntry& step = (*list)[i];
    if (step.state != StepState::kDone || !programs.HasChanged(path)) continue;
    const auto of_now = IsOfNow(journal, programs, path, step.identity);
    if (!of_now) return std::unexpected(of_now.error());
    if (*of_now) continue;
    ++older[path];
    if (!rerun) continue;
    if (auto begun = journal.BeginAnew(step.identity); !begun) {
      return std::unexpected(begun.error());
    }
  }
  if (news) {
    if (auto set = journal.Set(kPrograms, programs.Text()); !set) {
      return std::unexpected(set.error());
    }
  }
  std::vector<ChangedProgram> changed;
  for (const auto& [path, steps] : older) changed.push_back({path, steps});
  return changed;
}

}  // namespace reveza::runner
