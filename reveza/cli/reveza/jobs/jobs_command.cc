#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/cli/command_line.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/cli/reveza/jobs/job_arguments.h"
#include "reveza/cli/reveza/jobs/job_options.h"
#include "reveza/cli/reveza/program.h"

namespace reveza::cli {
namespace {

// Declares what a command takes; ones that are followed by a command line declare it for the help
// and the completion only.
using Declare = void (*)(CLI::App& app, JobsArguments& arguments);

struct Subcommand {
  const char* name;
  const char* description;
  const char* example;  // arguments
  Declare declare;
  Result<int> (*run)(const JobsArguments& arguments);
  Result<int> (*run_words)(int argc, char** argv) = nullptr;
};

void AddNothing(CLI::App&, JobsArguments&) {}

void AddJob(CLI::App& app, JobsArguments& arguments) {
  app.add_option("JOB", arguments.job, "name of the job, as `reveza jobs list` shows it")
      ->required();
}

void AddJson(CLI::App& app, JobsArguments& arguments) {
  app.add_flag("--json", arguments.json, "print JSON");
}

void AddJobAndJson(CLI::App& app, JobsArguments& arguments) {
  AddJob(app, arguments);
  AddJson(app, arguments);
}

void AddFormats(CLI::App& app, JobsArguments& arguments) {
  auto* csv = app.add_flag("--csv", arguments.csv, "print CSV");
  app.add_flag("--json", arguments.json, "print JSON")->excludes(csv);
}

void AddTable(CLI::App& app, JobsArguments& arguments) {
  AddJob(app, arguments);
  app.add_flag("--cycles", arguments.cycles, "print a row for each cycle");
  AddFormats(app, arguments);
  app.add_flag("--parquet", arguments.parquet, "write an Apache Parquet file to standard output")
      ->excludes("--csv", "--json");
}

void AddCompare(CLI::App& app, JobsArguments& arguments) {
  AddJob(app, arguments);
  app.add_option("JOB2", arguments.other_job, "name of the other job")->required();
  AddFormats(app, arguments);
}

void AddMerge(CLI::App& app, JobsArguments& arguments) {
  app.add_option("JOB", arguments.job, "name of the job, which is created if necessary")
      ->required();
  app.add_option("FOLDER", arguments.folders, "folder that shards were exported to")->required();
}

void AddReport(CLI::App& app, JobsArguments& arguments) {
  AddJob(app, arguments);
  AddOption(app, "-o,--output", arguments.output, "FILE", "where to write the page")->required();
}

void AddLogs(CLI::App& app, JobsArguments& arguments) {
  AddJob(app, arguments);
  app.add_option("STEP", arguments.step, "number or label of the step")->required();
  AddOption(app, "--attempt", arguments.attempt, "N", "an earlier attempt, from 1 (default: last)")
      ->check(CLI::Range(1U, std::numeric_limits<std::uint32_t>::max()));
  app.add_flag("-f,--follow", arguments.follow, "print the output as it grows until the step ends");
}

void AddRetry(CLI::App& app, JobsArguments& arguments) {
  AddJob(app, arguments);
  app.add_option("STEP", arguments.steps, "number or label of a step (default: all such steps)");
}

void DescribeRunOnly(CLI::App& app, JobsArguments&) {
  DescribeRun(app, command_line::ArgumentsOwnedBy<JobOptions>(app));
}

void DescribeAdd(CLI::App& app, JobsArguments& arguments) {
  AddJob(app, arguments);
  AddCommandOptions(app, command_line::ArgumentsOwnedBy<JobOptions>(app));
  command_line::AddCommandWords(app, "the command of a step, then `::: NAME VALUES`");
}

constexpr auto kSubcommands = std::to_array<Subcommand>({
    {"run", "Run a command for each set of parameters, or resume it", "", DescribeRunOnly, nullptr,
     RunJob},
    {"list", "List all jobs with their progress", "", AddJson, ListJobs},
    {"show", "Show a job's progress, failed steps and metrics", "sweep", AddJobAndJson, ShowJob},
    {"table", "Print parameters, outcome, time, memory and metrics of each step, or each cycle",
     "sweep --csv", AddTable, TableOfJob},
    {"compare", "Compare two jobs: means of what both have done, or each step with --csv or --json",
     "sweep sweep2", AddCompare, CompareJobs},
    {"report", "Write a page for a browser: time line, failures, metrics over parameters",
     "sweep -o report.html", AddReport, ReportOfJob},
    {"logs", "Print the output of a step", "sweep seed=57", AddLogs, ShowLogs},
    {"why", "Explain what limits the job", "sweep", AddJob, WhyJob},
    {"tune", "Show the tuner's measurements: throughput by number of workers", "sweep", AddJob,
     TuneJob},
    {"follow", "Print the progress every second until the runner exits", "sweep", AddJob,
     FollowJob},
    {"wait", "Wait until the runner exits; status 0 if all steps are done", "sweep", AddJob,
     WaitForJob},
    {"pause", "Suspend running steps and start no new ones", "sweep", AddJob, ControlJob},
    {"resume", "Resume a paused job", "sweep", AddJob, ControlJob},
    {"retry", "Requeue failed and unknown steps, all or those listed", "sweep 17 seed=57", AddRetry,
     RetryJob},
    {"add", "Add steps to a job", "sweep -- ./simulate --seed {seed} ::: seed 501..600",
     DescribeAdd, nullptr, AddToJob},
    {"stop", "Start no new steps; running steps finish", "sweep", AddJob, ControlJob},
    {"cancel", "Start no new steps and terminate running ones", "sweep", AddJob, ControlJob},
    {"merge", "Merge what shards have exported, of other machines, into a job",
     "sweep /shared/sweep", AddMerge, MergeShards},
    {"repair", "Rebuild a damaged journal from the supervisors' records", "sweep", AddJob,
     RepairJob},
    {"prune", "Delete a job with its journal and outputs", "sweep", AddJob, PruneJob},
    {"demo", "Demonstrate crash recovery: kill a runner, then resume its job", "", AddNothing,
     nullptr, JobsDemo},
});

void DeclareCommand(const Subcommand& command, CLI::App& app, JobsArguments& arguments) {
  arguments.command = command.name;
  command.declare(app, arguments);
  if (!app.get_footer().empty()) return;
  app.footer(fmt::format("Example:\n  reveza jobs {}{}{}", command.name,
                         *command.example == '\0' ? "" : " ", command.example));
}

// Whether a command that is followed by a command line is asked for its help; `run` finds out
// itself.
bool WantsHelp(const Subcommand& command, int argc, char** argv) {
  if (std::string_view(command.name) == "run") return false;
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

ExitStatus JobStatusOf(Error::Code code) {
  switch (code) {
    case Error::Code::kUnavailable:
      return kBusyJob;
    case Error::Code::kIncompatible:
      return kDamagedJournal;
    case Error::Code::kInvalidArgument:
    case Error::Code::kNotFound:
      return kUsage;
    default:
      return kFailed;
  }
}

// Runs a command. argv[0] is its name.
CommandResult<int> RunCommand(const Subcommand& command, int argc, char** argv) {
  CLI::App app(command.description, fmt::format("reveza jobs {}", command.name));
  JobsArguments arguments;
  DeclareCommand(command, app, arguments);
  const bool has_words = command.run_words != nullptr;
  if (!has_words || WantsHelp(command, argc, argv)) {
    char help[] = "--help";
    char* only_help[] = {argv[0], help};
    const auto status = has_words ? command_line::Parse(kProgram, app, 2, only_help)
                                  : command_line::Parse(kProgram, app, argc, argv);
    if (status) return *status;
  }
  const auto status = has_words ? command.run_words(argc, argv) : command.run(arguments);
  return status ? *status : ReportError(JobStatusOf(status.error().code), status.error().message);
}

}  // namespace

void DescribeJobs(CLI::App& app) {
  app.description(
      "Run lists of steps in parallel; resume them after a crash\n\n"
      "Runs lists of steps in parallel, resumes them after a crash, and inspects them.");
  app.require_subcommand(1);
  for (const auto& command : kSubcommands) {
    CLI::App* inner = app.add_subcommand(command.name, command.description);
    DeclareCommand(command, *inner, command_line::ArgumentsOwnedBy<JobsArguments>(*inner));
  }
  // Last, because commands inherit it.
  app.footer(
      "`reveza jobs COMMAND --help` describes a command.\n\n"
      "Example:\n  reveza jobs run -- ./simulate --seed {seed} ::: seed 1..500");
}

CommandResult<int> JobsCommand(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  const auto command = std::ranges::find(
      kSubcommands, word, [](const Subcommand& known) { return std::string_view(known.name); });
  if (command != kSubcommands.end()) return RunCommand(*command, argc - 1, argv + 1);
  if (word == "run-task") {
    const auto status = RunTask(argc - 1, argv + 1);
    return status ? *status : ReportError(JobStatusOf(status.error().code), status.error().message);
  }
  CLI::App app("", "reveza jobs");
  DescribeJobs(app);
  if (word.empty() || word == "help") {
    fmt::print("{}", command_line::HelpText(kProgram, app));
    return word.empty() ? kUsage : kDone;
  }
  if (const auto status = command_line::Parse(kProgram, app, argc, argv)) return *status;
  return kUsage;  // not reached: the word is no command
}

std::vector<std::string> JobNames() {
  const auto state = platform::StateHome(platform::ProcessEnvironment);
  return state ? jobs::JobFolder::List(*state) : std::vector<std::string>();
}

std::vector<std::string> StepLabels(const std::string& job, std::size_t max) {
  std::vector<std::string> labels;
  const auto folder = FindJob(job);
  std::error_code ignored;
  if (!folder || !std::filesystem::exists(folder->journal(), ignored)) return labels;
  auto journal = jobs::Journal::Open(folder->journal());
  if (!journal) return labels;
  const auto steps = journal->List();
  for (std::size_t i = 0; steps && i < std::min(max, steps->size()); ++i) {
    labels.push_back((*steps)[i].label);
  }
  return labels;
}

Result<jobs::JobFolder> FindJob(const std::string& name) {
  ASSIGN_OR_RETURN(const auto state, platform::StateHome(platform::ProcessEnvironment));
  return jobs::JobFolder::Find(state, name);
}

Result<std::size_t> FindStep(const std::vector<jobs::StepEntry>& steps, const std::string& step,
                             const std::string& job) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (step == std::to_string(i + 1) || step == steps[i].label) return i;
  }
  return NoSuchStep(step, job, steps.size());
}

std::unexpected<Error> NoSuchStep(const std::string& step, const std::string& job,
                                  std::uint64_t steps) {
  return InvalidArgument("job {} has no step '{}'; give a number from 1 to {} or a label", job,
                         step, steps);
}

}  // namespace reveza::cli
