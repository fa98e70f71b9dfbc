// Parses arbitrary program output. However the output is split, the same reports must be found,
// each within its limits and able to round-trip.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "reveza/jobs/supervisor/cycle_lines.h"

namespace {

using reveza::jobs::CycleLine;
using reveza::jobs::CycleLineParser;

void Check(const CycleLine& report) {
  if (report.metrics.size() > reveza::jobs::kMaxMetrics) std::abort();
  std::string text = fmt::format("reveza step {}", report.number);
  for (const auto& [name, value] : report.metrics) {
    if (!std::isfinite(value) || name.size() > reveza::jobs::kMaxMetricName) std::abort();
    text += fmt::format(" {}={}", name, value);
  }
  if (text.size() > reveza::jobs::kMaxCycleLine) return;
  if (reveza::jobs::ParseCycleLine(text) != report) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<CycleLine> expected;
  CycleLineParser().Feed(text, expected);
  for (const CycleLine& report : expected) Check(report);
  std::vector<CycleLine> found;
  CycleLineParser lines;
  for (std::size_t at = 0, piece = 1; at < size; at += piece, piece = 1 + data[at % size] % 97) {
    lines.Feed(text.substr(at, piece), found);
  }
  if (found != expected) std::abort();
  return 0;
}
