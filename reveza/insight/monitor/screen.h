// The page of `reveza top`: styled cells, how a snapshot is drawn, and key bindings, which change
// the view or request something of a job. Pure functions, except History.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reveza/insight/monitor/rows.h"
#include "reveza/insight/monitor/snapshot.h"
#include "reveza/insight/monitor/text.h"

namespace reveza::monitor {

enum class Style { kPlain, kBold, kDim, kGood, kWarning, kBad, kHeading, kSelected };

struct Cell {
  char32_t character = U' ';
  Style style = Style::kPlain;
  bool operator==(const Cell&) const = default;
};
using Line = std::vector<Cell>;

// A page of styled cells. Drawing beyond the edges is clipped.
class Canvas {
 public:
  explicit Canvas(int width) : width_(std::max(width, 1)) {}

  int width() const { return width_; }
  std::vector<Line>& lines() { return lines_; }
  const std::vector<Line>& lines() const { return lines_; }

  void AddLine(Style style = Style::kPlain) {
    lines_.emplace_back(static_cast<std::size_t>(width_), Cell{U' ', style});
  }
  // Draws on the last line from `column` in at most `max_cells` cells. Returns the next column.
  int Put(int column, std::string_view text, Style style = Style::kPlain, int max_cells = 1 << 20) {
    const std::u32string letters = SanitizeForTerminal(text);
    return Put(column, std::u32string_view(letters), style, max_cells);
  }
  int Put(int column, std::u32string_view letters, Style style = Style::kPlain,
          int max_cells = 1 << 20) {
    for (const char32_t letter : letters) {
      if (max_cells-- <= 0) break;
      if (column >= 0 && column < width_) {
        lines_.back()[static_cast<std::size_t>(column)] = {letter, style};
      }
      ++column;
    }
    return column;
  }
  // Draws right-aligned, ending before column `end`.
  void PutRight(int end, std::string_view text, Style style = Style::kPlain) {
    const std::u32string letters = SanitizeForTerminal(text);
    Put(end - static_cast<int>(letters.size()), std::u32string_view(letters), style);
  }
  // Sets the style of the last line.
  void Paint(Style style) {
    for (Cell& cell : lines_.back()) cell.style = style;
  }

 private:
  int width_;
  std::vector<Line> lines_;
};

// Converts to UTF-8, without trailing blanks.
inline std::string ToUtf8(const Line& line) {
  std::u32string letters;
  for (const Cell& cell : line) letters.push_back(cell.character);
  while (!letters.empty() && letters.back() == U' ') letters.pop_back();
  return ToUtf8(letters);
}

// Recent values for sparklines: CPU, memory, SM activity, link traffic, job rates. Not thread-safe.
class History {
 public:
  static constexpr std::size_t kLength = 120;
  using Values = std::deque<std::optional<double>>;  // newest last; nullopt: not available

  void Add(const Snapshot& snapshot);

  // Returns "cpu", "memory", "gpu <uuid>", "link <uuid>" or "job <id>"; empty if unknown.
  const Values& Series(const std::string& series) const;

 private:
  void Add(const std::string& series, const std::optional<double>& value);

  std::map<std::string, Values> series_;
};

struct ScreenSize {
  int width = 80;
  int height = 24;  // 0: unlimited
  bool unicode = true;
};

// View settings and input state.
struct ViewState {
  TableOptions table;
  std::string selected;  // key of the selected row; empty: the first
  bool help = false;
  bool typing_filter = false;   // keys edit the filter
  std::string question;         // a y/n question; empty: none
  std::string pending_request;  // sent to `pending_socket` after a y
  std::string pending_socket;
  std::string message;  // result of the last request
};

// Draws the page; returns exactly `height` lines unless it is 0.
std::vector<Line> Draw(const Snapshot& snapshot, const History& history, const ScreenSize& size,
                       const ViewState& state);

// Draws the table of the page: a heading and rows, scrolled to the selected one. `gpus`: with
// columns about GPUs. At most `room` lines including the heading; 0: all rows, without a selection.
void DrawTable(Canvas& canvas, const std::vector<Row>& rows, const ViewState& state, bool gpus,
               int room);

// Returns a sparkline of `cells` characters, newest value last, blank for missing values. `top` is
// the value of a full bar; default: the maximum.
std::u32string Sparkline(const History::Values& values, std::size_t cells,
                         std::optional<double> top, bool unicode);

enum class Key { kCharacter, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape, kErase };

struct KeyPress {
  Key key = Key::kCharacter;
  char32_t character = 0;  // of kCharacter
};

// The action that a key requests, besides changing the view.
struct KeyAction {
  bool quit = false;
  std::string request;  // for the runner at `socket`; empty: none
  std::string socket;
};

// Handles a key press. `rows` are the rows currently shown. Sets `state.message` if a request is
// impossible.
KeyAction HandleKey(ViewState& state, const KeyPress& press, const std::vector<Row>& rows);

}  // namespace reveza::monitor
