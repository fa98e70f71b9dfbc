// `phi plot`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace reveza::phi {

std::function<int()> AddPlotCommand(CLI::App& options);

}  // namespace reveza::phi
