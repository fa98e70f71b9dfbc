// A page of cells: a letter and how it looks. What is drawn beyond the edges is cut off.
// Thread-safety: as for an int.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/text.h"

namespace reveza::monitor {

enum class Style { kPlain, kBold, kDim, kGood, kWarning, kBad, kHeading, kSelected };

struct Cell {
  char32_t letter = U' ';
  Style style = Style::kPlain;
  bool operator==(const Cell&) const = default;
};
using Line = std::vector<Cell>;

class Canvas {
 public:
  explicit Canvas(int width) : width_(std::max(width, 1)) {}

  int width() const { return width_; }
  std::vector<Line>& lines() { return lines_; }
  const std::vector<Line>& lines() const { return lines_; }

  void AddLine(Style style = Style::kPlain) {
    lines_.emplace_back(static_cast<std::size_t>(width_), Cell{U' ', style});
  }
  // On the last line, from `column` on, in at most `room` cells; the column behind what was
  // written.
  int Put(int column, std::string_view text, Style style = Style::kPlain, int room = 1 << 20) {
    const std::u32string letters = OneCellEach(text);
    return Put(column, std::u32string_view(letters), style, room);
  }
  int Put(int column, std::u32string_view letters, Style style = Style::kPlain,
          int room = 1 << 20) {
    for (const char32_t letter : letters) {
      if (room-- <= 0) break;
      if (column >= 0 && column < width_) {
        lines_.back()[static_cast<std::size_t>(column)] = {letter, style};
      }
      ++column;
    }
    return column;
  }
  // So that it ends before `end`.
  void PutRight(int end, std::string_view text, Style style = Style::kPlain) {
    const std::u32string letters = OneCellEach(text);
    Put(end - static_cast<int>(letters.size()), std::u32string_view(letters), style);
  }
  // All cells of the last line.
  void Paint(Style style) {
    for (Cell& cell : lines_.back()) cell.style = style;
  }

 private:
  int width_;
  std::vector<Line> lines_;
};

// Without blanks at the end.
inline std::string ToUtf8(const Line& line) {
  std::u32string letters;
  for (const Cell& cell : line) letters.push_back(cell.letter);
  while (!letters.empty() && letters.back() == U' ') letters.pop_back();
  return ToUtf8(letters);
}

}  // namespace reveza::monitor
