#include "monitor/screen_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "monitor/text.h"

namespace reveza::monitor {
namespace {

// From where on there is room for more columns.
constexpr int kWide = 110;
constexpr int kPid = 8;

struct Field {
  const char* heading;
  int width;
  Column column;
  std::string (*text)(const Row& row);
};

std::string CpuText(const Row& row) {
  return row.cpu ? fmt::format("{:.0f}", *row.cpu * 100) : std::string(kNotAvailable);
}

constexpr std::array kFields = {
    Field{"CPU%", 6, Column::kCpu, CpuText},
    Field{"MEM", 6, Column::kMemory, [](const Row& row) { return ShortBytes(row.memory); }},
    Field{"PEAK", 6, Column::kPeak, [](const Row& row) { return ShortBytes(row.peak); }},
    Field{"CLAIM", 6, Column::kClaim, [](const Row& row) { return ShortBytes(row.claim); }},
    Field{"THR", 5, Column::kThreads, [](const Row& row) { return Count(row.threads); }},
    Field{"GPU", 6, Column::kGpu, [](const Row& row) { return ShortBytes(row.gpu); }},
    Field{"SWAP", 6, Column::kSwapped, [](const Row& row) { return ShortBytes(row.swapped); }},
};
constexpr std::array kWideFields = {
    Field{"SHARE", 7, Column::kOrder, [](const Row& row) { return Percent(row.share); }},
    Field{"TURNS", 7, Column::kOrder, [](const Row& row) { return Count(row.turns); }},
    Field{"WAITED", 12, Column::kOrder, [](const Row& row) { return Seconds(row.waited_seconds); }},
};

struct Widths {
  int name = 0;
  int state = 10;
  bool wide = false;
};

Widths WidthsFor(int width) {
  Widths widths;
  widths.wide = width >= kWide;
  int figures = 0;
  for (const Field& field : kFields) figures += field.width;
  widths.name = widths.wide ? 24 : std::clamp(width - kPid - 2 - widths.state - figures, 8, 24);
  return widths;
}

// A peak that comes near its claim, or is past it.
Style PeakStyle(const Row& row, Style plain) {
  if (!row.peak || !row.claim || *row.claim == 0) return plain;
  if (*row.peak > *row.claim) return Style::kBad;
  return *row.peak / 9 >= *row.claim / 10 ? Style::kWarning : plain;
}

Style StateStyle(const Row& row) {
  if (row.state == "running") return Style::kGood;
  if (row.state == "silent") return Style::kBad;
  return row.state == "paused" || row.state == "waiting" ? Style::kWarning : Style::kPlain;
}

void DrawHeading(Canvas& canvas, const Widths& widths, const Arrangement& arrangement) {
  canvas.AddLine(Style::kHeading);
  const auto heading = [&](const char* text, Column column) {
    const bool sorted = column != Column::kOrder && column == arrangement.sort;
    return sorted ? fmt::format("{}{}", arrangement.reverse ? '^' : '*', text) : std::string(text);
  };
  canvas.PutRight(kPid, heading("PID", Column::kPid), Style::kHeading);
  canvas.Put(kPid + 1, heading("NAME", Column::kName), Style::kHeading);
  int at = kPid + 1 + widths.name;
  canvas.Put(at + 1, heading("STATE", Column::kState), Style::kHeading);
  at += 1 + widths.state;
  const auto put = [&](const Field& field) {
    at += field.width;
    canvas.PutRight(at, heading(field.heading, field.column), Style::kHeading);
  };
  for (const Field& field : kFields) put(field);
  if (!widths.wide) return;
  for (const Field& field : kWideFields) put(field);
  canvas.Put(at + 2, "COMMAND", Style::kHeading);
}

void DrawRow(Canvas& canvas, const Widths& widths, const Row& row, bool selected) {
  canvas.AddLine();
  canvas.PutRight(kPid, row.pid == 0 ? std::string(kNotAvailable) : std::to_string(row.pid),
                  Style::kDim);
  const int indent = std::min(row.depth * 2, 6);
  canvas.Put(kPid + 1 + indent, row.name, row.kind == RowKind::kJob ? Style::kBold : Style::kPlain,
             widths.name - indent);
  int at = kPid + 1 + widths.name;
  canvas.Put(at + 1, row.state, StateStyle(row), widths.state - 1);
  at += 1 + widths.state;
  const auto put = [&](const Field& field) {
    at += field.width;
    const std::string text = field.text(row);
    const Style plain = text == kNotAvailable ? Style::kDim : Style::kPlain;
    canvas.PutRight(at, text, field.column == Column::kPeak ? PeakStyle(row, plain) : plain);
  };
  for (const Field& field : kFields) put(field);
  if (widths.wide) {
    for (const Field& field : kWideFields) put(field);
    canvas.Put(at + 2, row.command, Style::kDim);
  }
  if (selected) canvas.Paint(Style::kSelected);
}

// A sentence in lines of at most `width` letters, broken at blanks, cut after the second.
void DrawDetail(Canvas& canvas, int column, const std::string& detail) {
  constexpr int most = 2;
  const auto width = static_cast<std::size_t>(std::max(canvas.width() - column, 20));
  const std::u32string letters = OneCellEach(detail);
  std::u32string_view rest = letters;
  for (int line = 0; line < most && !rest.empty(); ++line) {
    std::size_t end = rest.size();
    if (end > width && line + 1 < most) {
      const auto blank = rest.rfind(U' ', width);
      end = blank == std::u32string_view::npos || blank == 0 ? width : blank;
    }
    canvas.AddLine();
    canvas.Put(column + line * 2, rest.substr(0, end), Style::kDim);
    rest.remove_prefix(end);
    while (!rest.empty() && rest.front() == U' ') rest.remove_prefix(1);
  }
}

}  // namespace

void DrawTable(Canvas& canvas, const std::vector<Row>& rows, const ViewState& state, int room) {
  const Widths widths = WidthsFor(canvas.width());
  DrawHeading(canvas, widths, state.arrangement);
  if (rows.empty()) {
    canvas.AddLine();
    canvas.Put(
        kPid + 1,
        state.arrangement.filter.empty() ? "no programs and no jobs" : "nothing has these letters",
        Style::kDim);
    return;
  }
  // All lines first, then those that are shown: a row never loses its own details only.
  Canvas all(canvas.width());
  std::size_t chosen_end = 0;
  const auto chosen = std::ranges::find(rows, state.selected, &Row::key);
  const std::string& key = chosen == rows.end() ? rows.front().key : chosen->key;
  for (const Row& row : rows) {
    const bool selected = room > 0 && row.key == key;
    DrawRow(all, widths, row, selected);
    for (const std::string& detail : row.details) {
      DrawDetail(all, kPid + 1 + std::min(row.depth * 2, 6) + 2, detail);
    }
    if (selected) chosen_end = all.lines().size();
  }
  auto& lines = all.lines();
  const std::size_t most =
      room > 0 ? static_cast<std::size_t>(std::max(room - 1, 1)) : lines.size();
  const std::size_t begin = chosen_end > most ? chosen_end - most : 0;
  const std::size_t end = std::min(begin + most, lines.size());
  for (std::size_t i = begin; i < end; ++i) canvas.lines().push_back(std::move(lines[i]));
}

}  // namespace reveza::monitor
