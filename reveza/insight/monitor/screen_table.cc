#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "reveza/insight/monitor/screen.h"

namespace reveza::monitor {
namespace {

// Minimum width for the columns about sharing.
constexpr int kMinWideWidth = 110;
constexpr int kPidWidth = 8;

struct ScreenField {
  const char* heading;
  int width;
  Column column;
  std::string (*text)(const Row& row);
};

std::string CpuText(const Row& row) {
  return row.cpu ? fmt::format("{:.0f}", *row.cpu * 100) : std::string(kNotAvailable);
}

// Of the last minute, what the program got and what its weight entitles it to: "70/66 %".
std::string ShareText(const Row& row) {
  if (!row.share_got || !row.share_wanted) return std::string(kNotAvailable);
  return fmt::format("{:.0f}/{:.0f} %", *row.share_got * 100, *row.share_wanted * 100);
}

std::string IoText(const Row& row) {
  const auto io = IoOf(row);
  return ShortBytes(io ? std::optional(static_cast<Bytes>(*io)) : std::nullopt);
}

constexpr std::array kFields = {
    ScreenField{"CPU%", 6, Column::kCpu, CpuText},
    ScreenField{"MEM", 6, Column::kMemory, [](const Row& row) { return ShortBytes(row.memory); }},
    ScreenField{"PEAK", 6, Column::kPeak, [](const Row& row) { return ShortBytes(row.peak); }},
    ScreenField{"CLAIM", 6, Column::kClaim, [](const Row& row) { return ShortBytes(row.claim); }},
    ScreenField{"THR", 5, Column::kThreads,
                [](const Row& row) { return FormatNumber(row.threads); }},
};
constexpr std::array kGpuFields = {
    ScreenField{"GPU", 6, Column::kGpu, [](const Row& row) { return ShortBytes(row.gpu); }},
    ScreenField{"SWAP", 6, Column::kSwapped,
                [](const Row& row) { return ShortBytes(row.swapped); }},
};
constexpr std::array kTimeFields = {
    ScreenField{"AGE", 6, Column::kAge, [](const Row& row) { return ShortAge(row.age); }},
    ScreenField{"IO/s", 6, Column::kIo, IoText},
};
constexpr std::array kSharingFields = {
    ScreenField{"SHARE", 8, Column::kOrder, ShareText},
    ScreenField{"TURNS", 7, Column::kOrder, [](const Row& row) { return FormatNumber(row.turns); }},
    ScreenField{"WAITED", 8, Column::kOrder,
                [](const Row& row) { return ShortAge(row.waited_seconds); }},
};

struct Layout {
  int name = 0;
  int state = 10;
  std::vector<ScreenField> fields;
  int command = 0;  // its width; 0: not shown
};

// `gpus`: with columns about them.
Layout LayoutFor(int width, bool gpus) {
  constexpr int kMinName = 8;
  constexpr int kMaxName = 24;
  constexpr int kMinCommand = 12;
  Layout layout;
  const auto add = [&](const auto& fields) {
    layout.fields.insert(layout.fields.end(), fields.begin(), fields.end());
  };
  const bool wide = width >= kMinWideWidth;
  add(kFields);
  if (gpus) add(kGpuFields);
  if (wide || !gpus) add(kTimeFields);
  if (wide && gpus) add(kSharingFields);
  int taken = kPidWidth + 2 + layout.state;
  for (const ScreenField& field : layout.fields) taken += field.width;
  layout.name = std::clamp(width - taken, kMinName, kMaxName);
  const int left = width - taken - layout.name - 2;
  if (left >= kMinCommand) layout.command = left;
  return layout;
}

// Highlights peaks near or above the claim.
Style PeakStyle(const Row& row, Style plain) {
  if (!row.peak || !row.claim || *row.claim == 0) return plain;
  if (*row.peak > *row.claim) return Style::kBad;
  return *row.peak / 9 >= *row.claim / 10 ? Style::kWarning : plain;
}

Style StateStyle(const Row& row) {
  if (row.state == "running") return Style::kGood;
  if (row.state == "hung") return Style::kBad;
  return row.state == "paused" || row.state == "waiting" ? Style::kWarning : Style::kPlain;
}

void DrawHeading(Canvas& canvas, const Layout& layout, const TableOptions& table) {
  canvas.AddLine(Style::kHeading);
  const auto heading = [&](const char* text, Column column) {
    const bool sorted = column != Column::kOrder && column == table.sort;
    return sorted ? fmt::format("{}{}", table.reverse ? '^' : '*', text) : std::string(text);
  };
  canvas.PutRight(kPidWidth, heading("PID", Column::kPid), Style::kHeading);
  canvas.Put(kPidWidth + 1, heading("NAME", Column::kName), Style::kHeading);
  int at = kPidWidth + 1 + layout.name;
  canvas.Put(at + 1, heading("STATE", Column::kState), Style::kHeading);
  at += 1 + layout.state;
  const auto put = [&](const ScreenField& field) {
    at += field.width;
    canvas.PutRight(at, heading(field.heading, field.column), Style::kHeading);
  };
  for (const ScreenField& field : layout.fields) put(field);
  if (layout.command > 0) canvas.Put(at + 2, "COMMAND", Style::kHeading);
}

void DrawRow(Canvas& canvas, const Layout& layout, const Row& row, bool selected) {
  canvas.AddLine();
  canvas.PutRight(kPidWidth, row.pid == 0 ? std::string(kNotAvailable) : std::to_string(row.pid),
                  Style::kDim);
  const int indent = std::min(row.depth * 2, 6);
  canvas.Put(kPidWidth + 1 + indent, row.name,
             row.kind == RowKind::kJob ? Style::kBold : Style::kPlain, layout.name - indent);
  int at = kPidWidth + 1 + layout.name;
  canvas.Put(at + 1, row.state, StateStyle(row), layout.state - 1);
  at += 1 + layout.state;
  const auto put = [&](const ScreenField& field) {
    at += field.width;
    const std::string text = field.text(row);
    const Style plain = text == kNotAvailable ? Style::kDim : Style::kPlain;
    canvas.PutRight(at, text, field.column == Column::kPeak ? PeakStyle(row, plain) : plain);
  };
  for (const ScreenField& field : layout.fields) put(field);
  if (layout.command > 0) canvas.Put(at + 2, row.command, Style::kDim, layout.command);
  if (selected) canvas.Paint(Style::kSelected);
}

// Draws a detail, wrapped at blanks and truncated after two lines.
void DrawDetail(Canvas& canvas, int column, const std::string& detail) {
  constexpr int kMaxLines = 2;
  const auto width = static_cast<std::size_t>(std::max(canvas.width() - column, 20));
  const std::u32string letters = SanitizeForTerminal(detail);
  std::u32string_view rest = letters;
  for (int line = 0; line < kMaxLines && !rest.empty(); ++line) {
    std::size_t end = rest.size();
    if (end > width && line + 1 < kMaxLines) {
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

void DrawTable(Canvas& canvas, const std::vector<Row>& rows, const ViewState& state, bool gpus,
               int room) {
  const Layout layout = LayoutFor(canvas.width(), gpus);
  DrawHeading(canvas, layout, state.table);
  if (rows.empty()) {
    canvas.AddLine();
    canvas.Put(kPidWidth + 1,
               state.table.filter.empty() ? "no programs or jobs" : "no rows match the filter",
               Style::kDim);
    return;
  }
  // Draw everything first, then copy the visible part, so that the selected row keeps its details.
  Canvas all(canvas.width());
  std::size_t selected_end = 0;
  const auto found = std::ranges::find(rows, state.selected, &Row::key);
  const std::string& key = found == rows.end() ? rows.front().key : found->key;
  for (const Row& row : rows) {
    const bool selected = room > 0 && row.key == key;
    DrawRow(all, layout, row, selected);
    for (const std::string& detail : row.details) {
      DrawDetail(all, kPidWidth + 1 + std::min(row.depth * 2, 6) + 2, detail);
    }
    if (selected) selected_end = all.lines().size();
  }
  auto& lines = all.lines();
  const std::size_t max_lines =
      room > 0 ? static_cast<std::size_t>(std::max(room - 1, 1)) : lines.size();
  const std::size_t begin = selected_end > max_lines ? selected_end - max_lines : 0;
  const std::size_t end = std::min(begin + max_lines, lines.size());
  for (std::size_t i = begin; i < end; ++i) canvas.lines().push_back(std::move(lines[i]));
}

}  // namespace reveza::monitor
