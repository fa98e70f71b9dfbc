// The command line of `reveza`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "common/cli/command_line.h"
#include "common/cli/introspection.h"
#include "common/version/version.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/policy_options.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/gpu/daemon/settings.h"

namespace reveza::cli {
namespace {

struct Arguments {
  std::string name, gpu_budget, host_budget, socket, trace_file = "reveza-trace.json", calls_file;
  std::string job;
  PolicyOptions policy;
  bool quiet = false, resident = false, larger_than_card = false, same_job = false, mps = false,
       json = false, watch = false, force = false;
};

// Returns whether `word` is an option that is followed by its value.
bool TakesValue(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = app.get_option_no_throw(word);
  if (option != nullptr) return option->get_items_expected_max() > 0;
  return app.get_parent() != nullptr && TakesValue(*app.get_parent(), word);
}

// Returns the index at which the options of `reveza run` or `reveza trace` end: that of "--", or of
// the first word that is neither an option nor an option's value. The rest belongs to the command.
int CommandBegin(const CLI::App& app, int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return i;
    if (!word.starts_with('-')) return i;
    if (TakesValue(app, word)) ++i;
  }
  return argc;
}

// Returns whether the words are those of a command that is followed by another one.
bool TakesCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return false;
  const std::string name = argv[1];
  if (name != "trace") return name == "run";
  const int end = CommandBegin(*app.get_subcommand(name), argc, argv);
  return std::any_of(argv + 2, argv + std::min(argc, end), [](std::string_view word) {
    return word == "--calls" || word.starts_with("--calls=");
  });
}

// Commands that parse their own arguments.
struct OwnCommandLine {
  const char* name;
  void (*describe)(CLI::App& app);
  CommandResult<int> (*run)(int argc, char** argv);
};
constexpr auto kOwnCommandLines = std::to_array<OwnCommandLine>({
    {"doctor", DescribeDoctor, DoctorCommand},
    {"jobs", DescribeJobs, JobsCommand},
    {"metrics", DescribeMetrics, MetricsCommand},
    {"simulate", DescribeSimulate, SimulateCommand},
    {"top", DescribeTop, Top},
    {"usage", DescribeUsage, UsageCommand},
    {"web", DescribeWeb, WebCommand},
});

void AddRun(CLI::App& app, Arguments& arguments) {
  auto* run = app.add_subcommand(
      "run",
      "Run a command that shares the GPU\n\n"
      "Runs a command that shares the GPU: reveza run [OPTIONS] -- COMMAND [ARGUMENTS...]");
  AddOption(*run, "--name", arguments.name, "NAME", "name of the program in `reveza status`");
  AddOption(*run, "--gpu-budget", arguments.gpu_budget, "SIZE",
            "GPU memory for all programs together, e.g. 24GiB (default: the whole GPU)");
  AddOption(*run, "--host-budget", arguments.host_budget, "SIZE",
            "host memory for swapped-out GPU memory, e.g. 64GiB\n"
            "(default: 80% of the memory available when the daemon starts)");
  AddPolicyOptions(*run, arguments.policy);
  AddSocketOption(*run, arguments.socket);
  auto* resident =
      run->add_flag("--resident", arguments.resident, "never swap out this program's GPU memory");
  run->add_flag("--larger-than-card", arguments.larger_than_card,
                "put what the card cannot hold in memory of the host, which the program then uses\n"
                "over the link: slower, but right (default: out of memory)")
      ->excludes(resident);
  run->add_flag(
      "--same-job", arguments.same_job,
      "inside another `reveza run`: take turns together with it, e.g. for processes that\n"
      "exchange GPU data (default: a job of its own)");
  run->add_flag(
      "--mps", arguments.mps,
      "run under NVIDIA's MPS, so that programs that fit together overlap; a GPU fault of\n"
      "one of them ends the others too");
  run->add_flag("--quiet", arguments.quiet, "print no messages while the program waits");
  command_line::AddCommandWords(*run, "the command and its arguments");
  run->footer(
      "Starts the daemon if none is running.\n\n"
      "Examples:\n"
      "  reveza run --name train --gpu-budget 24GiB -- python train.py\n"
      "  reveza run --interactive --memory 4GiB:8GiB -- jupyter lab");
}

