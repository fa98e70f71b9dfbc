// `phi`: integration cycles and measures of integrated information. This file holds only the table
// of commands.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <vector>

#include "common/cli/arrow_variant.h"
#include "common/cli/command_line.h"
#include "common/cli/introspection.h"
#include "common/version/version.h"
#include "phi/arithmetic/processor.h"
#include "phi/cli/commands.h"

namespace reveza::phi {
namespace {

Action AddVersionCommand(CLI::App& options) {
  options.footer("Example:\n  phi version");
  return [] {
    fmt::print("phi {}\nprocessor: {}\n", REVEZA_VERSION, NameOf(SupportedInstructions()));
    return kDone;
  };
}

struct Command {
  std::string name;
  std::string summary;  // shown in `phi --help`
  Action (*add)(CLI::App& options);
};

// In pt_BR.po.
constexpr command_line::Translation kPortuguese[] = {
#include "generated/phi/cli/pt_br.inc"
};

constexpr command_line::Program kProgram = {
    .name = "phi", .memory_hint = "reduce --threads, runs or variables", .portuguese = kPortuguese};

int Main(int argc, char** argv) {
  CLI::App app("Simulates integration cycles and measures integrated information.", "phi");
  app.set_version_flag("-v,--version", version::Text("phi"));
  app.require_subcommand(1);
  const std::array<Command, 8> commands = {{
      {"bench", "Benchmark cycles against the hardware's limits", AddBenchCommand},
      {"iit", "Compute integrated information (IIT 3.0, 4.0) of a network of binary nodes",
       AddIitCommand},
      {"measure", "Measure integrated information in a time series", AddMeasureCommand},
      {"plot", "Plot measures over time, transfer entropy and the minimum partition",
       AddPlotCommand},
      {"run", "Simulate integration cycles, measure them and save the results", AddRunCommand},
      {"te", "Compute transfer entropy between columns of a time series", AddTeCommand},
      {"theory", "Compute the measures of a linear model from its matrices", AddTheoryCommand},
      {"version", "Show the version and the instruction set in use", AddVersionCommand},
  }};
  std::vector<Action> actions;
  for (const Command& command : commands) {
    actions.push_back(command.add(*app.add_subcommand(command.name, command.summary)));
  }
  command_line::AddCompletionCommand(app);
  // Last, because commands inherit it.
  app.footer(
      "Examples:\n"
      "  phi measure eeg.csv --columns Fz,Cz,Pz --mip exhaustive --surrogates 199\n"
      "  phi run --cycles 500 --runs 256 --measure si,phi_g -o results/\n"
      "Run `phi COMMAND --help` for the options of a command.");
  if (const auto status = command_line::AnswerCompletion(
          app, argc, argv, {.values = CompletionValues, .accepts = {}},
          {.version = REVEZA_VERSION, .see_also = "reveza(1)"}, kPortuguese)) {
    return *status;
  }
  if (const auto status = command_line::Parse(kProgram, app, argc, argv)) return *status;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!app.got_subcommand(commands[i].name)) continue;
    const Result<int> status = actions[i]();
    if (status) return *status;
    return PrintError("phi", StatusOf(status.error().code), status.error().message);
  }
  return kUsage;
}

}  // namespace
}  // namespace reveza::phi

int main(int argc, char** argv) {
  reveza::command_line::UseArrowVariant("phi", argv);
  return reveza::command_line::Run(reveza::phi::kProgram,
                                   [=] { return reveza::phi::Main(argc, argv); });
}
