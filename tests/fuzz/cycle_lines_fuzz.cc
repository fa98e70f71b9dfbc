// Anything that a program may print: whatever way it is cut into pieces, the same steps are found
// in it, and each is in its bounds and can be written and read again.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runner/supervisor/cycle_lines.h"

namespace {

using reveza::runner::CycleLine;
using reveza::runner::CycleLines;

void Check(const CycleLine& report) {
  if (report.metrics.size() > reveza::runner::kMostMetrics) std::abort();
  std::string text = fmt::format("reveza step {}", report.number);
  for (const auto& [name, value] : report.metrics) {
    if (!std::isfinite(value) || name.size() > reveza::runner::kLongestMetricName) std::abort();
    text += fmt::format(" {}={}", name, value);
  }
  if (text.size() > reveza::runner::kLongestCycleLine) return;
  if (reveza::runner::ParseCycleLine(text) != report) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<CycleLine> whole;
  CycleLines().Feed(text, whole);
  for (const CycleLine& report : whole) Check(report);
  std::vector<CycleLine> cut;
  CycleLines lines;
  for (std::size_t at = 0, piece = 1; at < size; at += piece, piece = 1 + data[at % size] % 97) {
    lines.Feed(text.substr(at, piece), cut);
  }
  if (cut != whole) std::abort();
  return 0;
}