void AddChanges(CLI::App& app, Arguments& arguments) {
  const auto add = [&](const char* name, const char* description, const char* example) {
    auto* command = app.add_subcommand(name, description);
    command
        ->add_option("PROGRAM", arguments.job, "name of the program in `reveza status`, or its pid")
        ->required();
    AddSocketOption(*command, arguments.socket);
    command->footer(std::string("Example:\n  ") + example);
    return command;
  };
  add("pause", "Stop a program's GPU work and move its memory off the GPU", "reveza pause train");
  add("resume", "Let a paused program go on", "reveza resume train");
  auto* set = add("set", "Change what a program is entitled to, while it runs",
                  "reveza set train --weight 2 --priority low");
  AddPolicyOptions(*set, arguments.policy);
}

void AddTrace(CLI::App& app, Arguments& arguments) {
  auto* trace = app.add_subcommand(
      "trace", "Write the daemon's recent events for Perfetto, or record a program's driver calls");
  trace->add_option("FILE", arguments.trace_file,
                    "output file, or - for standard output (default: reveza-trace.json)");
  AddOption(*trace, "--calls", arguments.calls_file, "FILE",
            "run a command without Reveza and record the driver calls that it makes, without\n"
            "the contents of memory; further processes of it write FILE.PID:\n"
            "reveza trace --calls FILE -- COMMAND [ARGUMENTS...]");
  command_line::AddCommandWords(*trace, "with --calls: the command and its arguments");
  trace->footer(
      "Examples:\n"
      "  reveza trace trace.json    then open it at https://ui.perfetto.dev\n"
      "  reveza trace --calls train.calls -- python train.py");
}

void AddCommands(CLI::App& app, Arguments& arguments) {
  AddSocketOption(app, arguments.socket);
  AddRun(app, arguments);
  auto* status = app.add_subcommand("status", "Show the GPUs and the programs that share them");
  status->add_flag("--json", arguments.json, "print JSON");
  status->add_flag("--watch", arguments.watch, "refresh every second until interrupted");
  status->footer("Example:\n  reveza status --watch");
  AddChanges(app, arguments);
  AddTrace(app, arguments);
  auto* stop = app.add_subcommand("stop", "Stop the daemon");
  stop->add_flag("--force", arguments.force,
                 "stop it even if programs are connected; they continue without it");
  stop->footer("Example:\n  reveza stop");
  auto* config = app.add_subcommand("config", "Show the configuration");
  config->add_subcommand("show", "Show all settings and where each value comes from");
  config->add_subcommand("path", "Show the path of the configuration file");
  config->require_subcommand(1);
  config->footer("Example:\n  reveza config show");
  app.add_subcommand("version", "Show the version");
  auto* demo = app.add_subcommand("demo",
                                  "Run three programs, alone and together, that need more memory "
                                  "than the GPU; compare results");
  demo->add_flag("--json", arguments.json, "print the result as JSON");
  demo->footer("Example:\n  reveza demo");
  for (const auto& other : kOwnCommandLines) other.describe(*app.add_subcommand(other.name));
  command_line::AddCompletionCommand(app);
  app.require_subcommand(1);
}

// Returns the policy that `pause`, `resume` or `set` asks for; no fields if it is none of them.
CommandResult<wire::Policy> RequestedPolicy(const CLI::App& app, const Arguments& arguments) {
  auto policy = ParsePolicy(arguments.policy);
  if (!policy) return Failure(kUsage, "{}", policy.error().message);
  if (app.got_subcommand("set") && policy->fields == 0) {
    return Failure(kUsage,
                   "nothing to change; give --weight, --priority, --memory or --interactive");
  }
  if (app.got_subcommand("pause") || app.got_subcommand("resume")) {
    policy->fields = wire::kPolicyPaused;
    policy->paused = app.got_subcommand("pause") ? 1 : 0;
  }
  return *policy;
}

