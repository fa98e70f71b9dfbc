#include "progress_display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "exit_status.h"
#include "text.h"

namespace reveza::fraudgen {
namespace {

constexpr std::chrono::milliseconds kOnTerminal(200);
constexpr std::chrono::seconds kElsewhere(10);
constexpr std::string_view kClear = "\r\x1b[K";

bool IsTerminal() { return isatty(STDERR_FILENO) == 1; }

std::size_t Columns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 79;
  return size.ws_col - 1U;
}

// What the process has in memory; 0 where that cannot be known.
Bytes ResidentMemory() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0;
  uint64_t resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ProgressDisplay::ProgressDisplay(bool quiet, uint64_t all_rows)
    : quiet_(quiet),
      terminal_(IsTerminal()),
      all_rows_(all_rows),
      begin_(Clock::now()),
      next_(terminal_ ? begin_ : begin_ + kElsewhere) {}

ProgressDisplay::~ProgressDisplay() {
  if (shown_ && terminal_) Remark(std::string(kClear));
}

void ProgressDisplay::Show(uint64_t rows, uint64_t rows_made, Bytes bytes_made) {
  const Clock::time_point now = Clock::now();
  if (quiet_ || now < next_) return;
  next_ = now + (terminal_ ? Clock::duration(kOnTerminal) : Clock::duration(kElsewhere));
  const Moment moment{.rows = rows,
                      .all_rows = all_rows_,
                      .rows_made = rows_made,
                      .bytes_made = bytes_made,
                      .elapsed = now - begin_,
                      .memory = ResidentMemory()};
  if (terminal_) {
    Remark(fmt::format("{}{}", kClear, ProgressBar(moment, Columns())));
    std::fflush(stderr);
  } else {
    Remark(fmt::format("{}\n", ProgressText(moment)));
  }
  shown_ = true;
}

Moments::Moments(bool quiet, std::string_view what) : shown_(!quiet && IsTerminal()), what_(what) {
  if (!shown_) return;
  Remark(fmt::format("{} ...", what_));
  std::fflush(stderr);
}

void Moments::Show(uint64_t done, uint64_t all) {
  if (!shown_ || all == 0) return;
  Remark(fmt::format("{}{} ... {} %", kClear, what_, 100 * done / all));
  std::fflush(stderr);
}

Moments::~Moments() {
  if (shown_) Remark(std::string(kClear));
}

}  // namespace reveza::fraudgen
