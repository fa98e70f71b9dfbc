#include "fraudgen/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "fraudgen/cli/commands.h"

namespace reveza::fraudgen::cli {
namespace {

constexpr std::size_t kMinBar = 10;
constexpr std::size_t kMaxBar = 30;
constexpr std::size_t kGap = 2;  // between columns

// Returns the number of UTF-8 characters.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

double Share(const ProgressState& state) {
  if (state.total_rows == 0) return 1;
  return std::min(1.0, static_cast<double>(state.rows) / static_cast<double>(state.total_rows));
}

constexpr std::chrono::milliseconds kTerminalInterval(200);
constexpr std::chrono::seconds kLogInterval(10);
constexpr std::string_view kClear = "\r\x1b[K";

bool IsTerminal() { return isatty(STDERR_FILENO) == 1; }

std::size_t Columns() { return TerminalColumns(STDERR_FILENO).value_or(80) - 1; }

// Returns the resident set size; 0 if unknown.
Bytes ResidentMemory() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string Render(const TextTable& table, std::size_t indent, std::size_t max_width) {
  std::vector<std::size_t> widths;
  for (const std::string& cell : table.head) widths.push_back(Width(cell));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (std::size_t first = 0; first < widths.size();) {
    std::size_t end = first + 1;
    std::size_t width = indent + widths[first];
    for (; end < widths.size() && width + kGap + widths[end] <= max_width; ++end) {
      width += kGap + widths[end];
    }
    const auto add = [&](const std::vector<std::string>& row) {
      std::string line(indent, ' ');
      for (std::size_t i = first; i < end; ++i) {
        if (i > first) line.append(kGap, ' ');
        const std::string blanks(widths[i] - Width(row[i]), ' ');
        line += table.align[i] == Align::kRight ? blanks + row[i] : row[i] + blanks;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    };
    if (first > 0) text += "\n";
    add(table.head);
    for (const auto& row : table.rows) add(row);
    first = end;
  }
  return text;
}

std::optional<std::size_t> TerminalColumns(int descriptor) {
  winsize size = {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::string RenderTotals(std::span<const Table* const> tables, const TableTotals& totals) {
  TextTable text{.head = {"table", "files", "rows", "size"},
                 .align = {Align::kLeft, Align::kRight, Align::kRight, Align::kRight}};
  for (const Table* table : tables) {
    const auto found = totals.find(table->name);
    if (found == totals.end()) continue;
    const auto& [files, rows, bytes] = found->second;
    text.rows.push_back(
        {std::string(table->name), FormatCount(files), FormatCount(rows), FormatSize(bytes)});
  }
  return Render(text, 2);
}

std::string ProgressText(const ProgressState& state) {
  const double seconds = std::max(state.elapsed.count(), 1e-3);
  const double rate = static_cast<double>(state.rows_made) / seconds;
  std::string text =
      fmt::format("{:3.0f} %  {} rows  {} rows/s  {}/s", std::floor(100 * Share(state)),
                  FormatScaled(static_cast<double>(state.rows)), FormatScaled(rate),
                  FormatSize(static_cast<Bytes>(static_cast<double>(state.bytes_made) / seconds)));
  // No estimate during the first second.
  if (seconds >= 1 && rate > 0 && state.rows < state.total_rows) {
    const double left = static_cast<double>(state.total_rows - state.rows) / rate;
    text +=
        fmt::format("  {} left",
                    FormatDuration(std::chrono::seconds(std::llround(std::clamp(left, 1.0, 1e9)))));
  }
  if (state.memory > 0) text += fmt::format("  {} memory", FormatSize(state.memory));
  return text;
}

std::string ProgressBar(const ProgressState& state, std::size_t width) {
  std::string text = ProgressText(state);
  // The bar has priority over the memory.
  if (width < text.size() + 4 + kMinBar) {
    ProgressState shorter = state;
    shorter.memory = 0;
    text = ProgressText(shorter);
  }
  const std::size_t around = text.size() + 4;
  if (width < around + kMinBar) return text.substr(0, width);
  const std::size_t length = std::min(kMaxBar, width - around);
  const auto full = static_cast<std::size_t>(Share(state) * static_cast<double>(length));
  return fmt::format("[{}{}]  {}", std::string(full, '#'), std::string(length - full, '.'), text);
}

ProgressDisplay::ProgressDisplay(bool quiet, uint64_t total_rows)
    : quiet_(quiet),
      terminal_(IsTerminal()),
      total_rows_(total_rows),
      begin_(Clock::now()),
      next_(terminal_ ? begin_ : begin_ + kLogInterval) {}

ProgressDisplay::~ProgressDisplay() {
  if (shown_ && terminal_) PrintToStderr(std::string(kClear));
}

void ProgressDisplay::Show(uint64_t rows, uint64_t rows_made, Bytes bytes_made) {
  const Clock::time_point now = Clock::now();
  if (quiet_ || now < next_) return;
  next_ = now + (terminal_ ? Clock::duration(kTerminalInterval) : Clock::duration(kLogInterval));
  const ProgressState state{.rows = rows,
                            .total_rows = total_rows_,
                            .rows_made = rows_made,
                            .bytes_made = bytes_made,
                            .elapsed = now - begin_,
                            .memory = ResidentMemory()};
  if (terminal_) {
    PrintToStderr(fmt::format("{}{}", kClear, ProgressBar(state, Columns())));
    std::fflush(stderr);
  } else {
    PrintToStderr(fmt::format("{}\n", ProgressText(state)));
  }
  shown_ = true;
}

StatusLine::StatusLine(bool quiet, std::string_view what)
    : shown_(!quiet && IsTerminal()), what_(what) {
  if (!shown_) return;
  PrintToStderr(fmt::format("{} ...", what_));
  std::fflush(stderr);
}

void StatusLine::Show(uint64_t done, uint64_t total) {
  if (!shown_ || total == 0) return;
  PrintToStderr(fmt::format("{}{} ... {} %", kClear, what_, 100 * done / total));
  std::fflush(stderr);
}

StatusLine::~StatusLine() {
  if (shown_) PrintToStderr(std::string(kClear));
}

}  // namespace reveza::fraudgen::cli