CommandResult<int> Dispatch(const CLI::App& app, const Arguments& arguments,
                            std::vector<std::string> command) {
  if (app.got_subcommand("version")) return ShowVersion();
  const auto* config = app.get_subcommand("config");
  if (config->parsed() && config->got_subcommand("path")) return ShowConfigurationPath();
  if (app.got_subcommand("demo")) return Demo(arguments.json);
  if (app.got_subcommand("trace") && app.get_subcommand("trace")->count("--calls") > 0) {
    return TraceCalls(arguments.calls_file, command);
  }

  ASSIGN_OR_RETURN(const auto configuration,
                   LoadConfiguration({{"gpu_budget", arguments.gpu_budget},
                                      {"host_budget", arguments.host_budget},
                                      {"socket", arguments.socket}}));
  const daemon::Settings& settings = configuration.settings();
  if (config->parsed()) return ShowConfiguration(configuration);
  if (app.got_subcommand("status")) return ShowStatus(settings, arguments.json, arguments.watch);
  if (app.got_subcommand("trace")) return WriteTrace(settings, arguments.trace_file);
  ASSIGN_OR_RETURN(const wire::Policy policy, RequestedPolicy(app, arguments));
  if (!arguments.job.empty()) return ChangeJob(settings, arguments.job, policy);
  if (app.got_subcommand("stop")) return StopDaemon(settings, arguments.force);
  if (command.empty()) {
    return ReportError(kUsage, "no command given; usage: reveza run [OPTIONS] -- COMMAND...");
  }
  return Run(settings, RunOptions{.name = arguments.name,
                                  .quiet = arguments.quiet,
                                  .resident = arguments.resident,
                                  .larger_than_card = arguments.larger_than_card,
                                  .same_job = arguments.same_job,
                                  .mps = arguments.mps,
                                  .policy = policy,
                                  .command = std::move(command)});
}

CommandResult<int> Main(int argc, char** argv) {
  for (const auto& command : kOwnCommandLines) {
    if (argc > 1 && std::string_view(argv[1]) == command.name) {
      return command.run(argc - 1, argv + 1);
    }
  }
  CLI::App app(
      "Runs programs that together need more memory than the GPU has: they take turns, with the\n"
      "results that each has alone. Runs lists of steps and resumes them, and diagnoses what "
      "limits\n"
      "parallelism. `reveza demo` shows it, without a GPU too.",
      "reveza");
  app.set_version_flag("--version", version::Text("reveza"));
  Arguments arguments;
  AddCommands(app, arguments);
  // Last, because commands inherit it.
  app.footer(
      "`reveza COMMAND --help` describes a command.\n\n"
      "Example:\n  reveza run -- python train.py");
  if (const auto status = command_line::AnswerCompletion(
          app, argc, argv, CompletionValues(),
          {.version = REVEZA_VERSION, .see_also = "revezad(8), fraudgen(1), phi(1)"},
          kPortuguese)) {
    return *status;
  }
  std::vector<std::string> command;
  int options_end = argc;
  if (TakesCommand(app, argc, argv)) {
    options_end = CommandBegin(*app.get_subcommand(argv[1]), argc, argv);
    const bool dashes = options_end < argc && std::string(argv[options_end]) == "--";
    command.assign(argv + std::min(argc, options_end + (dashes ? 1 : 0)), argv + argc);
  }
  if (const auto status = command_line::Parse(kProgram, app, options_end, argv)) return *status;
  return Dispatch(app, arguments, std::move(command));
}

}  // namespace
}  // namespace reveza::cli

int main(int argc, char** argv) {
  return reveza::command_line::Run(reveza::cli::kProgram,
                                   [=] { return ReportError(reveza::cli::Main(argc, argv)); });
}
