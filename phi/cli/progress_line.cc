#include "phi/cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "common/base/units.h"

namespace reveza::phi {

ProgressLine::ProgressLine(bool quiet) : shows_(!quiet && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

void ProgressLine::Show(std::string_view text) {
  if (!shows_) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::Show(std::string_view what, std::size_t done, std::size_t all) {
  if (!shows_) return;
  const Clock::time_point now = Clock::now();
  if (done <= done_ || done_ == 0) {
    begun_ = now;
    first_ = done;
  }
  done_ = done;
  std::string text = fmt::format("{} {} of {}", what, done, all);
  if (done > first_) {
    const double each =
        std::chrono::duration<double>(now - begun_).count() / static_cast<double>(done - first_);
    text += fmt::format(", {} left", FormatSeconds(each * static_cast<double>(all - done)));
  }
  Show(text);
}

}  // namespace reveza::phi
