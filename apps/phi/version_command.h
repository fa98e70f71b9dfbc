// `phi version`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace reveza::phi {

std::function<int()> AddVersionCommand(CLI::App& options);

}  // namespace reveza::phi
