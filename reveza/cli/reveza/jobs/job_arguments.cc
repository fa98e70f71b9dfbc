#include "reveza/cli/reveza/jobs/job_arguments.h"

#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "common/base/read_file.h"
#include "common/base/units.h"
#include "common/cli/command_line.h"
#include "common/platform/cgroup.h"
#include "common/platform/machine.h"
#include "reveza/cli/reveza/jobs/job_options.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/definition/job_file.h"
#include "reveza/jobs/definition/parameters.h"

namespace reveza::cli {
namespace {

using jobs::ParameterTable;

// The options end at "--", or at the first word that is neither an option nor an option's value.
struct Split {
  int options_end = 0;
  int command_begin = 0;
};

Split SplitWords(const CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return {i, i + 1};
    if (!word.starts_with('-') || word == "-") return {i, i};
    const auto* option = app.get_option_no_throw(word);
    if (option != nullptr && option->get_items_expected_max() > 0) ++i;
  }
  return {argc, argc};
}

// Returns the Cartesian product.
Result<ParameterTable> CheckedCross(ParameterTable table, ParameterTable with) {
  if (with.rows() > 0 && table.rows() > jobs::kMaxSteps / with.rows()) {
    return InvalidArgument("{} x {} parameter sets exceed the maximum of {} steps per job",
                           table.rows(), with.rows(), jobs::kMaxSteps);
  }
  return Cross(std::move(table), std::move(with));
}

Result<ParameterTable> ReadTable(const JobOptions& options, std::span<const std::string> axis_words,
                                 const Surroundings& surroundings) {
  Result<ParameterTable> table = ParameterTable(1);
  if (!options.csv.empty()) {
    ASSIGN_OR_RETURN(const auto text, ReadFile(surroundings.folder / options.csv, kMaxUserFile));
    table = jobs::ParseCsv(text, options.csv);
    if (table && table->rows() == 0) return InvalidArgument("{} has no rows", options.csv);
  }
  if (table && options.lines) {
    ASSIGN_OR_RETURN(const auto text, surroundings.standard_input());
    auto lines = jobs::ParseLines(text, "standard input");
    if (!lines) return lines;
    if (lines->rows() == 0) return InvalidArgument("--stdin: standard input has no lines");
    table = CheckedCross(*std::move(table), *std::move(lines));
  }
  if (!table) return table;
  ASSIGN_OR_RETURN(const auto axes, jobs::ParseAxes(axis_words, surroundings.folder));
  auto grid = jobs::Grid(axes);
  if (!grid) return grid;
  return CheckedCross(*std::move(table), *std::move(grid));
}

Result<jobs::Job> ReadJob(const JobOptions& options, std::vector<std::string> arguments,
                          const Surroundings& surroundings) {
  if (!options.job_file.empty()) {
    if (!arguments.empty()) {
      return InvalidArgument("--job {} cannot be combined with a command ('{}')", options.job_file,
                             arguments.front());
    }
    RETURN_IF_ERROR(CheckNoCommandOptions(options));
    return jobs::ReadJobFile(surroundings.folder / options.job_file);
  }
  const auto axis = std::ranges::find_if(
      arguments, [](const std::string& word) { return word.starts_with(":::"); });
  const std::vector<std::string> axis_words(axis, arguments.end());
  arguments.erase(axis, arguments.end());
  if (arguments.empty()) {
    return InvalidArgument(
        "no command given; usage: reveza jobs run [OPTIONS] -- COMMAND... [::: NAME VALUES...]..., "
        "or --job FILE");
  }
  ASSIGN_OR_RETURN(auto command, ReadCommand(options, std::move(arguments), surroundings.folder));
  ASSIGN_OR_RETURN(auto rows, ReadTable(options, axis_words, surroundings));
  const auto table = std::make_shared<const ParameterTable>(std::move(rows));
  jobs::Job job;
  job.commands.push_back(std::move(command));
  job.steps.resize(table->rows());
  for (std::size_t i = 0; i < job.steps.size(); ++i) job.steps[i].parameters = {table, i};
  return job;
}

Status CheckName(std::string_view name) {
  const bool fine = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-").contains(c);
  });
  if (fine && name.size() <= 64 && !name.starts_with('.') && !name.starts_with('-')) return {};
  return InvalidArgument(
      "'{}' is not a valid job name; use up to 64 letters, digits, '.', '_' and '-', starting with "
      "a letter or digit",
      name);
}

