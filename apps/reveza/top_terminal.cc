#include "top_terminal.h"

#include <fmt/format.h>
#include <langinfo.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "exit_status.h"
#include "monitor/history.h"
#include "monitor/job_sockets.h"
#include "monitor/keys.h"
#include "monitor/rows.h"

// Its short names would else be macros everywhere below.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <ncurses.h>

namespace reveza::cli {
namespace {

using monitor::Key;
using monitor::KeyPress;
using monitor::Style;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

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
  switch (style) {
    case Style::kPlain:
      return A_NORMAL;
    case Style::kBold:
      return A_BOLD;
    case Style::kDim:
      return A_DIM;
    case Style::kGood:
      return COLOR_PAIR(kGood);
    case Style::kWarning:
      return COLOR_PAIR(kWarning);
    case Style::kBad:
      return COLOR_PAIR(kBad) | A_BOLD;
    case Style::kHeading:
    case Style::kSelected:
      return A_REVERSE;
  }
  return A_NORMAL;
}

void SetUp() {
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
      // Letters of one style go out together.
      std::wstring letters;
      std::size_t end = begin;
      for (; end < line.size() && line[end].style == line[begin].style; ++end) {
        letters += static_cast<wchar_t>(line[end].letter);
      }
      attrset(static_cast<int>(AttributesOf(line[begin].style)));
      addnwstr(letters.c_str(), static_cast<int>(letters.size()));
      begin = end;
    }
  }
  refresh();
}

// Waits at most `limit`. Nothing when no key came, or the terminal changed its size.
std::optional<KeyPress> NextKey(milliseconds limit) {
  timeout(static_cast<int>(std::max<milliseconds::rep>(limit.count(), 0)));
  wint_t letter = 0;
  const int kind = get_wch(&letter);
  if (kind == ERR) return std::nullopt;
  if (kind == KEY_CODE_YES) {
    switch (letter) {
      case KEY_UP:
        return KeyPress{Key::kUp};
      case KEY_DOWN:
        return KeyPress{Key::kDown};
      case KEY_PPAGE:
        return KeyPress{Key::kPageUp};
      case KEY_NPAGE:
        return KeyPress{Key::kPageDown};
      case KEY_HOME:
        return KeyPress{Key::kHome};
      case KEY_END:
        return KeyPress{Key::kEnd};
      case KEY_ENTER:
        return KeyPress{Key::kEnter};
      case KEY_BACKSPACE:
        return KeyPress{Key::kErase};
      default:
        return std::nullopt;
    }
  }
  switch (letter) {
    case L'\r':
    case L'\n':
      return KeyPress{Key::kEnter};
    case 27:
      return KeyPress{Key::kEscape};
    case 8:
    case 127:
      return KeyPress{Key::kErase};
    default:
      return KeyPress{Key::kLetter, static_cast<char32_t>(letter)};
  }
}

std::string Tell(const monitor::Wish& wish) {
  const auto told = monitor::TellJob(wish.socket, wish.request);
  return told ? fmt::format("{}: done", wish.request)
              : fmt::format("{}: {}", wish.request, told.error().message);
}

}  // namespace

int ShowLive(monitor::Collector& collector, monitor::ViewState state, milliseconds interval,
             bool ascii) {
  std::setlocale(LC_ALL, "");
  const bool unicode = !ascii && std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  const std::unique_ptr<SCREEN, EndScreen> screen(newterm(nullptr, stdout, stdin));
  if (!screen) {
    return Say(kFailed,
               "this terminal is not known (see the variable TERM); for one picture: "
               "reveza top --once");
  }
  SetUp();
  monitor::History history;
  auto snapshot = collector.Collect();
  // The first figures of what needs two looks come soon.
  auto next = steady_clock::now() + std::min(interval, milliseconds(300));
  for (;;) {
    Show(monitor::Draw(snapshot, history, {COLS, LINES, unicode}, state));
    const auto left = std::chrono::duration_cast<milliseconds>(next - steady_clock::now());
    if (const auto press = NextKey(left + milliseconds(1))) {
      auto wish = monitor::Press(state, *press, monitor::Rows(snapshot, state.arrangement));
      if (wish.quit) return kDone;
      if (!wish.request.empty()) {
        state.message = Tell(wish);
        next = steady_clock::now();
      }
    }
    // Nobody is at the other end any more.
    if (std::feof(stdin) != 0) return kDone;
    if (steady_clock::now() < next) continue;
    snapshot = collector.Collect();
    history.Add(snapshot);
    next = steady_clock::now() + interval;
  }
}

}  // namespace reveza::cli
