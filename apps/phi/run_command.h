// `phi run`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace reveza::phi {

std::function<int()> AddRunCommand(CLI::App& options);

}  // namespace reveza::phi
