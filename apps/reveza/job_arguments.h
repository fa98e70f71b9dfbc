// The command line of `reveza jobs run [OPTIONS] [-- COMMAND... ::: NAME VALUES...]`: what is to be
// run, and how. Reads it and the files that it names; runs nothing.
// Thread-safety: pure functions of their arguments, files and standard input.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "runner/job.h"
#include "runner/run_request.h"

namespace reveza::cli {

// What the command line is read against. What is absent is not known, and bounds nothing.
struct Surroundings {
  std::filesystem::path folder;  // absolute: where relative names begin
  std::function<Result<std::string>()> standard_input;
  std::optional<double> cores;
  std::optional<Bytes> memory;
  std::optional<Bytes> gpu_memory;  // of the largest GPU
};
Surroundings ThisMachine();

struct ParsedRun {
  runner::Job job;  // checked: every step can be expanded; it has a name
  runner::RunRequest request;
  bool named = false;              // whether somebody chose the name
  std::vector<std::string> notes;  // what is allowed, but perhaps not meant: a line each
  std::string help;                // not empty: it is this that was asked for, and nothing else
};

// `argv[0]` is the word before the options ("run"). kInvalidArgument, kNotFound, kPermission: one
// line that says what is wrong, where, and what would be right.
Result<ParsedRun> ParseRun(int argc, char** argv);
Result<ParsedRun> ParseRun(int argc, char** argv, const Surroundings& surroundings);

}  // namespace reveza::cli
