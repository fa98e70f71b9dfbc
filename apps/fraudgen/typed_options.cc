#include "typed_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reveza::fraudgen {
namespace {

// By their first long names.
constexpr auto kOfCheck =
    std::to_array<std::string_view>({"json", "quiet", "workers", "s3-endpoint", "s3-region",
                                     "s3-access-key", "s3-secret-key", "s3-profile"});
constexpr auto kOfReport = std::to_array<std::string_view>({"output", "quiet", "workers"});
constexpr auto kOfFilesOnly = std::to_array<std::string_view>(
    {"output", "table", "compression", "compression-level", "file-rows", "partition", "s3-region",
     "s3-access-key", "s3-secret-key", "s3-profile", "s3-endpoint", "no-date-partition"});

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

std::string_view NameOf(const CLI::Option& option) {
  return option.get_lnames().empty() ? std::string_view() : option.get_lnames().front();
}

bool IsIn(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Status CheckValues(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || std::ranges::none_of(option->results(), &std::string::empty)) {
      continue;
    }
    return Wrong(
        fmt::format("--{}: its value is empty; write one, or leave it away", NameOf(*option)));
  }
  return {};
}

Status CheckCommand(const CLI::App& app, std::string_view command) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string_view name = NameOf(*option);
    if (option->count() == 0 || name == "help") continue;
    if (command == "stream" && IsIn(kOfFilesOnly, name)) {
      return Wrong(fmt::format("--{} is for files; a stream goes to its --target", name));
    }
    if ((command == "check" && !IsIn(kOfCheck, name)) ||
        (command == "report" && !IsIn(kOfReport, name))) {
      return Wrong(
          fmt::format("--{} changes nothing in a {}, which goes by what the data set says "
                      "of itself; leave it away",
                      name, command));
    }
  }
  return {};
}

}  // namespace

Status CheckTyped(const CLI::App& app) {
  if (auto values = CheckValues(app); !values) return values;
  for (const CLI::App* command : app.get_subcommands()) {
    if (auto values = CheckValues(*command); !values) return values;
    if (auto fits = CheckCommand(app, command->get_name()); !fits) return fits;
  }
  return {};
}

}  // namespace reveza::fraudgen
