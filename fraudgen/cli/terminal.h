// Text tables, and progress on standard error: an updating line on terminals, a line every ten
// seconds elsewhere. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/units.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen::cli {

enum class Align { kLeft, kRight };

struct TextTable {
  std::vector<std::string> head;
  std::vector<Align> align;  // by column
  std::vector<std::vector<std::string>> rows = {};
};

// Renders columns as wide as their widest cells, two blanks apart, after `indent` blanks. Columns
// beyond `max_width` follow below, after an empty line.
std::string Render(const TextTable& table, std::size_t indent,
                   std::size_t max_width = std::numeric_limits<std::size_t>::max());
// Returns the width of a terminal; nullopt if it is none.
std::optional<std::size_t> TerminalColumns(int descriptor);
// Renders the files, rows and bytes of the tables that have a total.
std::string RenderTotals(std::span<const Table* const> tables, const TableTotals& totals);

struct ProgressState {
  uint64_t rows = 0;  // done, of total_rows
  uint64_t total_rows = 0;
  uint64_t rows_made = 0;  // by this run
  Bytes bytes_made = 0;
  std::chrono::duration<double> elapsed{0};
  Bytes memory = 0;
};

// "45 %  7.2 M rows  1.1 M rows/s  70 MB/s  12 s left  149 MB of memory"
std::string ProgressText(const ProgressState& state);
// The same behind a bar, at most `width` characters. If space is short, omits the memory, then the
// bar.
std::string ProgressBar(const ProgressState& state, std::size_t width);

class ProgressDisplay {
 public:
  ProgressDisplay(bool quiet, uint64_t total_rows);
  // Clears the line on a terminal.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Updates the display, at most five times a second.
  void Show(uint64_t rows, uint64_t rows_made, Bytes bytes_made);

 private:
  using Clock = std::chrono::steady_clock;

  const bool quiet_;
  const bool terminal_;
  const uint64_t total_rows_;
  const Clock::time_point begin_;
  Clock::time_point next_;
  bool shown_ = false;
};

// A status line on terminals; cleared by the destructor.
class StatusLine {
 public:
  StatusLine(bool quiet, std::string_view what);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Appends a percentage; does nothing if `total` is 0.
  void Show(uint64_t done, uint64_t total);

 private:
  bool shown_;
  std::string what_;
};

}  // namespace reveza::fraudgen::cli
