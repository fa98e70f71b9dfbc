#include "reveza/jobs/definition/expander.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/units.h"

namespace reveza::jobs {
namespace {

std::vector<std::string_view> NamesOf(const Step& step) {
  std::vector<std::string_view> names;
  for (const auto parameter : step.parameters) names.push_back(parameter.name);
  return names;
}

Status CheckNames(std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    RETURN_IF_ERROR(CheckParameterName(names[i]));
    if (std::ranges::find(names.first(i), names[i]) != names.first(i).end()) {
      return InvalidArgument("duplicate parameter '{}'; rename one of them", names[i]);
    }
  }
  return {};
}

}  // namespace

Result<Expander::Compiled> Expander::Compile(const Command& command,
                                             std::span<const std::string_view> parameters) {
  Compiled compiled;
  compiled.shell = command.shell;
  if (command.arguments.empty() || command.arguments.front().empty()) {
    return InvalidArgument("the command is empty");
  }
  if (command.shell && command.arguments.size() != 1) {
    return InvalidArgument("a shell command is one string, not {}", command.arguments.size());
  }
  const auto parse = [&](std::string_view text, std::string_view where,
                         Template::Use use = Template::Use::kPlain) -> Result<Template> {
    auto parsed = Template::Parse(text, parameters, command.cycles.has_value(), use);
    if (!parsed) return InvalidArgument("in {}: {}", where, parsed.error().message);
    return parsed;
  };
  const auto use = command.shell ? Template::Use::kShell : Template::Use::kPlain;
  for (const std::string& argument : command.arguments) {
    ASSIGN_OR_RETURN(auto parsed, parse(argument, fmt::format("'{}'", argument), use));
    compiled.arguments.push_back(std::move(parsed));
  }
  ASSIGN_OR_RETURN(compiled.folder, parse(command.folder.native(), "the folder"));
  for (const auto& [name, value] : command.environment) {
    ASSIGN_OR_RETURN(auto parsed, parse(value, fmt::format("variable {}", name)));
    compiled.environment.emplace_back(name, std::move(parsed));
  }
  for (const std::string& input : command.inputs) {
    ASSIGN_OR_RETURN(auto parsed, parse(input, fmt::format("input '{}'", input)));
    compiled.inputs.push_back(std::move(parsed));
  }
  if (!command.memory_template.empty()) {
    ASSIGN_OR_RETURN(auto parsed, parse(command.memory_template, "memory"));
    compiled.memory = std::move(parsed);
    for (const std::string_view name : {"slot", "step", "from", "to"}) {
      if (!command.memory_template.contains(fmt::format("{{{}}}", name))) continue;
      return InvalidArgument("in memory: '{}' may only contain parameters, not {{{}}}",
                             command.memory_template, name);
    }
  }
  return compiled;
}

Result<Expander> Expander::Make(const Job& job) {
  Expander expander;
  expander.commands_.resize(job.commands.size());
  // The last step of each command; parameter names are usually the same for all its steps.
  std::vector<const Step*> last(job.commands.size());
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const Step& step = job.steps[i];
    const std::size_t c = step.command;
    if (c >= job.commands.size()) {
      return Fail(Error::Code::kInternal, "step {} has no command", i + 1);
    }
    const Step* before = std::exchange(last[c], &step);
    if (before != nullptr && step.parameters.HasSameNames(before->parameters)) continue;
    const auto names = NamesOf(step);
    RETURN_IF_ERROR(CheckNames(names));
    auto compiled = Compile(job.commands[c], names);
    if (!compiled && before != nullptr) {
      return InvalidArgument("step {}: {}", i + 1, compiled.error().message);
    }
    if (!compiled) return std::unexpected(compiled.error());
    if (before == nullptr) expander.commands_[c] = *std::move(compiled);
  }
  // Validate commands without steps too.
  for (std::size_t c = 0; c < job.commands.size(); ++c) {
    if (last[c] != nullptr) continue;
    RETURN_IF_ERROR(Compile(job.commands[c], {}));
  }
  return expander;
}

Result<ExpandedCommand> Expander::Expand(const Step& step, const BuiltIns& built_ins) const {
  const Compiled& command = commands_[step.command];
  ExpandedCommand expanded;
  expanded.arguments.reserve(command.arguments.size() + 2);
  if (command.shell) expanded.arguments = {"/bin/sh", "-c"};
  for (const Template& argument : command.arguments) {
    ASSIGN_OR_RETURN(auto text, argument.Expand(step, built_ins));
    expanded.arguments.push_back(std::move(text));
  }
  ASSIGN_OR_RETURN(expanded.folder, command.folder.Expand(step, built_ins));
  expanded.environment.reserve(command.environment.size());
  for (const auto& [name, value] : command.environment) {
    ASSIGN_OR_RETURN(auto text, value.Expand(step, built_ins));
    expanded.environment.emplace_back(name, std::move(text));
  }
  return expanded;
}

Result<std::optional<Bytes>> Expander::Memory(const Step& step) const {
  const auto& memory = commands_[step.command].memory;
  if (!memory) return std::nullopt;
  ASSIGN_OR_RETURN(const auto text, memory->Expand(step, {}));
  ASSIGN_OR_RETURN(const auto bytes, ParseBytes(text));
  return std::optional(bytes);
}

Result<std::vector<std::filesystem::path>> Expander::Inputs(const Step& step) const {
  const Compiled& command = commands_[step.command];
  std::vector<std::filesystem::path> inputs;
  if (command.inputs.empty()) return inputs;
  ASSIGN_OR_RETURN(const auto folder, command.folder.Expand(step, {}));
  for (const Template& input : command.inputs) {
    ASSIGN_OR_RETURN(const auto path, input.Expand(step, {}));
    inputs.push_back(std::filesystem::path(folder) / path);
  }
  return inputs;
}

Status CheckCommands(const Job& job) {
  RETURN_IF_ERROR(Expander::Make(job));
  return {};
}

Result<ExpandedCommand> Expand(const Command& command, const Step& step,
                               const BuiltIns& built_ins) {
  Job job;
  job.commands.push_back(command);
  job.steps.push_back(step);
  job.steps.front().command = 0;
  ASSIGN_OR_RETURN(const auto expander, Expander::Make(job));
  return expander.Expand(job.steps.front(), built_ins);
}

}  // namespace reveza::jobs
