// The texts of a CLI::App, which are the help, the man page and the completion.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace reveza::command_line {

// Returns a description up to its first empty line, in one line. A command that has a line in the
// list of commands and a longer description of its own separates them by an empty line.
std::string Summary(std::string_view description);

// Returns the text after the first empty line of a description, else all of it.
std::string_view Details(std::string_view description);

// Shows "--width N" and "FILE" in the help instead of CLI11's "--width N:INT in [40 - 1000]" and
// "FILE TEXT".
void ShortenTypeNames(CLI::App& app);

// Returns the full name of a command: "reveza config show" for the subcommand `show`.
std::string CommandPath(const CLI::App& app);

}  // namespace reveza::command_line
