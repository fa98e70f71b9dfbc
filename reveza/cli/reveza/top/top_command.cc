#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/json_text.h"
#include "common/cli/command_line.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/cli/reveza/top/live_sources.h"
#include "reveza/gpu/daemon/settings.h"
#include "reveza/insight/monitor/collector.h"
#include "reveza/insight/monitor/job_sockets.h"
#include "reveza/insight/monitor/json_view.h"
#include "reveza/insight/monitor/rows.h"
#include "reveza/insight/monitor/screen.h"

// Otherwise its function names would be macros.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <ncurses.h>

namespace reveza::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Rates need two samples.
constexpr milliseconds kSampleInterval{250};

struct TopArguments {
  std::vector<std::string> sockets;
  std::string sort = "order", filter;
  bool once = false, json = false, csv = false, loop = false;
  bool flat = false, reverse = false, ascii = false;
  double interval = 1;
  std::uint64_t count = 0;  // 0: unlimited
  int width = 0;            // 0: that of the terminal
};

void DeclareTop(CLI::App& app, TopArguments& arguments) {
  app.description(
      "Show the machine, GPUs, programs and jobs live\n\n"
      "Shows the machine, its GPUs, the programs that share them and running jobs: live in a\n"
      "terminal, else once.");
  app.footer(
      "Keys: ? lists them.\n\n"
      "Examples:\n"
      "  reveza top --sort memory\n"
      "  reveza top --loop --interval 10 >> log.jsonl");
  app.add_flag("--once", arguments.once, "print one screen as text and exit");
  app.add_flag("--json", arguments.json, "print one snapshot as JSON and exit");
  app.add_flag("--csv", arguments.csv, "print one table as CSV and exit");
  app.add_flag("--loop", arguments.loop, "print a line of JSON per interval (with --csv: rows)");
  AddOption(app, "--interval", arguments.interval, "SECONDS",
            "seconds between samples (default: 1)")
      ->check(CLI::Range(0.1, 3600.0));
  AddOption(app, "--count", arguments.count, "N",
            "with --loop: exit after N samples (default: unlimited)");
  std::string columns;
  for (int i = 0; i < monitor::kColumns; ++i) {
    columns += fmt::format("{}{}", i == 0 ? "" : "|", ToText(static_cast<monitor::Column>(i)));
  }
  AddOption(app, "--sort", arguments.sort, columns,
            "the column that determines the order of rows (default: order)");
  app.add_flag("--reverse", arguments.reverse, "reverse the order");
  AddOption(app, "--filter", arguments.filter, "TEXT", "show only rows that contain TEXT");
  app.add_flag("--flat", arguments.flat, "show a flat list instead of a tree");
  app.add_flag("--ascii", arguments.ascii, "use ASCII characters only");
  AddOption(app, "--width", arguments.width, "N", "columns of a line (default: the terminal's)")
      ->check(CLI::Range(40, 1000));
  AddSocketsOption(app, arguments.sockets);
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

// Whether the locale is UTF-8.
bool IsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const auto value = platform::ProcessEnvironment(name)) {
      return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos;
    }
  }
  return false;
}

std::string ScreenText(const monitor::Snapshot& snapshot, const TopArguments& arguments,
                       const monitor::ViewState& state) {
  const monitor::History history;  // empty: there is only one snapshot
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
  const auto step = std::chrono::duration_cast<steady_clock::duration>(
      std::chrono::duration<double>(arguments.interval));
  if (arguments.csv && Print(monitor::CsvHeading()) != kDone) return kOutput;
  collector.Collect();
  auto next = steady_clock::now();
  for (std::uint64_t shown = 0; arguments.count == 0 || shown < arguments.count; ++shown) {
    next += step;
    std::this_thread::sleep_until(next);
    const auto snapshot = collector.Collect();
    const std::string text =
        arguments.csv ? monitor::CsvRows(snapshot) : JsonText(monitor::ToJson(snapshot)) + "\n";
    if (Print(text) != kDone) return kOutput;
  }
  return kDone;
}

int Once(monitor::Collector& collector, const TopArguments& arguments,
         const monitor::ViewState& state) {
  collector.Collect();
  std::this_thread::sleep_for(kSampleInterval);
  const auto snapshot = collector.Collect();
  if (arguments.json) return Print(JsonText(monitor::ToJson(snapshot), 2) + "\n");
  if (arguments.csv) return Print(monitor::CsvHeading() + monitor::CsvRows(snapshot));
  return Print(ScreenText(snapshot, arguments, state));
}

using monitor::Key;
using monitor::KeyPress;
using monitor::Style;

constexpr short kGood = 1;
constexpr short kWarning = 2;
constexpr short kBad = 3;

struct EndScreen {
  void operator()(SCREEN* screen) const {
    endwin();
    delscreen(screen);
  }
};

attr_t AttributesOf(Style style) {
  const auto color = [](short pair) { return static_cast<attr_t>(COLOR_PAIR(pair)); };
  // In the order of Style.
  const std::array<attr_t, 8> attributes = {A_NORMAL,     A_BOLD,          A_DIM,
                                            color(kGood), color(kWarning), color(kBad) | A_BOLD,
                                            A_REVERSE,    A_REVERSE};
  return attributes.at(static_cast<std::size_t>(style));
}

void InitScreen() {
  cbreak();
  noecho();
  nonl();
  curs_set(0);
  keypad(stdscr, true);
  set_escdelay(50);
  if (has_colors()) {
    start_color();
    use_default_colors();
    init_pair(kGood, COLOR_GREEN, -1);
    init_pair(kWarning, COLOR_YELLOW, -1);
    init_pair(kBad, COLOR_RED, -1);
  }
}

