#include "reveza/jobs/engine/earlier_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "common/base/parse_number.h"
#include "common/base/read_file.h"
#include "common/base/units.h"
#include "common/platform/output_file.h"
#include "reveza/jobs/definition/job_json.h"
#include "reveza/jobs/definition/template.h"

namespace reveza::jobs {
namespace {

using nlohmann::json;

// Enough to see a change, too little to find the value.
std::string BriefHash(std::string_view text) {
  return fmt::format("{:08x}", static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size())));
}

json PairsToJson(const std::vector<std::pair<std::string, std::string>>& pairs) {
  json list = json::array();
  for (const auto& [name, value] : pairs) list.push_back({TextToJson(name), TextToJson(value)});
  return list;
}

std::vector<std::pair<std::string, std::string>> PairsFromJson(const json& list) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const json& pair : list) {
    pairs.emplace_back(TextFromJson(pair.at(0)), TextFromJson(pair.at(1)));
  }
  return pairs;
}

std::string TextOf(const JobContent& content) {
  Job kept;
  kept.commands = content.commands;
  for (auto& command : kept.commands) {
    // Values may be secrets.
    for (auto& [name, value] : command.environment) value.clear();
  }
  json document = ToJson(kept);
  document["hashes"] = PairsToJson({content.hashes.begin(), content.hashes.end()});
  document["parameters"] = PairsToJson(content.parameters);
  return document.dump();
}

std::vector<std::string> VariableNames(const Command& command) {
  std::vector<std::string> names;
  for (const auto& [name, value] : command.environment) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::string LineOf(const Command& command) {
  return command.shell ? "--shell " + command.arguments.front() : ShellJoin(command.arguments);
}

std::string ListText(const std::vector<std::string>& words) {
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, " "));
}

void Compare(std::string_view what, const std::string& before, const std::string& now,
             std::vector<std::string>& differences) {
  std::string text = fmt::format("the {} was {}, now {}", what, before, now);
  if (before == now || std::ranges::find(differences, text) != differences.end()) return;
  differences.push_back(std::move(text));
}

std::string NamesOf(const JobContent& content) {
  std::vector<std::string> names;
  for (const auto& [name, value] : content.parameters) names.push_back(name);
  return ListText(names);
}

// Other values of parameters are no surprise, unless they only look alike.
void CompareParameters(const JobContent& before, const JobContent& now,
                       std::vector<std::string>& differences) {
  Compare("list of parameters", NamesOf(before), NamesOf(now), differences);
  if (before.parameters.size() != now.parameters.size()) return;
  for (std::size_t i = 0; i < before.parameters.size(); ++i) {
    const auto& [name, value] = now.parameters[i];
    const std::string& old = before.parameters[i].second;
    const auto number = ParseNumber<double>(value);
    if (number && number == ParseNumber<double>(old)) {
      Compare(fmt::format("text of {} in the first step", name), old, value, differences);
    }
  }
}

bool SameElsewhere(Command one, const Command& other) {
  if (one.folder == other.folder) return false;
  one.folder = other.folder;
  JobContent a;
  a.commands.push_back(std::move(one));
  JobContent b;
  b.commands.push_back(other);
  return DescribeDifferences(a, b).empty();
}

// Returns a job with the same commands in other folders, "simulate-3f2a9c01 (in /a)", if there is
// one in the state folder.
std::optional<std::string> SameJobElsewhere(const std::filesystem::path& state,
                                            const std::string& id, const JobContent& now) {
  for (const auto& name : JobFolder::List(state)) {
    const auto other = JobFolder::Find(state, name);
    if (name == id || !other) continue;
    const auto commands = KeptCommands(*other);
    if (!commands.empty() && std::ranges::equal(commands, now.commands, SameElsewhere)) {
      return fmt::format("{} (in {})", name, commands.front().folder.string());
    }
  }
  return std::nullopt;
}

}  // namespace

