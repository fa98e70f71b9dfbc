#include "runner/definition/expander.h"

#include <fmt/format.h>

#include <algorithm>

namespace reveza::runner {
namespace {

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

std::vector<std::string_view> NamesOf(const Step& step) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : step.parameters) names.push_back(parameter.name);
  return names;
}

bool HasNames(const Step& step, std::span<const std::string_view> names) {
  return std::ranges::equal(step.parameters, names, {}, &Parameter::name);
}

Status CheckNames(std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (auto named = CheckParameterName(names[i]); !named) return named;
    if (std::ranges::find(names.first(i), names[i]) != names.first(i).end()) {
      return Wrong(
          fmt::format("parameter '{}' is named twice; give one of them another name", names[i]));
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
    return Wrong("run what? the command is empty");
  }
  if (command.shell && command.arguments.size() != 1) {
    return Wrong(fmt::format("a line for the shell is one text, not {}", command.arguments.size()));
  }
  const auto parse = [&](std::string_view text, Template::Use use) {
    return Template::Parse(text, parameters, command.cycles.has_value(), use);
  };
  for (const std::string& argument : command.arguments) {
    auto parsed = parse(argument, command.shell ? Template::Use::kShell : Template::Use::kPlain);
    if (!parsed) return Wrong(fmt::format("in '{}': {}", argument, parsed.error().message));
    compiled.arguments.push_back(*std::move(parsed));
  }
  auto folder = parse(command.folder.native(), Template::Use::kPlain);
  if (!folder) return Wrong(fmt::format("in the folder: {}", folder.error().message));
  compiled.folder = *std::move(folder);
  for (const auto& [name, value] : command.environment) {
    auto parsed = parse(value, Template::Use::kPlain);
    if (!parsed) return Wrong(fmt::format("in variable {}: {}", name, parsed.error().message));
    compiled.environment.emplace_back(name, *std::move(parsed));
  }
  for (const std::string& input : command.inputs) {
    auto parsed = parse(input, Template::Use::kPlain);
    if (!parsed) return Wrong(fmt::format("in input '{}': {}", input, parsed.error().message));
    compiled.inputs.push_back(*std::move(parsed));
  }
  return compiled;
}

Result<Expander> Expander::Make(const Job& job) {
  Expander expander;
  expander.commands_.resize(job.commands.size());
  // The names of the last step of each command that was looked at: mostly those of all its steps.
  std::vector<std::vector<std::string_view>> names(job.commands.size());
  std::vector<bool> seen(job.commands.size());
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const Step& step = job.steps[i];
    const std::size_t c = step.command;
    if (c >= job.commands.size()) {
      return Fail(Error::Code::kInternal, fmt::format("step {} has no command", i + 1));
    }
    if (seen[c] && HasNames(step, names[c])) continue;
    names[c] = NamesOf(step);
    if (auto named = CheckNames(names[c]); !named) return std::unexpected(named.error());
    auto compiled = Compile(job.commands[c], names[c]);
    if (!compiled && seen[c]) {
      return Wrong(fmt::format("step {}: {}", i + 1, compiled.error().message));
    }
    if (!compiled) return std::unexpected(compiled.error());
    if (!seen[c]) expander.commands_[c] = *std::move(compiled);
    seen[c] = true;
  }
  // What no step uses may still be wrong.
  for (std::size_t c = 0; c < job.commands.size(); ++c) {
    if (seen[c]) continue;
    if (auto compiled = Compile(job.commands[c], {}); !compiled) {
      return std::unexpected(compiled.error());
    }
  }
  return expander;
}

Result<Expanded> Expander::Expand(const Step& step, const BuiltIns& built_ins) const {
  const Compiled& command = commands_[step.command];
  Expanded expanded;
  expanded.arguments.reserve(command.arguments.size() + 2);
  if (command.shell) expanded.arguments = {"/bin/sh", "-c"};
  for (const Template& argument : command.arguments) {
    auto text = argument.Expand(step, built_ins);
    if (!text) return std::unexpected(text.error());
    expanded.arguments.push_back(*std::move(text));
  }
  auto folder = command.folder.Expand(step, built_ins);
  if (!folder) return std::unexpected(folder.error());
  expanded.folder = *std::move(folder);
  expanded.environment.reserve(command.environment.size());
  for (const auto& [name, value] : command.environment) {
    auto text = value.Expand(step, built_ins);
    if (!text) return std::unexpected(text.error());
    expanded.environment.emplace_back(name, *std::move(text));
  }
  return expanded;
}

Result<std::vector<std::filesystem::path>> Expander::Inputs(const Step& step) const {
  const Compiled& command = commands_[step.command];
  std::vector<std::filesystem::path> inputs;
  if (command.inputs.empty()) return inputs;
  const auto folder = command.folder.Expand(step, {});
  if (!folder) return std::unexpected(folder.error());
  for (const Template& input : command.inputs) {
    const auto path = input.Expand(step, {});
    if (!path) return std::unexpected(path.error());
    inputs.push_back(std::filesystem::path(*folder) / *path);
  }
  return inputs;
}

Status Check(const Job& job) {
  const auto expander = Expander::Make(job);
  if (!expander) return std::unexpected(expander.error());
  return {};
}

Result<Expanded> Expand(const Command& command, const Step& step, const BuiltIns& built_ins) {
  Job job;
  job.commands.push_back(command);
  job.steps.push_back(step);
  job.steps.front().command = 0;
  const auto expander = Expander::Make(job);
  if (!expander) return std::unexpected(expander.error());
  return expander->Expand(job.steps.front(), built_ins);
}

}  // namespace reveza::runner
