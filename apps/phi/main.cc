// `phi`: integration cycles and measures of integrated information. This file is its table of
// commands only.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench_command.h"
#include "command.h"
#include "command_line/command_line.h"
#include "exit_status.h"
#include "iit_command.h"
#include "measure_command.h"
#include "platform/standard_output.h"
#include "plot_command.h"
#include "run_command.h"
#include "te_command.h"
#include "theory_command.h"
#include "version_command.h"

namespace reveza::phi {
namespace {

constexpr std::array<Command, 8> kCommands = {{
    {"bench", "Say how fast cycles are here, beside what bounds them", AddBenchCommand},
    {"iit", "Integrated information (IIT 3.0) of a small network of binary nodes", AddIitCommand},
    {"measure", "How integrated a time series is, by established measures", AddMeasureCommand},
    {"plot", "Draw measures over time, the matrix of pairs and the minimum partition",
     AddPlotCommand},
    {"run", "Run the cycles, measure them, and keep what they give", AddRunCommand},
    {"te", "Transfer entropy between the columns of a series, by counting symbols", AddTeCommand},
    {"theory", "The same measures of a model: its coupling matrix and the covariance of its noise",
     AddTheoryCommand},
    {"version", "Show the version and what this machine is computed on", AddVersionCommand},
}};

int SayParseError(const CLI::App& app, const CLI::ParseError& error) {
  const auto words = app.remaining(true);
  if (words.empty()) return Say(kUsage, fmt::format("{}; see phi --help", error.what()));
  const bool option = words.front().starts_with('-');
  std::vector<const CLI::App*> places = {&app};
  if (!app.get_subcommands().empty()) places = {app.get_subcommands().front()};
  return Say(kUsage, fmt::format("unknown {} '{}'{}; see phi --help", option ? "option" : "command",
                                 words.front(), command_line::DidYouMean(words.front(), places)));
}

int Ended(const std::function<int()>& command) {
  const auto status =
      command_line::Guarded(command, "take less at once: fewer --threads, runs or variables");
  return status ? *status : Say(status.error());
}

int Main(int argc, char** argv) {
  CLI::App app("Coupled modules that run in cycles, and how integrated they are.", "phi");
  app.set_version_flag("-v,--version", "phi " REVEZA_VERSION);
  app.require_subcommand(1);
  std::vector<std::function<int()>> runs;
  for (const Command& command : kCommands) {
    CLI::App* options = app.add_subcommand(std::string(command.name), std::string(command.summary));
    runs.push_back(command.add(*options));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return Ended([&] { return app.exit(error); });
    return SayParseError(app, error);
  }
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    if (app.got_subcommand(std::string(kCommands[i].name))) return Ended(runs[i]);
  }
  return kUsage;
}

}  // namespace
}  // namespace reveza::phi

int main(int argc, char** argv) {
  reveza::platform::HoldStandardPlaces();
  return reveza::phi::Main(argc, argv);
}