JobContent ContentOf(const Job& job, const FileHashCache& files,
                     const platform::Environment& environment) {
  // More are hashed as one.
  constexpr std::size_t kMaxFiles = 1000;
  JobContent content{.commands = job.commands};
  std::map<std::string, std::string> values;
  for (const Command& command : job.commands) {
    for (const auto& [name, value] : command.environment) {
      values["the value of --env " + name] += value + '\0';
    }
    for (const auto& name : command.identity_variables) {
      const auto value = environment(name.c_str());
      values["the value of --identity-env " + name] += value ? "=" + *value + '\0' : "-";
    }
  }
  for (const auto& [path, hash] : files.files()) {
    values[files.files().size() > kMaxFiles ? "the content of the input files"
                                            : "the content of " + path.string()] +=
        FormatIdentity(hash);
  }
  for (const auto& [what, value] : values) content.hashes[what] = BriefHash(what + value);
  if (job.steps.empty()) return content;
  for (const auto& parameter : job.steps.front().parameters) {
    content.parameters.emplace_back(parameter.name, parameter.value);
  }
  return content;
}

Status KeepContent(const JobFolder& folder, const JobContent& content) {
  const std::string text = TextOf(content);
  if (const auto kept = ReadFile(folder.commands()); kept && *kept == text) return {};
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(folder.commands()));
  RETURN_IF_ERROR(file.Append(text));
  return file.Finish();
}

JobContent KeptContent(const JobFolder& folder) {
  const auto text = ReadFile(folder.commands());
  if (!text) return {};
  const auto parsed = json::parse(*text, nullptr, false);
  if (parsed.is_discarded()) return {};
  auto job = JobFromJson(parsed);
  if (!job) return {};
  JobContent content{.commands = std::move(job->commands)};
  try {
    const auto hashes = PairsFromJson(parsed.at("hashes"));
    content.parameters = PairsFromJson(parsed.at("parameters"));
    content.hashes.insert(hashes.begin(), hashes.end());
  } catch (const json::exception&) {
    content.parameters.clear();  // of an earlier version
  }
  return content;
}

std::vector<Command> KeptCommands(const JobFolder& folder) { return KeptContent(folder).commands; }

std::string DescribeDifferences(const JobContent& before, const JobContent& now) {
  const auto& was = before.commands;
  const auto& is = now.commands;
  if (was.empty()) return {};
  std::vector<std::string> differences;
  if (was.size() != is.size()) {
    Compare("number of commands", std::to_string(was.size()), std::to_string(is.size()),
            differences);
  }
  for (std::size_t i = 0; i < std::min(was.size(), is.size()); ++i) {
    Compare("command", LineOf(was[i]), LineOf(is[i]), differences);
    Compare("folder", was[i].folder.string(), is[i].folder.string(), differences);
    Compare("list of --env", ListText(VariableNames(was[i])), ListText(VariableNames(is[i])),
            differences);
    Compare("list of --identity-env", ListText(was[i].identity_variables),
            ListText(is[i].identity_variables), differences);
    Compare("list of --input", ListText(was[i].inputs), ListText(is[i].inputs), differences);
  }
  for (const auto& [what, hash] : now.hashes) {
    const auto old = before.hashes.find(what);
    if (old != before.hashes.end() && old->second != hash) differences.push_back(what);
  }
  if (!before.parameters.empty()) CompareParameters(before, now, differences);
  return fmt::format("{}", fmt::join(differences, "; "));
}

std::optional<std::string> ExplainNewSteps(const std::filesystem::path& state,
                                           const std::string& id, const JobContent& now,
                                           const NewSteps& steps) {
  if (steps.dropped > 0 && steps.added > 0) {
    const auto folder = JobFolder::Find(state, id);
    const std::string differences =
        folder ? DescribeDifferences(KeptContent(*folder), now) : std::string();
    if (differences.empty()) return std::nullopt;
    return fmt::format(
        "{} finished here before, but {} are new, because their identity includes what has "
        "changed: {}",
        Plural(steps.dropped, "step"), steps.added, differences);
  }
  if (steps.added < steps.listed) return std::nullopt;
  // Who has named a job wants this one.
  Job unnamed;
  unnamed.commands = now.commands;
  if (id != DefaultName(unnamed)) return std::nullopt;
  const auto other = SameJobElsewhere(state, id, now);
  if (!other) return std::nullopt;
  return fmt::format(
      "the job {} runs the same command in another folder; its steps do not count here, because "
      "the folder is part of a step's identity",
      *other);
}

}  // namespace reveza::jobs
