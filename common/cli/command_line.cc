#include "common/cli/command_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

#include "common/base/nearest.h"
#include "common/cli/help_text.h"
#include "common/platform/runtime_paths.h"
#include "common/platform/standard_output.h"

namespace reveza::command_line {
namespace {

std::optional<std::string> DescribeUnknownWord(const CLI::App& app) {
  for (const auto* command : app.get_subcommands()) {
    if (auto inner = DescribeUnknownWord(*command)) return inner;
  }
  const auto words = app.remaining();
  if (words.empty()) return std::nullopt;
  const char* what = words.front().starts_with('-')    ? "unknown option"
                     : app.get_subcommands({}).empty() ? "unexpected argument"
                                                       : "unknown command";
  return fmt::format("{} '{}'{}; see {} --help", what, words.front(),
                     DidYouMean(words.front(), app), CommandPath(app));
}

}  // namespace

void AddCommandWords(CLI::App& app, const std::string& meaning) {
  const auto refuse = [&app](const std::string& word) {
    return fmt::format("unknown command '{}'{}; a program follows --", word, DidYouMean(word, app));
  };
  app.add_option("COMMAND", meaning)->expected(0, -1)->check(refuse);
}

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

std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (auto unknown = DescribeUnknownWord(app)) return *std::move(unknown);
  return fmt::format("{}; see {} --help", error.what(), CommandPath(app));
}

std::string HelpText(const Program& program, CLI::App& app) {
  ShortenTypeNames(app);
  // The command whose help was requested.
  CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  command->description(std::string(Details(command->get_description())));
  for (CLI::App* inner : command->get_subcommands({})) {
    inner->description(Summary(inner->get_description()));
  }
  if (IsPortuguese(platform::ProcessEnvironment)) {
    TranslateToPortuguese(app, program.portuguese);
  }
  return app.help();
}

std::optional<int> Parse(const Program& program, CLI::App& app, int argc, char** argv,
                         const std::function<std::string(const CLI::ParseError&)>& describe,
                         ExitStatus usage) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      return PrintError(program.name, usage,
                        describe ? describe(error) : DescribeParseError(app, error));
    }
    std::string text = fmt::format("{}\n", error.what());  // the version
    if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) text = HelpText(program, app);
    const auto written = platform::WriteStandardOutput(text);
    if (written) return kDone;
    return PrintError(program.name, program.status_of(written.error()), written.error().message);
  }
}

Result<int> RunGuarded(const std::function<int()>& command, std::string_view memory_hint) {
  try {
    const int status = command();
    const auto flushed = platform::FlushStandardOutput();
    // A command that failed has reported its error already.
    if (!flushed && status == kDone) return std::unexpected(flushed.error());
    return status;
  } catch (const std::bad_alloc&) {
    return Fail(Error::Code::kExhausted, "not enough memory; {}", memory_hint);
  } catch (const std::system_error& error) {
    // fmt::print() throws this on a write error.
    if (std::ferror(stdout) != 0) {
      return std::unexpected(platform::StandardOutputError(error.code().value()));
    }
    return Fail(Error::Code::kInternal, error.what());
  } catch (const std::exception& error) {
    return Fail(Error::Code::kInternal, error.what());
  }
}

int Run(const Program& program, const std::function<int()>& command) {
  platform::ReserveStandardDescriptors();
  const auto status = RunGuarded(command, program.memory_hint);
  if (status) return *status;
  return PrintError(program.name, program.status_of(status.error()), status.error().message);
}

}  // namespace reveza::command_line