// Rejects steps that need more than the machine has: they would wait forever.
Status CheckClaims(const jobs::Job& job, const Surroundings& surroundings) {
  for (const jobs::Command& command : job.commands) {
    const jobs::Claim& claim = command.claim;
    if (claim.cpus && surroundings.cores && *claim.cpus > *surroundings.cores) {
      return InvalidArgument("--cpus: a step that needs {} cores cannot run; this machine has {}",
                             *claim.cpus, *surroundings.cores);
    }
    if (claim.memory && surroundings.memory && *claim.memory > *surroundings.memory) {
      return InvalidArgument(
          "--memory: a step that needs {} of memory cannot run; this machine has {}",
          FormatBytes(*claim.memory), FormatBytes(*surroundings.memory));
    }
    if (!claim.gpu_memory || *claim.gpu_memory == 0) continue;
    if (surroundings.gpu_memory && *claim.gpu_memory > *surroundings.gpu_memory) {
      return InvalidArgument(
          "--gpu-memory: a step that needs {} of GPU memory cannot run; the largest GPU has {}",
          FormatBytes(*claim.gpu_memory), FormatBytes(*surroundings.gpu_memory));
    }
  }
  return {};
}

// Checks the claims that depend on the parameters of a step.
Status CheckMemoryTemplates(const jobs::Job& job, const Surroundings& surroundings) {
  const auto is_templated = [](const jobs::Command& command) {
    return !command.memory_template.empty();
  };
  if (std::ranges::none_of(job.commands, is_templated)) return {};
  ASSIGN_OR_RETURN(const auto expander, jobs::Expander::Make(job));
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const auto memory = expander.Memory(job.steps[i]);
    if (!memory) return InvalidArgument("memory of step {}: {}", i + 1, memory.error().message);
    if (!*memory || !surroundings.memory || **memory <= *surroundings.memory) continue;
    return InvalidArgument("memory of step {}: it needs {} and cannot run; this machine has {}",
                           i + 1, FormatBytes(**memory), FormatBytes(*surroundings.memory));
  }
  return {};
}

// Whether `text` contains {name}.
bool HasPlaceholder(std::string_view text, std::string_view name) {
  return text.contains(fmt::format("{{{}}}", name));
}

bool Uses(const jobs::Command& command, std::string_view name) {
  const auto names = [&](std::string_view text) { return HasPlaceholder(text, name); };
  return std::ranges::any_of(command.arguments, names) || names(command.folder.native()) ||
         names(command.memory_template) || std::ranges::any_of(command.inputs, names) ||
         std::ranges::any_of(command.environment,
                             [&](const auto& variable) { return names(variable.second); });
}

std::vector<std::string> WarningsFor(const jobs::Job& job) {
  std::vector<std::string> notes;
  for (std::size_t c = 0; c < job.commands.size(); ++c) {
    const jobs::Command& command = job.commands[c];
    const auto first = std::ranges::find(job.steps, c, &jobs::Step::command);
    if (first == job.steps.end()) continue;
    for (const auto parameter : first->parameters) {
      if (Uses(command, parameter.name)) continue;
      notes.push_back(fmt::format(
          "parameter '{0}' is not used by the command; write {{{0}}} where its value goes",
          parameter.name));
    }
    if (command.cycles && !Uses(command, "from")) {
      notes.emplace_back(
          "the command does not use {from}: after a restart it begins with its first cycle");
    }
  }
  return notes;
}

Status CheckGoal(const ParsedRun& run) {
  const auto& goal = run.request.halt.goal;
  const auto reports = [](const jobs::Command& command) { return command.cycles.has_value(); };
  if (!goal || std::ranges::any_of(run.job.commands, reports)) return {};
  return InvalidArgument(
      "--halt: only steps with --cycles report metrics such as {}; add --cycles 1 if the program "
      "prints `reveza step 1 {}=...` once",
      goal->metric, goal->metric);
}

// Reads the options of pods.
Status ReadPods(const JobOptions& options, const std::filesystem::path& folder,
                jobs::RunRequest& request) {
  const std::pair<const char*, bool> given[] = {{"--image", !options.image.empty()},
                                                {"--volume", !options.volumes.empty()},
                                                {"--pod-template", !options.pod_template.empty()}};
  for (const auto& [option, is_given] : given) {
    if (!is_given || request.cluster == jobs::ClusterKind::kKubernetes) continue;
    return InvalidArgument("{}: only --on kubernetes uses it; add that, or omit this", option);
  }
  request.pods = {.image = options.image, .volumes = options.volumes};
  if (!options.pod_template.empty()) request.pods.pod_template = folder / options.pod_template;
  return {};
}

// Reads --on and --shared. The runners on nodes decide what other options ask of the one at home.
Status ReadCluster(const JobOptions& options, const std::filesystem::path& folder,
                   jobs::RunRequest& request) {
  if (options.on.empty()) {
    if (options.shared.empty()) return {};
    return InvalidArgument(
        "--shared: only --on slurm, ray and kubernetes use a shared folder; add one, or omit this");
  }
  const auto* cluster = std::ranges::find(jobs::kClusters, options.on, &jobs::ClusterNames::word);
  if (cluster == jobs::kClusters.end()) {
    return InvalidArgument("--on: '{}' is invalid; write slurm, ray or kubernetes", options.on);
  }
  if (options.shared.empty()) {
    return InvalidArgument(
        "--on {} requires --shared DIR, a folder that this machine and all nodes can write",
        options.on);
  }
  const std::pair<const char*, bool> excluded[] = {
      {"--shard", !options.shard.empty()},
      {"--export", !options.export_folder.empty()},
      {"--output-folder", !options.output_folder.empty()},
      {"--memory-reserve", !options.memory_reserve.empty()},
      {"--cpu-budget", !options.cpu_budget.empty()},
      {"--halt METRIC", request.halt.goal.has_value()}};
  for (const auto& [option, given] : excluded) {
    if (given) return InvalidArgument("{} cannot be combined with --on {}", option, options.on);
  }
  request.cluster = cluster->kind;
  request.shared_folder = (folder / options.shared).lexically_normal();
  return {};
}

