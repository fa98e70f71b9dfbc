// The commands of `phi`, each defined in NAME_command.cc, and how they declare options.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/cli/command_line.h"
#include "common/cli/completion.h"
#include "phi/series/series_table.h"

namespace reveza::phi {

// Runs a command once the command line has been parsed. Returns the exit status, or the error to
// report; owns the parsed arguments.
using Action = std::function<Result<int>()>;

Action AddBenchCommand(CLI::App& options);
Action AddIitCommand(CLI::App& options);
Action AddMeasureCommand(CLI::App& options);
Action AddPlotCommand(CLI::App& options);
Action AddRunCommand(CLI::App& options);
Action AddTeCommand(CLI::App& options);
Action AddTheoryCommand(CLI::App& options);

// Returns the values that `phi` can complete: columns of a file, measures, networks.
std::vector<command_line::Candidate> CompletionValues(std::string_view kind,
                                                      const command_line::Typed& typed);

// Adds an option with a value of the kind `type`; the help shows the default.
template <typename T>
CLI::Option* AddDefaulted(CLI::App& options, const std::string& name, T& value,
                          const std::string& help, const std::string& type) {
  return AddOption(options, name, value, type, help)->capture_default_str();
}

// Adds the FILE of a time series, its --columns, of which the help says `use`, and --header.
inline void AddSeries(CLI::App& options, std::string& file, ReadOptions& read,
                      const std::string& use) {
  options
      .add_option("FILE", file,
                  "time series with one row per time step (.csv, .tsv, .txt, .npy, .parquet)")
      ->required();
  AddOption(options, "--columns", read.columns, "COLUMN,...",
            use + ", by name or 0-based index; default: all")
      ->delimiter(',');
  options
      .add_option_function<std::string>(
          "--header",
          [&read](const std::string& text) {
            using Header = ReadOptions::Header;
            read.header = text == "yes"  ? Header::kYes
                          : text == "no" ? Header::kNo
                                         : Header::kDetect;
          },
          "whether the first row of a text file has the names of its columns; auto: if it has "
          "text, or counts them above a row of decimals")
      ->type_name("auto|yes|no")
      ->check(CLI::IsMember({"auto", "yes", "no"}));
}

// Adds --missing, by default "refuse".
inline CLI::Option* AddMissing(CLI::App& options, std::string& missing) {
  missing = "refuse";
  return AddOption(
             options, "--missing", missing, "refuse|drop",
             "rows with missing values: refuse the file, or drop them and pair nothing across")
      ->check(CLI::IsMember({"refuse", "drop"}))
      ->capture_default_str();
}

inline int AllCores() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// Adds --threads, by default all cores.
inline void AddThreads(CLI::App& options, int& threads) {
  threads = AllCores();
  AddOption(options, "--threads", threads, "N",
            "worker threads; results do not depend on it; default: all cores")
      ->check(CLI::Range(1, 1024));
}

}  // namespace reveza::phi
