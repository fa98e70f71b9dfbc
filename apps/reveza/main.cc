// `reveza`: what people type. This file is its command line only.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_line.h"
#include "commands.h"
#include "daemon/settings.h"
#include "demo.h"
#include "doctor_command.h"
#include "exit_status.h"
#include "jobs_command.h"
#include "metrics_command.h"
#include "platform/runtime_paths.h"
#include "run.h"
#include "top_command.h"

namespace reveza::cli {
namespace {

struct Arguments {
  std::string name, gpu_budget, host_budget, socket, trace_file = "reveza-trace.json";
  bool quiet = false, resident = false, json = false, watch = false, force = false;
};

// Where the command of `reveza run` begins: behind "--", or at the first word that is neither an
// option nor the value of one. What follows is not ours to read.
int CommandBegin(int argc, char** argv) {
  const std::vector<std::string> with_value = {"--name", "--gpu-budget", "--host-budget",
                                               "--socket"};
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return i;
    if (!word.starts_with('-')) return i;
    if (std::ranges::find(with_value, word) != with_value.end()) ++i;
  }
  return argc;
}

// The first word that nobody knew, and who should have.
std::optional<std::string> UnknownWord(const CLI::App& app) {
  for (const auto* command : app.get_subcommands()) {
    if (auto inner = UnknownWord(*command)) return inner;
  }
  const auto words = app.remaining();
  if (words.empty()) return std::nullopt;
  const bool option = words.front().starts_with('-');
  return fmt::format("unknown {} '{}'{}; see {} --help", option ? "option" : "command",
                     words.front(), command_line::DidYouMean(words.front(), app),
                     app.get_parent() == nullptr ? "reveza" : "reveza " + app.get_name());
}

int SayParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (const auto unknown = UnknownWord(app)) return Say(kUsage, *unknown);
  return Say(kUsage, fmt::format("{}; see reveza --help", error.what()));
}

// The commands that have a command line of their own: what follows their name is theirs to read.
struct OwnCommandLine {
  const char* name;
  const char* description;
  int (*run)(int argc, char** argv);
};
constexpr auto kOwnCommandLines = std::to_array<OwnCommandLine>({
    {"doctor", "Say why a process or this machine cannot run more in parallel", DoctorCommand},
    {"jobs", "Work off lists of steps, and resume them after a crash", JobsCommand},
    {"metrics", "Serve figures of all that to Prometheus", MetricsCommand},
    {"top", "Show machine, GPUs, programs and jobs, live", Top},
});

void AddCommands(CLI::App& app, Arguments& arguments) {
  app.add_option("--socket", arguments.socket, "the daemon's socket");
  auto* run = app.add_subcommand(
      "run", "Run a program that shares the GPU: reveza run [OPTIONS] -- COMMAND...");
  run->add_option("--name", arguments.name, "how status calls it");
  run->add_option("--gpu-budget", arguments.gpu_budget,
                  "GPU memory for all programs together, such as 24GiB: a smaller card");
  run->add_option("--host-budget", arguments.host_budget,
                  "host memory for what is swapped out, such as 64GiB");
  run->add_option("--socket", arguments.socket, "the daemon's socket");
  run->add_flag("--resident", arguments.resident, "never swap its memory (for legacy CUDA IPC)");
  run->add_flag("--quiet", arguments.quiet, "say nothing while it waits");

  auto* status = app.add_subcommand("status", "Show GPUs and programs");
  status->add_flag("--json", arguments.json, "as JSON");
  status->add_flag("--watch", arguments.watch, "again every second");
  auto* trace = app.add_subcommand("trace", "Write the last events for Perfetto");
  trace->add_option("FILE", arguments.trace_file, "where to; - is standard output");
  auto* stop = app.add_subcommand("stop", "End the daemon");
  stop->add_flag("--force", arguments.force, "even while programs use it; they run on alone");
  auto* config = app.add_subcommand("config", "Show settings and where they come from");
  config->add_subcommand("show", "All settings");
  config->add_subcommand("path", "The configuration file");
  config->require_subcommand(1);
  app.add_subcommand("version", "Show the version");
  auto* demo = app.add_subcommand("demo", "See three programs share one GPU");
  demo->add_flag("--json", arguments.json, "the result as JSON");
  for (const auto& other : kOwnCommandLines) app.add_subcommand(other.name, other.description);
  app.require_subcommand(1);
}

int Dispatch(const CLI::App& app, const Arguments& arguments, std::vector<std::string> command) {
  if (app.got_subcommand("version")) return ShowVersion();
  const auto* config = app.get_subcommand("config");
  if (config->parsed() && config->got_subcommand("path")) return ShowConfigurationPath();
  if (app.got_subcommand("demo")) return Demo(arguments.json);

  auto configuration = daemon::LoadConfiguration(platform::ProcessEnvironment);
  if (!configuration) return Say(kConfiguration, configuration.error().message);
  for (const auto& [key, value] :
       {std::pair{"gpu_budget", &arguments.gpu_budget},
        std::pair{"host_budget", &arguments.host_budget}, std::pair{"socket", &arguments.socket}}) {
    if (value->empty()) continue;
    const auto added = configuration->AddFlag(key, *value);
    if (!added) return Say(kUsage, added.error().message);
  }
  if (auto checked = configuration->Check(); !checked) {
    return Say(kConfiguration, checked.error().message);
  }
  const daemon::Settings& settings = configuration->settings();
  if (config->parsed()) return ShowConfiguration(*configuration);
  if (app.got_subcommand("status")) return ShowStatus(settings, arguments.json, arguments.watch);
  if (app.got_subcommand("trace")) return WriteTrace(settings, arguments.trace_file);
  if (app.got_subcommand("stop")) return StopDaemon(settings, arguments.force);
  if (command.empty()) {
    return Say(kUsage, "run what? write: reveza run -- COMMAND [ARGUMENTS...]");
  }
  return Run(settings,
             RunOptions{arguments.name, arguments.quiet, arguments.resident, std::move(command)});
}

int Main(int argc, char** argv) {
  for (const auto& command : kOwnCommandLines) {
    if (argc > 1 && std::string_view(argv[1]) == command.name) {
      return command.run(argc - 1, argv + 1);
    }
  }
  std::vector<std::string> command;
  int ours = argc;
  if (argc > 1 && std::string(argv[1]) == "run") {
    ours = CommandBegin(argc, argv);
    const bool dashes = ours < argc && std::string(argv[ours]) == "--";
    command.assign(argv + std::min(argc, ours + (dashes ? 1 : 0)), argv + argc);
  }
  CLI::App app(
      "Programs take turns on one GPU: never slower than one at a time,\n"
      "never out of memory, nothing lost.",
      "reveza");
  app.set_version_flag("--version", "reveza " REVEZA_VERSION);
  app.footer("For example:  reveza run -- python train.py");
  Arguments arguments;
  AddCommands(app, arguments);
  try {
    app.parse(ours, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return SayParseError(app, error);
  }
  return Dispatch(app, arguments, std::move(command));
}

// What was printed and did not arrive is a failure of a command that had none.
int Printed(int argc, char** argv) {
  const auto status = command_line::Guarded([&] { return Main(argc, argv); }, "free some");
  if (status) return *status;
  return Say(std::ferror(stdout) != 0 ? kOutput : kFailed, status.error().message);
}

}  // namespace
}  // namespace reveza::cli

int main(int argc, char** argv) { return reveza::cli::Printed(argc, argv); }
