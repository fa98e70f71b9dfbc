#include "command_line/command_line.h"

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

#include "base/exit_status.h"
#include "base/nearest.h"
#include "platform/standard_output.h"

namespace reveza::command_line {

std::string DidYouMean(std::string_view word, std::span<const CLI::App* const> places) {
  std::vector<std::string> owned;
  for (const CLI::App* place : places) {
    for (const auto* option : place->get_options()) {
      for (const auto& name : option->get_lnames()) owned.push_back("--" + name);
    }
    for (const auto* command : place->get_subcommands({})) owned.push_back(command->get_name());
  }
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  return reveza::DidYouMean(word.substr(0, word.find('=')), names);
}

std::string DidYouMean(std::string_view word, const CLI::App& place) {
  const CLI::App* places[] = {&place};
  return DidYouMean(word, places);
}

Result<int> Guarded(const std::function<int()>& command, std::string_view less) {
  try {
    const int status = command();
    const auto flushed = platform::FlushStandardOutput();
    // A command that failed has said why already.
    if (!flushed && status == kDone) return std::unexpected(flushed.error());
    return status;
  } catch (const std::bad_alloc&) {
    return Fail(Error::Code::kExhausted, "not enough memory; " + std::string(less));
  } catch (const std::system_error& error) {
    // So printing says that it failed.
    if (std::ferror(stdout) != 0) {
      return std::unexpected(platform::StandardOutputError(error.code().value()));
    }
    return Fail(Error::Code::kInternal, error.what());
  } catch (const std::exception& error) {
    return Fail(Error::Code::kInternal, error.what());
  }
}

}  // namespace reveza::command_line
