// A line on standard error that says how far a long command is, shown only on a terminal.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace reveza::phi {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet = false);
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(std::string_view text);
  void Clear();
  // Shows "WHAT 3 of 9, 4 s left", where items take equally long; those of another kind begin with
  // a lower `done`.
  void Show(std::string_view what, std::size_t done, std::size_t all);

 private:
  using Clock = std::chrono::steady_clock;

  bool shows_;
  bool shown_ = false;
  std::size_t done_ = 0;
  std::size_t first_ = 0;  // of this kind that was shown, at
  Clock::time_point begun_ = {};
};

}  // namespace reveza::phi
