#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "common/base/nearest.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"

namespace reveza::cli {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view arguments;
  std::string_view description;
  std::string_view example;  // arguments
  Result<int> (*run)(int argc, char** argv);
};

constexpr auto kSubcommands = std::to_array<Subcommand>({
    {"run", "[OPTIONS] -- COMMAND... [::: NAME VALUES...]...",
     "run a command for each set of parameters, or resume it",
     "-- ./simulate --seed {seed} ::: seed 1..500", RunJob},
    {"list", "[--json]", "list all jobs with their progress", "", ListJobs},
    {"show", "JOB [--json]", "show a job's progress, failed steps and metrics", "sweep", ShowJob},
    {"table", "JOB [--cycles] [--csv|--json]",
     "print parameters, outcome, time, memory and metrics of each step, or of each cycle",
     "sweep --csv", TableOfJob},
    {"logs", "JOB STEP [--attempt N] [-f]",
     "print the output of a step, given by number or label; -f follows it", "sweep seed=57",
     ShowLogs},
    {"why", "JOB", "explain what limits the job", "sweep", WhyJob},
    {"tune", "JOB", "show the tuner's measurements: throughput by number of workers", "sweep",
     TuneJob},
    {"follow", "JOB", "print the progress every second until the runner exits", "sweep", FollowJob},
    {"wait", "JOB", "wait until the runner exits; status 0 if all steps are done", "sweep",
     WaitForJob},
    {"pause", "JOB", "suspend running steps and start no new ones", "sweep", ControlJob},
    {"resume", "JOB", "resume a paused job", "sweep", ControlJob},
    {"retry", "JOB [STEP...]", "requeue failed and unknown steps, all or those listed",
     "sweep 17 seed=57", RetryJob},
    {"add", "JOB [OPTIONS] -- COMMAND... [::: NAME VALUES...]...", "add steps to a job",
     "sweep -- ./simulate --seed {seed} ::: seed 501..600", AddToJob},
    {"stop", "JOB", "start no new steps; running steps finish", "sweep", ControlJob},
    {"cancel", "JOB", "start no new steps and terminate running ones", "sweep", ControlJob},
    {"repair", "JOB", "rebuild a damaged journal from the supervisors' records", "sweep",
     RepairJob},
    {"prune", "JOB", "delete a job with its journal and outputs", "sweep", PruneJob},
    {"demo", "", "demonstrate crash recovery: kill a runner, then resume its job", "", JobsDemo},
});

void PrintOverview() {
  fmt::print(
      "Runs lists of steps in parallel, resumes them after a crash, and inspects them.\n\n"
      "Usage: reveza jobs COMMAND ...\n\nCommands:\n");
  for (const auto& command : kSubcommands) {
    fmt::print("  {:<8} {}\n", command.name, command.description);
  }
  fmt::print(
      "\n`reveza jobs COMMAND --help` describes a command.\n\n"
      "Example:\n  reveza jobs run -- ./simulate --seed {{seed}} ::: seed 1..500\n");
}

void PrintHelp(const Subcommand& command) {
  const auto space = [](std::string_view text) {
    return fmt::format("{}{}", text.empty() ? "" : " ", text);
  };
  fmt::print("reveza jobs {0}: {1}\n\nUsage: reveza jobs {0}{2}\n", command.name,
             command.description, space(command.arguments));
  if (command.name == "add") {
    fmt::print("\nOptions: those of `reveza jobs run --help` that describe the command.\n");
  }
  fmt::print("\nExample:\n  reveza jobs {}{}\n", command.name, space(command.example));
}

// `run` prints its own help, which lists its options.
bool WantsHelp(const Subcommand& command, int argc, char** argv) {
  if (command.name == "run") return false;
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

}  // namespace

CommandResult<int> JobsCommand(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word.empty() || word == "--help" || word == "-h" || word == "help") {
    PrintOverview();
    return word.empty() ? kUsage : kDone;
  }
  const auto command = std::ranges::find(kSubcommands, word, &Subcommand::name);
  if (command == kSubcommands.end()) {
    std::vector<std::string_view> names;
    for (const auto& known : kSubcommands) names.push_back(known.name);
    return ReportError(kUsage, "unknown command '{}'{}; see reveza jobs --help", word,
                       DidYouMean(word, names));
  }
  if (WantsHelp(*command, argc - 1, argv + 1)) {
    PrintHelp(*command);
    return kDone;
  }
  const auto status = command->run(argc - 1, argv + 1);
  return status ? *status : ReportError(JobStatusOf(status.error().code), status.error().message);
}

Result<Positionals> ParsePositionals(int argc, char** argv, std::size_t min, std::size_t max,
                                     std::string_view usage) {
  Positionals positionals;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json") {
      positionals.json = true;
    } else if (word.starts_with('-')) {
      return InvalidArgument("unknown option '{}'; usage: reveza jobs {}", word, usage);
    } else {
      positionals.names.emplace_back(word);
    }
  }
  if (positionals.names.size() < min || positionals.names.size() > max) {
    const bool few = positionals.names.size() < min;
    return InvalidArgument("too {} arguments; usage: reveza jobs {}", few ? "few" : "many", usage);
  }
  return positionals;
}

Result<jobs::JobFolder> FindJob(const std::string& name) {
  ASSIGN_OR_RETURN(const auto state, platform::StateHome(platform::ProcessEnvironment));
  return jobs::JobFolder::Find(state, name);
}

Result<jobs::JobFolder> FindJobArgument(int argc, char** argv) {
  ASSIGN_OR_RETURN(const auto positionals,
                   ParsePositionals(argc, argv, 1, 1, fmt::format("{} JOB", argv[0])));
  return FindJob(positionals.names[0]);
}

Result<std::size_t> FindStep(const std::vector<jobs::StepEntry>& steps, const std::string& step,
                             const std::string& job) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (step == std::to_string(i + 1) || step == steps[i].label) return i;
  }
  return InvalidArgument("job {} has no step '{}'; give a number from 1 to {} or a label", job,
                         step, steps.size());
}

}  // namespace reveza::cli
