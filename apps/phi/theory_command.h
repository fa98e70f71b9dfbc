// `phi theory`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace reveza::phi {

std::function<int()> AddTheoryCommand(CLI::App& options);

}  // namespace reveza::phi