Result<std::string> ReadStandardInput() {
  std::string text;
  std::array<char, 64 * kKiB> piece;
  for (;;) {
    const std::size_t length = std::fread(piece.data(), 1, piece.size(), stdin);
    text.append(piece.data(), length);
    if (text.size() > kGiB) return InvalidArgument("--stdin: standard input exceeds 1 GiB");
    if (length == piece.size()) continue;
    if (std::ferror(stdin) == 0) return text;
    return Fail(Error::Code::kUnavailable, "cannot read standard input: {}", std::strerror(errno));
  }
}

}  // namespace

Surroundings ThisMachine() {
  Surroundings here;
  std::error_code ignored;
  here.folder = std::filesystem::current_path(ignored);
  here.standard_input = ReadStandardInput;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) here.cores = CPU_COUNT(&cores);
  if (const auto memory = platform::ReadMachineMemory()) here.memory = memory->total;
  if (const auto group = platform::ReadCgroupMemory()) {
    here.memory = std::min<Bytes>(here.memory.value_or(group->limit), group->limit);
  }
  if (const auto nvml = nvml::LoadNvml()) here.gpu_memory = nvml::LargestGpuMemory(**nvml);
  return here;
}

Result<ParsedRun> ParseRun(int argc, char** argv) { return ParseRun(argc, argv, ThisMachine()); }

void DescribeRun(CLI::App& app, JobOptions& options) {
  app.description(
      "Run a command for each set of parameters, or resume it\n\n"
      "Runs a command once for each set of parameters; resumes the job if it exists:\n"
      "reveza jobs run [OPTIONS] -- COMMAND... [::: NAME VALUES...]...");
  AddJobOptions(app, options);
  command_line::AddCommandWords(app, "the command of a step, then `::: NAME VALUES`");
  app.footer(
      "VALUES are words, ranges (1..500, 0..1..0.25), @FILE or samples of a range\n"
      "(sobol 0..1 64); several ::: are combined, :::+ links parameters pairwise. {NAME} in the\n"
      "command stands for the value.\n\n"
      "Example:\n"
      "  reveza jobs run --name sweep --memory 2GiB -- ./simulate --seed {seed} ::: seed 1..500");
}

Result<ParsedRun> ParseRun(int argc, char** argv, const Surroundings& here) {
  CLI::App app("", "reveza jobs run");
  JobOptions options;
  DescribeRun(app, options);
  const Split split = SplitWords(app, argc, argv);
  try {
    app.parse(split.options_end, argv);
  } catch (const CLI::CallForHelp&) {
    ParsedRun parsed;
    parsed.help = command_line::HelpText(kProgram, app);
    return parsed;
  } catch (const CLI::ParseError& error) {
    return InvalidArgument(command_line::DescribeParseError(app, error));
  }

  ParsedRun parsed;
  Surroundings surroundings = here;
  ASSIGN_OR_RETURN(auto request, ReadRequest(options, surroundings.folder));
  parsed.request = std::move(request);
  RETURN_IF_ERROR(ReadCluster(options, here.folder, parsed.request));
  RETURN_IF_ERROR(ReadPods(options, here.folder, parsed.request));
  if (parsed.request.cluster != jobs::ClusterKind::kNone) {
    // The cluster knows what nodes have.
    surroundings.cores.reset();
    surroundings.memory.reset();
    surroundings.gpu_memory.reset();
  }
  std::vector<std::string> command(argv + split.command_begin, argv + argc);
  ASSIGN_OR_RETURN(auto job, ReadJob(options, std::move(command), surroundings));
  parsed.job = std::move(job);
  RETURN_IF_ERROR(jobs::CheckCommands(parsed.job));
  RETURN_IF_ERROR(CheckClaims(parsed.job, surroundings));
  RETURN_IF_ERROR(CheckMemoryTemplates(parsed.job, surroundings));
  RETURN_IF_ERROR(CheckGoal(parsed));
  if (!options.name.empty()) parsed.job.name = options.name;
  parsed.named = !parsed.job.name.empty();
  parsed.options_end = split.options_end;
  if (!parsed.named) parsed.job.name = jobs::DefaultName(parsed.job);
  if (parsed.request.shard) parsed.job.name += '.' + NameOf(*parsed.request.shard);
  RETURN_IF_ERROR(CheckName(parsed.job.name));
  parsed.notes = WarningsFor(parsed.job);
  return parsed;
}

}  // namespace reveza::cli
