#include "top_command.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "command_line/command_line.h"
#include "daemon/settings.h"
#include "exit_status.h"
#include "live_sources.h"
#include "monitor/collector.h"
#include "monitor/history.h"
#include "monitor/json_view.h"
#include "monitor/screen.h"
#include "platform/runtime_paths.h"
#include "top_terminal.h"

namespace reveza::cli {
namespace {

// What was used since can only be told of two looks.
constexpr std::chrono::milliseconds kBetweenTwoLooks{250};

struct TopArguments {
  std::string socket, sort = "order", filter;
  bool once = false, json = false, csv = false, loop = false;
  bool flat = false, reverse = false, ascii = false;
  double interval = 1;
  std::uint64_t count = 0;  // 0: until it is ended
  int width = 0;            // 0: the terminal's
};

void AddOptions(CLI::App& app, TopArguments& arguments) {
  app.add_flag("--once", arguments.once, "one picture as text, then end");
  app.add_flag("--json", arguments.json, "one snapshot as JSON, then end");
  app.add_flag("--csv", arguments.csv, "one table as CSV, then end");
  app.add_flag("--loop", arguments.loop,
               "again and again: a line of JSON each time, with --csv rows");
  app.add_option("--interval", arguments.interval, "seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--count", arguments.count, "with --loop: end after so many");
  app.add_option("--sort", arguments.sort,
                 "order, pid, name, state, cpu, memory, peak, claim, threads, gpu or swapped");
  app.add_flag("--reverse", arguments.reverse, "the other way round");
  app.add_option("--filter", arguments.filter, "only what has these letters");
  app.add_flag("--flat", arguments.flat, "all alike, not as a tree");
  app.add_flag("--ascii", arguments.ascii, "no letters beyond ASCII");
  app.add_option("--width", arguments.width, "cells of a line")->check(CLI::Range(40, 1000));
  app.add_option("--socket", arguments.socket, "the daemon's socket");
}

std::optional<monitor::Column> ColumnOf(std::string_view name) {
  for (int i = 0; i < monitor::kColumns; ++i) {
    const auto column = static_cast<monitor::Column>(i);
    if (monitor::ToText(column) == name) return column;
  }
  return std::nullopt;
}

int TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 80;
}

// Whether the terminal shows more than ASCII.
bool IsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const auto value = platform::ProcessEnvironment(name)) {
      return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos;
    }
  }
  return false;
}

std::string Picture(const monitor::Snapshot& snapshot, const TopArguments& arguments,
                    const monitor::ViewState& state) {
  const monitor::History history;  // of one picture there is none
  const int width = arguments.width > 0 ? arguments.width : TerminalWidth();
  const monitor::ScreenSize size{width, 0, !arguments.ascii && IsUtf8()};
  std::string text;
  for (const auto& line : monitor::Draw(snapshot, history, size, state)) {
    text += monitor::ToUtf8(line) + "\n";
  }
  return text;
}

int Print(const std::string& text) {
  fmt::print("{}", text);
  return std::fflush(stdout) == 0 ? kDone : kOutput;
}

int Loop(monitor::Collector& collector, const TopArguments& arguments) {
  const auto step = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(arguments.interval));
  if (arguments.csv && Print(monitor::CsvHeading()) != kDone) return kOutput;
  collector.Collect();
  auto next = std::chrono::steady_clock::now();
  for (std::uint64_t shown = 0; arguments.count == 0 || shown < arguments.count; ++shown) {
    next += step;
    std::this_thread::sleep_until(next);
    const auto snapshot = collector.Collect();
    const std::string text = arguments.csv
                                 ? monitor::CsvRows(snapshot)
                                 : monitor::ToJson(snapshot).dump(
                                       -1, ' ', false, nlohmann::json::error_handler_t::replace) +
                                       "\n";
    if (Print(text) != kDone) return kOutput;
  }
  return kDone;
}

int Once(monitor::Collector& collector, const TopArguments& arguments,
         const monitor::ViewState& state) {
  collector.Collect();
  std::this_thread::sleep_for(kBetweenTwoLooks);
  const auto snapshot = collector.Collect();
  if (arguments.json) {
    return Print(
        monitor::ToJson(snapshot).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
        "\n");
  }
  if (arguments.csv) return Print(monitor::CsvHeading() + monitor::CsvRows(snapshot));
  return Print(Picture(snapshot, arguments, state));
}

int Show(const TopArguments& arguments, const daemon::Settings& settings) {
  monitor::ViewState state;
  state.arrangement.filter = arguments.filter;
  state.arrangement.tree = !arguments.flat;
  state.arrangement.reverse = arguments.reverse;
  const auto column = ColumnOf(arguments.sort);
  if (!column) {
    return Say(kUsage, fmt::format("there is no column '{}' to sort by; see reveza top --help",
                                   arguments.sort));
  }
  state.arrangement.sort = *column;
  LiveSources live(settings);
  monitor::Collector collector(live.sources());
  if (arguments.loop) return Loop(collector, arguments);
  const bool for_people = !arguments.once && !arguments.json && !arguments.csv;
  if (for_people && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
    const std::chrono::duration<double> interval(arguments.interval);
    return ShowLive(collector, state,
                    std::chrono::duration_cast<std::chrono::milliseconds>(interval),
                    arguments.ascii);
  }
  return Once(collector, arguments, state);
}

}  // namespace

int Top(int argc, char** argv) {
  CLI::App app("Machine, GPUs, programs that share them, and jobs: live, or once.", "reveza top");
  app.allow_extras();
  TopArguments arguments;
  AddOptions(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Say(kUsage, fmt::format("{}; see reveza top --help", error.what()));
  }
  if (const auto words = app.remaining(); !words.empty()) {
    return Say(kUsage, fmt::format("unknown option '{}'{}; see reveza top --help", words.front(),
                                   command_line::DidYouMean(words.front(), app)));
  }
  if (arguments.json && arguments.csv) {
    return Say(kUsage, "--json and --csv do not go together; choose one");
  }
  auto configuration = daemon::LoadConfiguration(platform::ProcessEnvironment);
  if (!configuration) return Say(kConfiguration, configuration.error().message);
  if (!arguments.socket.empty()) {
    const auto added = configuration->AddFlag("socket", arguments.socket);
    if (!added) return Say(kUsage, added.error().message);
  }
  if (auto checked = configuration->Check(); !checked) {
    return Say(kConfiguration, checked.error().message);
  }
  return Show(arguments, configuration->settings());
}

}  // namespace reveza::cli
