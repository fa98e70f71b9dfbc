// A command of `phi`: its name, and how it adds its options to the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

namespace reveza::phi {

struct Command {
  std::string_view name;
  std::string_view summary;  // one line of `phi --help`
  // Adds the options and returns what runs the command once the line is read; it gives the exit
  // status (exit_status.h). What the options are read into lives as long as what is returned.
  std::function<int()> (*add)(CLI::App& options);
};

}  // namespace reveza::phi