void Show(const std::vector<monitor::Line>& lines) {
  erase();
  for (std::size_t row = 0; row < lines.size(); ++row) {
    const auto& line = lines[row];
    move(static_cast<int>(row), 0);
    for (std::size_t begin = 0; begin < line.size();) {
      // Writes runs of equal style at once.
      std::wstring letters;
      std::size_t end = begin;
      for (; end < line.size() && line[end].style == line[begin].style; ++end) {
        letters += static_cast<wchar_t>(line[end].character);
      }
      attrset(static_cast<int>(AttributesOf(line[begin].style)));
      addnwstr(letters.c_str(), static_cast<int>(letters.size()));
      begin = end;
    }
  }
  refresh();
}

// Waits for a key. Returns nothing on a timeout or a terminal resize.
std::optional<KeyPress> NextKey(milliseconds limit) {
  timeout(static_cast<int>(std::max<milliseconds::rep>(limit.count(), 0)));
  constexpr std::pair<int, Key> kKeys[] = {{KEY_UP, Key::kUp},        {KEY_DOWN, Key::kDown},
                                           {KEY_PPAGE, Key::kPageUp}, {KEY_NPAGE, Key::kPageDown},
                                           {KEY_HOME, Key::kHome},    {KEY_END, Key::kEnd},
                                           {KEY_ENTER, Key::kEnter},  {KEY_BACKSPACE, Key::kErase}};
  constexpr std::pair<int, Key> kControls[] = {{L'\r', Key::kEnter},
                                               {L'\n', Key::kEnter},
                                               {27, Key::kEscape},
                                               {8, Key::kErase},
                                               {127, Key::kErase}};
  using Keys = std::span<const std::pair<int, Key>>;
  wint_t letter = 0;
  const int result = get_wch(&letter);
  if (result == ERR) return std::nullopt;
  const bool function_key = result == KEY_CODE_YES;
  for (const auto& [code, key] : function_key ? Keys(kKeys) : Keys(kControls)) {
    if (static_cast<wint_t>(code) == letter) return KeyPress{key};
  }
  if (function_key) return std::nullopt;
  return KeyPress{Key::kCharacter, static_cast<char32_t>(letter)};
}

std::string Send(const monitor::KeyAction& action) {
  const auto sent = monitor::SendJobRequest(action.socket, action.request);
  return fmt::format("{}: {}", action.request, sent ? "done" : sent.error().message);
}

// Shows the live screen by ncurses until the user quits. Layout and keys are handled in
// insight/monitor. Returns the exit status.
int ShowLive(monitor::Collector& collector, monitor::ViewState state, milliseconds interval,
             bool ascii) {
  std::setlocale(LC_ALL, "");
  const bool unicode = !ascii && std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  const std::unique_ptr<SCREEN, EndScreen> screen(newterm(nullptr, stdout, stdin));
  if (!screen) {
    return ReportError(kFailed, "unknown terminal type; set TERM, or use reveza top --once");
  }
  InitScreen();
  monitor::History history;
  auto snapshot = collector.Collect();
  // The second sample follows soon: rates need two.
  auto next = steady_clock::now() + std::min(interval, milliseconds(300));
  for (;;) {
    Show(monitor::Draw(snapshot, history, {COLS, LINES, unicode}, state));
    const auto left = std::chrono::duration_cast<milliseconds>(next - steady_clock::now());
    if (const auto press = NextKey(left + milliseconds(1))) {
      auto action = monitor::HandleKey(state, *press, monitor::Rows(snapshot, state.table));
      if (action.quit) return kDone;
      if (!action.request.empty()) {
        state.message = Send(action);
        next = steady_clock::now();
      }
    }
    // The terminal was closed.
    if (std::feof(stdin) != 0) return kDone;
    if (steady_clock::now() < next) continue;
    snapshot = collector.Collect();
    history.Add(snapshot);
    next = steady_clock::now() + interval;
  }
}

int Show(const TopArguments& arguments, const daemon::Settings& settings) {
  monitor::ViewState state;
  state.table.filter = arguments.filter;
  state.table.tree = !arguments.flat;
  state.table.reverse = arguments.reverse;
  const auto column = ColumnOf(arguments.sort);
  if (!column) {
    return ReportError(kUsage, "--sort: unknown column '{}'; see reveza top --help",
                       arguments.sort);
  }
  state.table.sort = *column;
  LiveSources live(SocketPaths(settings, arguments.sockets));
  monitor::Collector collector(live.sources());
  if (arguments.loop) return Loop(collector, arguments);
  const bool interactive = !arguments.once && !arguments.json && !arguments.csv;
  if (interactive && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
    const std::chrono::duration<double> interval(arguments.interval);
    return ShowLive(collector, state, std::chrono::duration_cast<milliseconds>(interval),
                    arguments.ascii);
  }
  return Once(collector, arguments, state);
}

}  // namespace

void DescribeTop(CLI::App& app) {
  DeclareTop(app, command_line::ArgumentsOwnedBy<TopArguments>(app));
}

CommandResult<int> Top(int argc, char** argv) {
  CLI::App app("", "reveza top");
  TopArguments arguments;
  DeclareTop(app, arguments);
  if (const auto status = command_line::Parse(kProgram, app, argc, argv)) return *status;
  if (arguments.json && arguments.csv) {
    return ReportError(kUsage, "--json and --csv exclude each other");
  }
  ASSIGN_OR_RETURN(const auto configuration, LoadConfiguration({}));
  return Show(arguments, configuration.settings());
}

}  // namespace reveza::cli
