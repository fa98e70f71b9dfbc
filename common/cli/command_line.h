// The frame of main() that the command-line programs share: parsing, error reporting, exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/cli/exit_status.h"
#include "common/cli/translation.h"

namespace reveza {

// Adds an option whose value has the type `type` in the help.
template <typename Value>
CLI::Option* AddOption(CLI::App& app, const std::string& names, Value& value,
                       const std::string& type, const std::string& meaning) {
  return app.add_option(names, value, meaning)->type_name(type);
}

namespace command_line {

struct Program {
  std::string_view name;                         // precedes every error message
  std::string_view memory_hint;                  // what to do when memory is exhausted
  std::span<const Translation> portuguese = {};  // of the help
  // The exit status of an error that ends a command.
  ExitStatus (*status_of)(const Error& error) = [](const Error& error) {
    return StatusOf(error.code);
  };
};

// Makes the arguments of a command that is only described, not run; they live as long as `app`.
template <typename Arguments>
Arguments& ArgumentsOwnedBy(CLI::App& app) {
  auto owned = std::make_shared<Arguments>();
  Arguments& arguments = *owned;
  app.callback([owned] {});
  return arguments;
}

// Declares that the command line of another program follows, which is not for this parser.
void AddCommandWords(CLI::App& app, const std::string& meaning);

// Returns "; did you mean '--size'?" with the option or command of `places` that is nearest to
// `word`, or "" if none is near. A "=VALUE" after the word is ignored.
std::string DidYouMean(std::string_view word, std::span<const CLI::App* const> places);
std::string DidYouMean(std::string_view word, const CLI::App& place);

// Describes a parse error in one line that ends with the --help to read. An unknown option or
// command is named together with the nearest known one.
std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error);

// Returns what --help prints.
std::string HelpText(const Program& program, CLI::App& app);

// Parses the command line. Returns nothing if a command is to be run, else the exit status: kDone
// after printing --help or --version, `usage` after reporting a parse error.
std::optional<int> Parse(const Program& program, CLI::App& app, int argc, char** argv,
                         const std::function<std::string(const CLI::ParseError&)>& describe = {},
                         ExitStatus usage = kUsage);

// Runs a command and flushes standard output. Returns the command's status, or an error if the
// command threw or succeeded without all of its output being written: kExhausted for std::bad_alloc
// (followed by `memory_hint`), kInternal for other exceptions, else as StandardOutputError().
// Not thread-safe: uses stdout.
Result<int> RunGuarded(const std::function<int()>& command, std::string_view memory_hint);

// What main() of every program calls: like RunGuarded(), but reports the error and returns its exit
// status. Reserves standard descriptors that are closed, so that no socket or log gets their
// number.
int Run(const Program& program, const std::function<int()>& command);

}  // namespace command_line
}  // namespace reveza
