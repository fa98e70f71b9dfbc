#include "dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "runner/expander.h"
#include "runner/identity.h"
#include "runner/template.h"

namespace reveza::cli {
namespace {

constexpr std::size_t kShownSteps = 3;

std::string Count(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// A line with a word in front: "  workers   3".
void AddRow(std::string& text, std::string_view head, std::string_view row) {
  fmt::format_to(std::back_inserter(text), "  {:<10} {}\n", head, row);
}

std::string ClaimText(const runner::Claim& claim) {
  const auto size = [](const std::optional<Bytes>& bytes) {
    return bytes ? FormatBytes(*bytes) : std::string("learned");
  };
  return fmt::format("cores {}, memory {}, GPU memory {}",
                     claim.cpus ? fmt::format("{:g}", *claim.cpus) : "learned", size(claim.memory),
                     size(claim.gpu_memory));
}

std::string WorkersText(const runner::RunRequest& request) {
  if (request.workers) return std::to_string(*request.workers);
  if (!request.max_workers) return "as many as finish most, found while it runs";
  return fmt::format("as many as finish most, found while it runs, at most {}",
                     *request.max_workers);
}

// As it was written: braces need no quotes before a value is in their place.
std::string Written(const runner::Command& command) {
  std::string line;
  for (const std::string& word : command.arguments) {
    std::string bare = word;
    std::erase_if(bare, [](char c) { return c == '{' || c == '}'; });
    const bool plain = bare != word && (bare.empty() || runner::QuotedForShell(bare) == bare);
    line += (line.empty() ? "" : " ") + (plain ? word : runner::QuotedForShell(word));
  }
  return command.shell ? "/bin/sh -c " + line : line;
}

void AddCommand(std::string& text, const runner::Command& command) {
  AddRow(text, "command", Written(command));
  AddRow(text, "folder", command.folder.string());
  AddRow(text, "claims", ClaimText(command.claim));
  if (command.time_limit) {
    AddRow(text, "limit", FormatDuration(*command.time_limit) + " for each step");
  }
  if (command.cycles) {
    AddRow(text, "cycles",
           command.cycles->chain == 0 ? fmt::format("{}, in one process", command.cycles->count)
                                      : fmt::format("{}, {} in each process", command.cycles->count,
                                                    command.cycles->chain));
  }
  for (const auto& input : command.inputs) AddRow(text, "input", input);
}

runner::BuiltIns AtFirst(const runner::Command& command, std::size_t step) {
  runner::BuiltIns built_ins;
  built_ins.step = step + 1;
  if (command.cycles) {
    built_ins.to = command.cycles->chain == 0
                       ? command.cycles->count
                       : std::min(command.cycles->count, command.cycles->chain);
  }
  return built_ins;
}

void AddSteps(std::string& text, const runner::Job& job) {
  const auto expander = runner::Expander::Make(job);
  if (!expander) return;
  for (std::size_t i = 0; i < std::min(kShownSteps, job.steps.size()); ++i) {
    const runner::Step& step = job.steps[i];
    const auto expanded = expander->Expand(step, AtFirst(job.commands[step.command], i));
    if (!expanded) return;
    std::string line;
    for (const auto& [name, value] : expanded->environment) {
      line += fmt::format("{}={} ", name, runner::QuotedForShell(value));
    }
    line += runner::CommandLine(expanded->arguments);
    if (!step.after.empty()) line += fmt::format("   (after {})", Count(step.after.size(), "step"));
    AddRow(text, fmt::format("step {}", i + 1), line);
  }
  if (job.steps.size() > kShownSteps) {
    AddRow(text, "...", fmt::format("{} more", job.steps.size() - kShownSteps));
  }
}

void AddVariable(std::string& text, const runner::ThreadSetting& setting) {
  fmt::format_to(std::back_inserter(text), "  {:<28} {}\n", setting.name + "=" + setting.value,
                 setting.reason);
}

// The program that Python is asked of: known only where no parameter names it.
std::optional<runner::TorchVersion> TorchOf(const runner::Command& command,
                                            const platform::Environment& environment) {
  if (command.shell) return std::nullopt;
  const auto program = runner::FindProgram(command.arguments[0], command.folder,
                                           environment("PATH").value_or("/usr/bin:/bin"));
  if (!program) return std::nullopt;
  return runner::FindTorch(*program);
}

void AddEnvironment(std::string& text, const runner::Command& command,
                    const runner::RunRequest& request, const DryRunView& view) {
  const unsigned workers = request.workers.value_or(1);
  const auto seen = [&](const char* name) -> std::optional<std::string> {
    for (const auto& [set, value] : command.environment) {
      if (set == name) return value;
    }
    return view.environment(name);
  };
  runner::ThreadRequest threads;
  threads.share = command.claim.cpus.value_or(view.cores.value_or(1) / workers);
  threads.workers = workers;
  threads.topology = view.topology;
  threads.gpu = command.claim.gpu_memory.value_or(0) > 0;
  threads.torch = TorchOf(command, view.environment);
  const auto made = runner::MakeThreadEnvironment(threads, seen);
  text += request.workers
              ? "\nenvironment\n"
              : "\nenvironment of the first worker (more workers have smaller shares)\n";
  for (const auto& setting : made.settings) AddVariable(text, setting);
  for (const auto& kept : made.kept) AddVariable(text, kept);
  for (const auto& [name, value] : command.environment) {
    AddVariable(text, {name, value, "of the job"});
  }
  for (const auto& name : command.identity_variables) {
    const auto value = seen(name.c_str());
    // Its value may be a secret: it is hashed, and never shown.
    AddVariable(text,
                {name, value ? "..." : "",
                 value ? "part of each step's identity" : "not set; part of each step's identity"});
  }
  fmt::format_to(std::back_inserter(text), "  {:<28} {}\n", "cores", made.cores_reason);
}

}  // namespace

DryRunView ThisMachinesView() {
  return {.topology = runner::ReadTopology(),
          .cores = ThisMachine().cores,
          .environment = platform::ProcessEnvironment};
}

std::string DryRunText(const ParsedRun& run) { return DryRunText(run, ThisMachinesView()); }

std::string DryRunText(const ParsedRun& run, const DryRunView& view) {
  const runner::Job& job = run.job;
  std::string text = fmt::format("job {}: {}, {}{}\n", job.name, Count(job.steps.size(), "step"),
                                 Count(job.commands.size(), "command"),
                                 run.named ? "" : "; named after its command");
  AddRow(text, "workers", WorkersText(run.request));
  for (const runner::Command& command : job.commands) {
    text += '\n';
    AddCommand(text, command);
  }
  text += '\n';
  AddSteps(text, job);
  if (!job.commands.empty()) AddEnvironment(text, job.commands.front(), run.request, view);
  for (const std::string& note : run.notes) text += fmt::format("\nnote: {}\n", note);
  text += "\nnothing was run\n";
  return text;
}

}  // namespace reveza::cli
