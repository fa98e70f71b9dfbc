// `phi iit`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace reveza::phi {

std::function<int()> AddIitCommand(CLI::App& options);

}  // namespace reveza::phi
