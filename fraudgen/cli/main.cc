// The command line of `fraudgen`, a generator of synthetic Brazilian bank and ride data with
// labelled fraud.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <expected>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "common/cli/arrow_variant.h"
#include "common/cli/command_line.h"
#include "common/cli/introspection.h"
#include "common/platform/text_file.h"
#include "common/version/version.h"
#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/options.h"

namespace reveza::fraudgen::cli {
namespace {

constexpr int kMaxThreads = 1024;

std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error) {
  const auto words = app.remaining(true);
  if (words.empty()) {
    // The only options that CLI11 converts are counts.
    const bool count = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
    return fmt::format("{}{}; see fraudgen --help", error.what(),
                       count ? "; expected a whole number" : "");
  }
  for (const CLI::App* other : app.get_subcommands({})) {
    if (other->get_name() != words.front()) continue;
    return fmt::format("only one command is allowed, '{}' is a second one", words.front());
  }
  return command_line::DescribeParseError(app, error);
}

// An error that was reported already; the exit status.
using Reported = std::unexpected<int>;

std::expected<Settings, int> ReadSettings(const CommandLine& typed) {
  SettingsBuilder builder;
  if (!typed.config.empty()) {
    const auto text = platform::ReadText(typed.config);
    if (!text) {
      std::error_code ignored;
      const bool folder = std::filesystem::is_directory(typed.config, ignored);
      return Reported(ReportError(
          kConfiguration,
          folder ? fmt::format("the configuration {} is a folder; choose a file", typed.config)
                 : fmt::format("cannot read the configuration {0}; `fraudgen config > {0}` creates "
                               "one",
                               typed.config)));
    }
    if (auto added = builder.AddText(*text, typed.config); !added) {
      return Reported(ReportError(kConfiguration, added.error().message));
    }
  }
  for (const std::string& file : typed.scenarios) {
    const auto text = platform::ReadText(file);
    if (!text) {
      return Reported(
          ReportError(kConfiguration,
                      fmt::format("cannot read the scenario {0}; `fraudgen scenarios NAME > {0}` "
                                  "prints one to start from",
                                  file)));
    }
    if (auto added = builder.AddScenario(*text, file); !added) {
      return Reported(ReportError(kConfiguration, added.error().message));
    }
  }
  for (const auto& [key, value] : typed.settings) {
    if (value.empty()) continue;
    if (auto added = builder.AddFlag(key, value); !added) {
      return Reported(ReportError(kUsage, added.error().message));
    }
  }
  auto settings = builder.Build();
  if (!settings) return Reported(ReportError(kUsage, settings.error().message));
  return *std::move(settings);
}

// Resolves the command line, the configuration file and defaults.
std::expected<RunArguments, int> Resolve(const CLI::App& app, const CommandLine& typed) {
  RunArguments arguments;
  auto settings = ReadSettings(typed);
  if (!settings) return Reported(settings.error());
  arguments.settings = *std::move(settings);
  if (!typed.shard.empty()) {
    const auto shard = ParseShard(typed.shard);
    if (!shard) return Reported(ReportError(kUsage, "--shard: " + shard.error().message));
    arguments.shard = *shard;
  }
  if (typed.threads < 1 || typed.threads > kMaxThreads) {
    return Reported(ReportError(kUsage, fmt::format("--threads: {} is invalid; expected 1 to {}",
                                                    typed.threads, kMaxThreads)));
  }
  const bool page = app.got_subcommand("report") || app.got_subcommand("demo");
  const std::string default_output = app.got_subcommand("bench") ? "bench.html"
                                     : page                      ? "report.html"
                                                                 : "output";
  arguments.output = typed.output.empty() ? default_output : typed.output;
  arguments.table = typed.table;
  arguments.store = typed.store;
  arguments.date_partition = typed.date_partition;
  const auto format = typed.settings.find("format");
  arguments.has_format = format != typed.settings.end() && !format->second.empty();
  arguments.threads = typed.threads;
  arguments.quiet = typed.quiet;
  arguments.json = typed.json;
  return arguments;
}

std::string_view NameOf(const CLI::Option& option) {
  return option.get_lnames().empty() ? std::string_view() : option.get_lnames().front();
}

Status CheckValues(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || std::ranges::none_of(option->results(), &std::string::empty)) {
      continue;
    }
    return InvalidArgument("--{}: empty value; give a value or remove the option", NameOf(*option));
  }
  return {};
}

