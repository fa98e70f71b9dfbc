// The man page of a program, from the texts of its CLI::App.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace reveza::command_line {

struct ManPageInfo {
  int section = 1;
  std::string_view version;
  std::string_view see_also = {};  // other pages, such as "revezad(8)"
};

// Returns the page in the language of man(7): the program, then each of its commands.
std::string ManPage(const CLI::App& root, const ManPageInfo& info);

}  // namespace reveza::command_line
