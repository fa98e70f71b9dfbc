// What a program says of its own steps, among all else that it prints:
//
//   reveza step 57 phi=0.61 loss=1e-3
//
// A line that says so begins with `reveza step`, a number without sign, and then has nothing but
// words NAME=VALUE, with single or several blanks between. VALUE is a finite decimal number; a word
// whose value is something else (nan, inf, text) is left out and the step counts. A line with any
// other word is prose, not a report. '\n' and '\r' end a line, and only an ended line counts: what
// a dying program cut short may be half a number.
//
// Memory is bounded whatever the program prints. Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reveza::runner {

// The longest line that can be a report, its end not counted: such a line and its end are written
// to a pipe in one piece.
inline constexpr std::size_t kLongestCycleLine = 4095;
// What is beyond this in one line is left out.
inline constexpr std::size_t kMostMetrics = 32;
inline constexpr std::size_t kLongestMetricName = 64;

struct Metric {
  std::string name;  // a letter or '_', then letters, digits, '_', '.', '-', '/'
  double value = 0;

  bool operator==(const Metric&) const = default;
};

struct CycleLine {
  std::uint64_t number = 0;
  std::vector<Metric> metrics;  // each name once (the last word of that name), in their order

  bool operator==(const CycleLine&) const = default;
};

// One line without its end; nothing when it is no report.
std::optional<CycleLine> ParseCycleLine(std::string_view line);

// Finds the reports in a stream that comes in pieces, however it is cut.
class CycleLines {
 public:
  // Appends to `found` what lines that end in `bytes` report.
  void Feed(std::string_view bytes, std::vector<CycleLine>& found);

 private:
  std::string line_;       // the beginning of a line that may still be a report
  bool skipping_ = false;  // the rest of this line does not matter
};

}  // namespace reveza::runner
