// `phi measure`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace reveza::phi {

std::function<int()> AddMeasureCommand(CLI::App& options);

}  // namespace reveza::phi