Status CheckCommand(const CLI::App& app, std::string_view command) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string_view name = NameOf(*option);
    if (option->count() == 0 || name == "help" || Accepts(command, name)) continue;
    if (command == "stream") {
      return InvalidArgument("--{} applies to files, not to streams", name);
    }
    if (command == "check --sql" || command == "bench") {
      return InvalidArgument("--{} has no effect on {}", name, command);
    }
    return InvalidArgument(
        "--{} has no effect on {}, which uses the settings stored with the data set; remove it",
        name, command);
  }
  return {};
}

// Rejects options with an empty value, such as an unset shell variable, and options that the
// command ignores.
Status CheckTyped(const CLI::App& app, const CommandLine& typed) {
  RETURN_IF_ERROR(CheckValues(app));
  for (const CLI::App* command : app.get_subcommands()) {
    RETURN_IF_ERROR(CheckValues(*command));
    RETURN_IF_ERROR(CheckCommand(app, typed.sql ? "check --sql" : command->get_name()));
  }
  if (app.got_subcommand("check") && typed.checked.empty() != typed.sql) {
    return InvalidArgument("check requires either PLACE, a folder or s3://bucket/prefix, or --sql");
  }
  return {};
}

int Dispatch(const CLI::App& app, const CommandLine& typed) {
  if (auto checked = CheckTyped(app, typed); !checked) return ReportError(checked.error());
  if (app.got_subcommand("version")) return ShowVersion();
  if (app.got_subcommand("schema")) return ShowSchema();
  if (app.got_subcommand("scenarios")) return ShowScenarios(typed.scenario);
  const auto arguments = Resolve(app, typed);
  if (!arguments) return arguments.error();
  if (typed.sql) return ShowSqlRules(*arguments);
  if (app.got_subcommand("check")) return CheckData(*arguments, typed.checked);
  if (app.got_subcommand("report")) return WriteReport(*arguments, typed.reported, typed.language);
  if (app.got_subcommand("bench")) return Bench(*arguments, typed.bench);
  if (app.got_subcommand("demo")) return Demo(*arguments);
  if (app.got_subcommand("config")) return ShowConfiguration(*arguments);
  if (app.got_subcommand("plan")) return ShowPlan(*arguments);
  if (app.got_subcommand("sample")) return ShowSample(*arguments);
  if (app.got_subcommand("stream")) return Stream(*arguments, typed.stream);
  return Generate(*arguments);
}

int ShowHelp(const CLI::App& app) {
  fmt::print("{}", app.help());
  return kDone;
}

// In pt_BR.po.
constexpr command_line::Translation kPortuguese[] = {
#include "generated/fraudgen/cli/pt_br.inc"
};

constexpr command_line::Program kProgram = {
    .name = "fraudgen", .memory_hint = "reduce --threads", .portuguese = kPortuguese};

int Main(int argc, char** argv) {
  CLI::App app("", "fraudgen");
  app.set_version_flag("-v,--version", version::Text("fraudgen"));
  CommandLine typed;
  AddAll(app, typed);
  if (const auto status = command_line::AnswerCompletion(
          app, argc, argv, CompletionValues(), {.version = REVEZA_VERSION, .see_also = "reveza(1)"},
          kPortuguese)) {
    return *status;
  }
  const auto describe = [&](const CLI::ParseError& error) {
    return DescribeParseError(app, error);
  };
  if (const auto status = command_line::Parse(kProgram, app, argc, argv, describe)) return *status;
  if (argc == 1) return ShowHelp(app);
  return Dispatch(app, typed);
}

}  // namespace
}  // namespace reveza::fraudgen::cli

int main(int argc, char** argv) {
  reveza::command_line::UseArrowVariant("fraudgen", argv);
  // Exceeding RLIMIT_FSIZE is reported as a write error.
  std::signal(SIGXFSZ, SIG_IGN);
  return reveza::command_line::Run(reveza::fraudgen::cli::kProgram,
                                   [=] { return reveza::fraudgen::cli::Main(argc, argv); });
}
