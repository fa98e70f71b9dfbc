#include "reveza/jobs/engine/earlier_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/read_file.h"
#include "common/platform/output_file.h"
#include "reveza/jobs/definition/job_json.h"
#include "reveza/jobs/definition/template.h"

namespace reveza::jobs {
namespace {

std::string CommandsText(const Job& job) {
  Job kept;
  kept.commands = job.commands;
  for (auto& command : kept.commands) {
    // Values may be secrets.
    for (auto& [name, value] : command.environment) value.clear();
  }
  return ToJson(kept).dump();
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

bool SameElsewhere(Command one, const Command& other) {
  if (one.folder == other.folder) return false;
  one.folder = other.folder;
  return DescribeDifferences({std::move(one)}, {other}).empty();
}

}  // namespace

Status KeepCommands(const JobFolder& folder, const Job& job) {
  const std::string text = CommandsText(job);
  if (const auto kept = ReadFile(folder.commands()); kept && *kept == text) return {};
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(folder.commands()));
  RETURN_IF_ERROR(file.Append(text));
  return file.Finish();
}

std::vector<Command> KeptCommands(const JobFolder& folder) {
  const auto text = ReadFile(folder.commands());
  if (!text) return {};
  const auto parsed = nlohmann::json::parse(*text, nullptr, false);
  if (parsed.is_discarded()) return {};
  auto job = JobFromJson(parsed);
  return job ? std::move(job->commands) : std::vector<Command>();
}

std::string DescribeDifferences(const std::vector<Command>& before,
                                const std::vector<Command>& now) {
  if (before.empty()) return {};
  std::vector<std::string> differences;
  if (before.size() != now.size()) {
    Compare("number of commands", std::to_string(before.size()), std::to_string(now.size()),
            differences);
  }
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    Compare("command", LineOf(before[i]), LineOf(now[i]), differences);
    Compare("folder", before[i].folder.string(), now[i].folder.string(), differences);
    Compare("list of --env", ListText(VariableNames(before[i])), ListText(VariableNames(now[i])),
            differences);
    Compare("list of --identity-env", ListText(before[i].identity_variables),
            ListText(now[i].identity_variables), differences);
    Compare("list of --input", ListText(before[i].inputs), ListText(now[i].inputs), differences);
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

std::optional<std::string> SameJobElsewhere(const std::filesystem::path& state,
                                            const JobFolder& folder, const Job& job) {
  for (const auto& name : JobFolder::List(state)) {
    const auto other = JobFolder::Find(state, name);
    if (name == folder.id() || !other) continue;
    const auto commands = KeptCommands(*other);
    if (!commands.empty() && std::ranges::equal(commands, job.commands, SameElsewhere)) {
      return fmt::format("{} (in {})", name, commands.front().folder.string());
    }
  }
  return std::nullopt;
}

}  // namespace reveza::jobs
