// `reveza usage`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "common/cli/command_line.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/cli/reveza/usage_text.h"

namespace reveza::cli {
namespace {

struct UsageArguments {
  std::string since = "30d";
  std::string by = "job";
  std::string file;
  std::string socket;
  bool json = false;
  bool csv = false;
};

// Returns the file of the running daemon, else that of the configuration.
CommandResult<std::string> UsageFile(const UsageArguments& options) {
  if (!options.file.empty()) return options.file;
  ASSIGN_OR_RETURN(const auto configuration, LoadConfiguration({{"socket", options.socket}}));
  const daemon::Settings& settings = configuration.settings();
  std::string file = settings.usage_file;
  if (auto link = DaemonLink::Connect(SocketPath(settings))) {
    if (const auto status = link->Status()) file = status->value("usage_file", file);
  }
  if (file == "off") {
    return Failure(kUsage, "usage is not recorded: usage_file is off; see `reveza config show`");
  }
  if (!file.empty()) return file;
  const auto path = usage::DefaultFile(platform::ProcessEnvironment);
  if (!path) return Failure(kFailed, "{}", path.error().message);
  return path->string();
}

void DeclareUsage(CLI::App& app, UsageArguments& options) {
  app.description(
      "Show what programs used of the GPUs, by job or user\n\n"
      "Shows what programs used of the GPUs: time, what they waited for, and bytes moved. It is\n"
      "recorded by the hour, with a delay of up to 30 s.");
  AddOption(app, "--since", options.since, "TIME",
            "today, yesterday, monday, 2026-11-20, 2026-11-20T14:30, or how long ago: 12h\n"
            "(default: 30d)");
  AddOption(app, "--by", options.by, "job|user", "one line per job or per user (default: job)")
      ->check(CLI::IsMember({"job", "user"}));
  AddOption(app, "--file", options.file, "FILE",
            "the database to read (default: that of the daemon)");
  AddSocketOption(app, options.socket);
  auto* json = app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--csv", options.csv, "print CSV")->excludes(json);
  app.footer(
      "Examples:\n  reveza usage --since monday\n  reveza usage --by user --csv > usage.csv");
}

}  // namespace

void DescribeUsage(CLI::App& app) {
  DeclareUsage(app, command_line::ArgumentsOwnedBy<UsageArguments>(app));
}

CommandResult<int> UsageCommand(int argc, char** argv) {
  CLI::App app("", "reveza usage");
  UsageArguments options;
  DeclareUsage(app, options);
  if (const auto status = command_line::Parse(kProgram, app, argc, argv)) return *status;

  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto since = ParseSince(options.since, now);
  if (!since) return ReportError(kUsage, "--since: {}", since.error().message);
  ASSIGN_OR_RETURN(const std::string file, UsageFile(options));
  auto store = usage::Store::OpenToRead(file);
  if (!store) return ReportError(kNoUsage, store.error().message);
  const auto jobs = store->Since(std::chrono::floor<std::chrono::hours>(*since));
  if (!jobs) return ReportError(kFailed, "cannot read {}: {}", file, jobs.error().message);

  const bool by_user = options.by == "user";
  std::vector<UsageRow> rows;
  if (by_user) {
    rows = SumByUser(*jobs);
  } else {
    for (const usage::JobUsage& job : *jobs) rows.push_back({.usage = job});
  }
  if (options.json) {
    fmt::print(
        "{}\n",
        UsageJson(rows, by_user).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (options.csv) {
    fmt::print("{}\r\n", UsageCsv(rows, by_user));
  } else {
    fmt::print("{}\n", UsageText(rows, by_user));
  }
  return kDone;
}

}  // namespace reveza::cli
