// `phi bench`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace reveza::phi {

std::function<int()> AddBenchCommand(CLI::App& options);

}  // namespace reveza::phi
