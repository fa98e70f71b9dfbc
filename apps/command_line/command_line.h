// What the programs people type do alike on their command lines.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace reveza::command_line {

// "; did you mean '--size'?", of the options and commands that these places have, for a word that
// they do not; empty where none is near. What follows a '=' is not looked at.
std::string DidYouMean(std::string_view word, std::span<const CLI::App* const> places);
std::string DidYouMean(std::string_view word, const CLI::App& place);

// Runs a command of a program and sees that what it printed arrives. The command's status; or,
// where it succeeded and the printing did not, or a library threw: why (kExhausted: no memory, with
// `less` as what to do about it; kInternal: what the library says; else as StandardOutputError).
// Thread-safety: as stdout's.
Result<int> Guarded(const std::function<int()>& command, std::string_view less);

}  // namespace reveza::command_line
