// The command `completion` of each program: what shells and packages ask it about itself.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>

#include "common/cli/command_line.h"
#include "common/cli/completion.h"
#include "common/cli/man_page.h"
#include "common/cli/translation.h"

namespace reveza::command_line {

// Adds `completion SHELL` to the commands of a program.
void AddCompletionCommand(CLI::App& app);

// Answers these command lines; returns nothing for others, which are to be parsed as usual.
//
//   PROGRAM completion bash|zsh|fish   prints the script for the shell
//   PROGRAM completion -- WORDS...     completes the last word, for that script
//   PROGRAM completion man             prints the man page, for packages
//   PROGRAM completion messages        prints what a translation has to translate, a line each
//
// The last three are no part of the help. They never report an error.
std::optional<int> AnswerCompletion(CLI::App& app, int argc, char** argv,
                                    const CompletionSource& source, const ManPageInfo& info,
                                    std::span<const Translation> portuguese = {});

}  // namespace reveza::command_line
