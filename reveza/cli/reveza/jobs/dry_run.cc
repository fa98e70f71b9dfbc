#include "reveza/cli/reveza/jobs/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/units.h"
#include "reveza/cli/reveza/jobs/job_summary.h"
#include "reveza/jobs/decide/admission.h"
#include "reveza/jobs/decide/tuner.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/definition/template.h"
#include "reveza/jobs/engine/step_limits.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::cli {
namespace {

constexpr std::size_t kShownSteps = 3;

// Appends a line such as "  workers   3".
void AddRow(std::string& text, std::string_view head, std::string_view row) {
  fmt::format_to(std::back_inserter(text), "  {:<10} {}\n", head, jobs::EscapeControls(row));
}

std::string ClaimText(const jobs::Command& command) {
  const jobs::Claim& claim = command.claim;
  const auto size = [](const std::optional<Bytes>& bytes) {
    return bytes ? FormatBytes(*bytes) : std::string("learned");
  };
  return fmt::format("cores {}, memory {}, GPU memory {}",
                     claim.cpus ? fmt::format("{:g}", *claim.cpus) : "learned",
                     command.memory_template.empty() ? size(claim.memory) : command.memory_template,
                     size(claim.gpu_memory));
}

// Returns how far the job has come in earlier runs.
std::string DoneText(const jobs::JobPreview& preview, const jobs::RunRequest& request) {
  std::string text =
      fmt::format("{} of {} done", preview.done - preview.continued, Plural(preview.steps, "step"));
  if (preview.continued > 0) {
    text += fmt::format(", {} continued after the cycles so far", preview.continued);
  }
  if (preview.failed > 0) {
    text += fmt::format(
        ", {} failed{}", preview.failed,
        request.retry_failed || request.force ? "" : " (--retry-failed runs them again)");
  }
  if (request.force) text += "; --force runs all again";
  return text;
}

std::string WorkersText(const jobs::RunRequest& request) {
  if (request.workers) return std::to_string(*request.workers);
  if (!request.max_workers) return "auto";
  return fmt::format("auto, at most {}", *request.max_workers);
}

void AddCommand(std::string& text, const jobs::Command& command, bool limited) {
  AddRow(text, "command", CommandText(command));
  AddRow(text, "folder", command.folder.string());
  AddRow(text, "claims", ClaimText(command));
  jobs::Need need;
  need.memory = command.claim.memory.value_or(0);
  need.memory_source = jobs::ClaimSource::kDeclared;
  need.gpu_memory = command.claim.gpu_memory.value_or(0);
  if (const auto limit = jobs::MemoryLimitFor(need); limit && limited) {
    AddRow(text, "memory", "limited to " + FormatBytes(*limit) + " per step");
  }
  if (command.time_limit) {
    AddRow(text, "limit", FormatDuration(*command.time_limit) + " per step");
  }
  if (command.cycles) {
    AddRow(text, "cycles",
           command.cycles->chain == 0
               ? fmt::format("{} in one process", command.cycles->count)
               : fmt::format("{}, {} per process", command.cycles->count, command.cycles->chain));
  }
  for (const auto& input : command.inputs) AddRow(text, "input", input);
}

jobs::BuiltIns AtFirst(const jobs::Command& command, std::size_t step) {
  jobs::BuiltIns built_ins;
  built_ins.step = step + 1;
  if (command.cycles) {
    built_ins.to = command.cycles->chain == 0
                       ? command.cycles->count
                       : std::min(command.cycles->count, command.cycles->chain);
  }
  return built_ins;
}

void AddSteps(std::string& text, const jobs::Job& job) {
  const auto expander = jobs::Expander::Make(job);
  if (!expander) return;
  for (std::size_t i = 0; i < std::min(kShownSteps, job.steps.size()); ++i) {
    const jobs::Step& step = job.steps[i];
    const auto expanded = expander->Expand(step, AtFirst(job.commands[step.command], i));
    if (!expanded) return;
    std::string line;
    for (const auto& [name, value] : expanded->environment) {
      line += fmt::format("{}={} ", name, jobs::ShellQuote(value));
    }
    line += jobs::ShellJoin(expanded->arguments);
    if (!step.after.empty())
      line += fmt::format("   (after {})", Plural(step.after.size(), "step"));
    AddRow(text, fmt::format("step {}", i + 1), line);
  }
  if (job.steps.size() > kShownSteps) {
    AddRow(text, "...", fmt::format("{} more", job.steps.size() - kShownSteps));
  }
}

void AddVariable(std::string& text, const jobs::ThreadSetting& setting) {
  fmt::format_to(std::back_inserter(text), "  {:<28} {}\n", setting.name + "=" + setting.value,
                 setting.reason);
}

// Returns the version of PyTorch that the command uses; nothing if a shell or a parameter chooses
// the program.
std::optional<jobs::TorchVersion> TorchOf(const jobs::Command& command,
                                          const platform::Environment& environment) {
  if (command.shell) return std::nullopt;
  const auto program = jobs::FindProgram(command.arguments[0], command.folder,
                                         environment("PATH").value_or("/usr/bin:/bin"));
  if (!program) return std::nullopt;
  return jobs::FindTorch(*program);
}

// Returns the number of workers that divide the cores when the job starts.
unsigned WorkersThatShare(const jobs::Command& command, const jobs::RunRequest& request,
                          const DryRunView& view) {
  if (request.workers) return *request.workers;
  const unsigned first = jobs::LaneOf(command) == jobs::Lane::kGpu
                             ? jobs::kInitialGpuWorkers
                             : jobs::WorkersThatShare(view.cores.value_or(1));
  return std::min(first, request.max_workers.value_or(first));
}

// Appends the cores of each worker; consecutive workers on the same cores share a line.
void AddCores(std::string& text, jobs::ThreadRequest request,
              const platform::Environment& environment) {
  struct WorkerRange {
    unsigned first = 1;
    unsigned last = 1;
    std::string reason;
  };
  std::vector<WorkerRange> ranges;
  for (request.slot = 1; request.slot <= request.workers; ++request.slot) {
    auto reason = jobs::MakeThreadEnvironment(request, environment).cores_reason;
    if (!ranges.empty() && ranges.back().reason == reason) {
      ranges.back().last = request.slot;
    } else {
      ranges.push_back({request.slot, request.slot, std::move(reason)});
    }
  }
  for (const WorkerRange& range : ranges) {
    std::string workers;
    if (ranges.size() > 1) {
      workers = range.first == range.last
                    ? fmt::format("worker {}: ", range.first)
                    : fmt::format("workers {} to {}: ", range.first, range.last);
    }
    fmt::format_to(std::back_inserter(text), "  {:<28} {}{}\n", "cores", workers, range.reason);
  }
}

// Appends the GPU that a step sees, unless the job sets it.
void AddDevices(std::string& text, const jobs::Command& command, const DryRunView& view) {
  constexpr const char* kName = "CUDA_VISIBLE_DEVICES";
  const auto matches = [&](const auto& variable) { return variable.first == kName; };
  if (std::ranges::any_of(command.environment, matches)) return;
  const auto set = view.environment(kName);
  AddVariable(text,
              {kName, set.value_or("..."),
               set ? "set by you" : "the GPU with the most free memory when the step starts"});
}

void AddEnvironment(std::string& text, const jobs::Command& command,
                    const jobs::RunRequest& request, const DryRunView& view) {
  const unsigned workers = WorkersThatShare(command, request, view);
  const auto seen = [&](const char* name) -> std::optional<std::string> {
    for (const auto& [set, value] : command.environment) {
      if (set == name) return value;
    }
    return view.environment(name);
  };
  jobs::ThreadRequest threads;
  threads.share = command.claim.cpus.value_or(view.cores.value_or(1) / workers);
  threads.workers = workers;
  threads.topology = view.topology;
  threads.gpu = jobs::LaneOf(command) == jobs::Lane::kGpu;
  threads.torch = TorchOf(command, view.environment);
  const auto made = jobs::MakeThreadEnvironment(threads, seen);
  text += request.workers ? "\nenvironment\n"
                          : fmt::format("\nenvironment with {} (more workers get smaller shares)\n",
                                        Plural(workers, "worker"));
  for (const auto& setting : made.settings) AddVariable(text, setting);
  for (const auto& kept : made.kept) AddVariable(text, kept);
  if (threads.gpu) AddDevices(text, command, view);
  for (const auto& [name, value] : command.environment) {
    AddVariable(text, {name, value, "set by the job"});
  }
  for (const auto& name : command.identity_variables) {
    const auto value = seen(name.c_str());
    // The value may be a secret: it is hashed and never shown.
    AddVariable(text,
                {name, value ? "..." : "",
                 value ? "part of each step's identity" : "not set; part of each step's identity"});
  }
  AddCores(text, threads, seen);
}

}  // namespace

