#include "common/cli/help_text.h"

#include <algorithm>

namespace reveza::command_line {

std::string Summary(std::string_view description) {
  std::string summary(description.substr(0, description.find("\n\n")));
  std::ranges::replace(summary, '\n', ' ');
  return summary;
}

std::string_view Details(std::string_view description) {
  const std::size_t empty_line = description.find("\n\n");
  return empty_line == std::string_view::npos ? description : description.substr(empty_line + 2);
}

void ShortenTypeNames(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    try {
      for (int i = 0;; ++i) option->get_validator(i)->description("");
    } catch (const CLI::OptionNotFound&) {  // no more validators
    }
    if (option->get_positional()) option->type_name("");
  }
  for (CLI::App* command : app.get_subcommands({})) ShortenTypeNames(*command);
}

std::string CommandPath(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : CommandPath(*parent) + " " + app.get_name();
}

}  // namespace reveza::command_line
