// How far it is, on standard error: a line that moves on a terminal, now and then a line elsewhere.
// Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace reveza::fraudgen {

class ProgressDisplay {
 public:
  ProgressDisplay(bool quiet, uint64_t all_rows);
  // Leaves the terminal's line empty.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // May be called often; shows five times a second at most.
  void Show(uint64_t rows, uint64_t rows_made, Bytes bytes_made);

 private:
  using Clock = std::chrono::steady_clock;

  const bool quiet_;
  const bool terminal_;
  const uint64_t all_rows_;
  const Clock::time_point begin_;
  Clock::time_point next_;
  bool shown_ = false;
};

// Says on a terminal what takes a moment; the line goes with the object.
class Moments {
 public:
  Moments(bool quiet, std::string_view what);
  ~Moments();
  Moments(const Moments&) = delete;
  Moments& operator=(const Moments&) = delete;

  // So much of it is done, where anybody knows how much it is (`all` not 0).
  void Show(uint64_t done, uint64_t all);

 private:
  bool shown_;
  std::string what_;
};

}  // namespace reveza::fraudgen