DryRunView LocalDryRunView() {
  return {.topology = jobs::ReadTopology(),
          .cores = ThisMachine().cores,
          .environment = platform::ProcessEnvironment};
}

std::string DryRunText(const ParsedRun& run, const DryRunView& view) {
  const jobs::Job& job = run.job;
  std::string text = fmt::format("job {}: {}, {}{}\n", job.name, Plural(job.steps.size(), "step"),
                                 Plural(job.commands.size(), "command"),
                                 run.named ? "" : " (name derived from the command)");
  if (view.preview && view.preview->exists) {
    AddRow(text, "already", DoneText(*view.preview, run.request));
  }
  if (view.preview && view.preview->explanation) AddRow(text, "note", *view.preview->explanation);
  const bool here = run.request.cluster == jobs::ClusterKind::kNone;
  if (!here) {
    // Workers, limits and the environment of steps depend on the nodes.
    AddRow(text, "on",
           fmt::format("{}; outputs in {}", jobs::NamesOf(run.request.cluster).name,
                       (run.request.shared_folder / job.name).string()));
  } else {
    AddRow(text, "workers", WorkersText(run.request));
    const auto limits = jobs::ChooseLimits(run.request.limits, view.environment, view.root);
    AddRow(text, "limits", limits ? limits->description : limits.error().message);
  }
  for (const jobs::Command& command : job.commands) {
    text += '\n';
    AddCommand(text, command, run.request.limits != jobs::Limits::kNone);
  }
  text += '\n';
  AddSteps(text, job);
  if (!job.commands.empty() && here) {
    AddEnvironment(text, job.commands.front(), run.request, view);
  }
  for (const std::string& note : run.notes) text += fmt::format("\nnote: {}\n", note);
  text += "\ndry run: nothing was started\n";
  return text;
}

}  // namespace reveza::cli
