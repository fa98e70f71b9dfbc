// What was typed and no command can mean. Pure functions of the command line.
#pragma once

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace reveza::fraudgen {

// Options without a value, as an empty variable of a shell leaves them, and options that the
// command would not look at. An error (kInvalidArgument) names the option.
Status CheckTyped(const CLI::App& app);

}  // namespace reveza::fraudgen
