// Finds cycle reports in the output of a program:
//
//   reveza step 57 phi=0.61 loss=1e-3
//
// A report is `reveza step`, an unsigned number, and any number of blank-separated NAME=VALUE
// words. VALUE is a finite decimal number; words with other values (nan, inf, text) are ignored. A
// line with any other word is not a report. Lines end with '\n' or '\r'; an unterminated line is
// ignored, as it may have been truncated.
//
// Memory use is bounded for any output. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/unique_fd.h"

namespace reveza::jobs {

// Longest report, without its line end; with it, a report fits PIPE_BUF and is written atomically.
inline constexpr std::size_t kMaxCycleLine = 4095;
// Further metrics of a line are ignored.
inline constexpr std::size_t kMaxMetrics = 32;
inline constexpr std::size_t kMaxMetricName = 64;

struct Metric {
  std::string name;  // a letter or '_', then letters, digits, '_', '.', '-', '/'
  double value = 0;

  bool operator==(const Metric&) const = default;
};

struct CycleLine {
  std::uint64_t number = 0;
  std::vector<Metric> metrics;  // unique names (the last value wins), in order

  bool operator==(const CycleLine&) const = default;
};

// Parses a line without its end; nullopt if it is not a report.
std::optional<CycleLine> ParseCycleLine(std::string_view line);

// Parses a stream that arrives in arbitrary pieces.
class CycleLineParser {
 public:
  // Appends the reports of all lines completed by `bytes` to `found`.
  void Feed(std::string_view bytes, std::vector<CycleLine>& found);

 private:
  std::string line_;       // incomplete line that may become a report
  bool skipping_ = false;  // ignoring the rest of the line
};

// Forwards a program's output to its file while parsing cycle reports.
// Not thread-safe.
class CycleTap {
 public:
  struct Cycle {
    std::uint64_t number = 0;
    std::string metrics;  // "phi=0.61 loss=0.001"
  };

  // Returns the descriptor for the program's output, which is forwarded to a duplicate of `file`.
  // Returns `file` itself if no pipe can be created.
  int Open(int file);
  // Call once the program has inherited the descriptor.
  void CloseWriter() { writer_.Reset(); }
  // Returns the cycles reported so far. Does not block.
  std::vector<Cycle> Read();
  void Close();
  // Whether output could not be written to the file, since Open().
  bool lost_output() const { return lost_output_; }
  // For poll(); -1 if closed.
  int descriptor() const { return reader_.get(); }

 private:
  UniqueFd reader_;
  UniqueFd writer_;
  UniqueFd file_;
  CycleLineParser lines_;
  bool lost_output_ = false;
};

}  // namespace reveza::jobs
