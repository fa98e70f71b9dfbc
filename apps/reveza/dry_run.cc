#include "dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "runner/decide/memory_limit.h"
#include "runner/decide/tuner.h"
#include "runner/definition/expander.h"
#include "runner/definition/identity.h"
#include "runner/definition/template.h"
#include "runner/engine/step_limits.h"

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

void AddCommand(std::string& text, const runner::Command& command, bool limited) {
  AddRow(text, "command", Written(command));
  AddRow(text, "folder", command.folder.string());
  AddRow(text, "claims", ClaimText(command.claim));
  runner::Need need;
  need.memory = command.claim.memory.value_or(0);
  need.memory_by = runner::KnownBy::kDeclared;
  need.gpu_memory = command.claim.gpu_memory.value_or(0);
  if (const auto most = runner::MemoryLimitFor(need); most && limited) {
    AddRow(text, "memory", "at most " + FormatBytes(*most) + " for each step");
  }
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

// With how many the job begins.
unsigned FirstWorkersOf(const runner::Command& command, const runner::RunRequest& request,
                        const DryRunView& view) {
  if (request.workers) return *request.workers;
  const unsigned first = runner::LaneOf(command) == runner::Lane::kGpu
                             ? runner::kFirstOnGpu
                             : runner::FirstWorkers(view.cores.value_or(1));
  return std::min(first, request.max_workers.value_or(first));
}

// Where each worker runs; neighbours that run in the same place share a line.
void AddCores(std::string& text, runner::ThreadRequest request,
              const platform::Environment& environment) {
  struct Place {
    unsigned first = 1;
    unsigned last = 1;
    std::string reason;
  };
  std::vector<Place> places;
  for (request.slot = 1; request.slot <= request.workers; ++request.slot) {
    auto reason = runner::MakeThreadEnvironment(request, environment).cores_reason;
    if (!places.empty() && places.back().reason == reason) {
      places.back().last = request.slot;
    } else {
      places.push_back({request.slot, request.slot, std::move(reason)});
    }
  }
  for (const Place& place : places) {
    std::string who;
    if (places.size() > 1) {
      who = place.first == place.last ? fmt::format("worker {}: ", place.first)
                                      : fmt::format("workers {} to {}: ", place.first, place.last);
    }
    fmt::format_to(std::back_inserter(text), "  {:<28} {}{}\n", "cores", who, place.reason);
  }
}

// Which GPU a step sees, where the job itself does not say it.
void AddDevices(std::string& text, const runner::Command& command, const DryRunView& view) {
  constexpr const char* kName = "CUDA_VISIBLE_DEVICES";
  const auto is_it = [&](const auto& one) { return one.first == kName; };
  if (std::ranges::any_of(command.environment, is_it)) return;
  const auto set = view.environment(kName);
  AddVariable(text, {kName, set.value_or("..."),
                     set ? "set by you" : "the GPU with most memory free when the step starts"});
}

void AddEnvironment(std::string& text, const runner::Command& command,
                    const runner::RunRequest& request, const DryRunView& view) {
  const unsigned workers = FirstWorkersOf(command, request, view);
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
  threads.gpu = runner::LaneOf(command) == runner::Lane::kGpu;
  threads.torch = TorchOf(command, view.environment);
  const auto made = runner::MakeThreadEnvironment(threads, seen);
  text += request.workers
              ? "\nenvironment\n"
              : fmt::format("\nenvironment of the first {} (more have smaller shares)\n",
                            Count(workers, "worker"));
  for (const auto& setting : made.settings) AddVariable(text, setting);
  for (const auto& kept : made.kept) AddVariable(text, kept);
  if (threads.gpu) AddDevices(text, command, view);
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
  AddCores(text, threads, seen);
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
  const auto limits = runner::ChooseLimits(run.request.limits, view.environment, view.root);
  AddRow(text, "limits", limits ? limits->words : limits.error().message);
  for (const runner::Command& command : job.commands) {
    text += '\n';
    AddCommand(text, command, run.request.limits != runner::Limits::kNone);
  }
  text += '\n';
  AddSteps(text, job);
  if (!job.commands.empty()) AddEnvironment(text, job.commands.front(), run.request, view);
  for (const std::string& note : run.notes) text += fmt::format("\nnote: {}\n", note);
  text += "\nnothing was run\n";
  return text;
}

}  // namespace reveza::cli
