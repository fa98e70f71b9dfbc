// `phi te`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace reveza::phi {

std::function<int()> AddTeCommand(CLI::App& options);

}  // namespace reveza::phi
