// Parses the command line of `reveza jobs run [OPTIONS] [-- COMMAND... ::: NAME VALUES...]` and the
// files that it names. Runs nothing; pure functions of arguments, files and standard input.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "reveza/cli/reveza/jobs/job_options.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/run_request.h"

namespace reveza::cli {

// What the command line is checked against. A resource that is absent is unknown and not checked.
struct Surroundings {
  std::filesystem::path folder;  // absolute; relative paths are resolved against it
  std::function<Result<std::string>()> standard_input;
  std::optional<double> cores;
  std::optional<Bytes> memory;
  std::optional<Bytes> gpu_memory;  // of the largest GPU
};
Surroundings ThisMachine();

struct ParsedRun {
  jobs::Job job;  // valid: has a name, and every step can be expanded
  jobs::RunRequest request;
  bool named = false;              // the name was given, not derived from the command
  int options_end = 0;             // index of the first word after the options
  std::vector<std::string> notes;  // warnings, a line each
  std::string help;                // set if --help was given; the rest is then empty
};

// Declares the command line of `reveza jobs run`.
void DescribeRun(CLI::App& app, JobOptions& options);

// argv[0] is the command's name ("run"). kInvalidArgument for invalid arguments or files, kNotFound
// and kPermission for files that cannot be read.
Result<ParsedRun> ParseRun(int argc, char** argv);
Result<ParsedRun> ParseRun(int argc, char** argv, const Surroundings& surroundings);

}  // namespace reveza::cli
