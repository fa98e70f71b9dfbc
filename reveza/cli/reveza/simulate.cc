// `reveza simulate`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "common/base/read_file.h"
#include "common/base/units.h"
#include "common/cli/command_line.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/cli/reveza/simulate_text.h"
#include "reveza/gpu/simulator/simulation.h"
#include "reveza/gpu/simulator/trace_file.h"

namespace reveza::cli {
namespace {

struct SimulateArguments {
  std::string file;
  std::vector<std::string> changes;
  std::string until = "24h";
  std::string trace;
  bool json = false;
};

CommandResult<simulator::WorldFile> LoadWorld(const SimulateArguments& options) {
  const auto text = ReadFile(options.file);
  if (!text) return Failure(kUsage, "{}", text.error().message);
  // A trace is JSON.
  const std::size_t first = text->find_first_not_of(" \t\r\n");
  const bool is_trace = first != std::string::npos && (*text)[first] == '{';
  auto world = is_trace ? simulator::ParseTrace(*text, options.file)
                        : simulator::ParseWorldFile(*text, options.file);
  if (!world) return Failure(kUsage, "{}", world.error().message);
  for (const std::string& change : options.changes) {
    if (const auto changed = simulator::ChangeWorld(*world, change); !changed) {
      return Failure(kUsage, "--set: {}", changed.error().message);
    }
  }
  if (const auto valid = simulator::ValidateWorld(*world); !valid) {
    return Failure(kUsage, "{}: {}", options.file, valid.error().message);
  }
  return *std::move(world);
}

void DeclareSimulate(CLI::App& app, SimulateArguments& options) {
  app.description(
      "Predict how jobs would share cards, with the daemon's scheduler\n\n"
      "Plays jobs on cards that need not exist, with the daemon's own scheduler, and shows when "
      "each\n"
      "would end, what it would wait for, and how many bytes would move.");
  app.add_option("FILE", options.file,
                 "cards and jobs, as TOML (docs/simulate.md), or what `reveza trace` wrote")
      ->required();
  AddOption(app, "--set", options.changes, "KEY=VALUE",
            "change a value of the file, e.g. gpu_budget=24GiB or train.weight=2; repeatable")
      ->allow_extra_args(false);
  AddOption(app, "--until", options.until, "TIME", "when to stop (default: 24h)");
  AddOption(app, "--trace", options.trace, "FILE",
            "write the time line of the first node for Perfetto");
  app.add_flag("--json", options.json, "print JSON, with all jobs");
  app.footer("Example:\n  reveza simulate examples/simulate/one_card.toml --set gpu_budget=48GiB");
}

}  // namespace

void DescribeSimulate(CLI::App& app) {
  DeclareSimulate(app, command_line::ArgumentsOwnedBy<SimulateArguments>(app));
}

CommandResult<int> SimulateCommand(int argc, char** argv) {
  CLI::App app("", "reveza simulate");
  SimulateArguments options;
  DeclareSimulate(app, options);
  if (const auto status = command_line::Parse(kProgram, app, argc, argv)) return *status;
  const auto until = ParseDuration(options.until);
  if (!until) return ReportError(kUsage, "--until: {}", until.error().message);
  ASSIGN_OR_RETURN(const auto world, LoadWorld(options));

  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const simulator::Simulation simulation = simulator::Simulate(world, *until, threads);
  if (!options.trace.empty()) {
    std::ofstream out(options.trace);
    out << SimulationTrace(simulation) << '\n';
    out.close();
    if (!out) return ReportError(kOutput, "cannot write {}; choose a writable path", options.trace);
  }
  if (options.json) {
    fmt::print(
        "{}\n",
        SimulationJson(simulation).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}\n{}\n", SimulationPicture(simulation), SimulationText(simulation));
  }
  return kDone;
}

}  // namespace reveza::cli
