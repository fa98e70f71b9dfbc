#include "reveza/jobs/report/tuning_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/units.h"
#include "reveza/jobs/decide/throughput.h"

namespace reveza::jobs {
namespace {

std::string LimitLine(std::string_view limit) {
  return limit.empty() ? "" : fmt::format("limit: {}\n", limit);
}

}  // namespace

std::string TuningTable(std::span<const TunerRow> rows, unsigned workers, std::string_view limit) {
  if (rows.empty()) return {};
  // The same unit in all rows.
  const RateUnit time = RateUnitFor(std::ranges::max(rows, {}, &TunerRow::rate).rate);
  std::string text = fmt::format("  workers {:>12} {:>8} {:>10}\n",
                                 fmt::format("steps/{}", time.name), "gain", "memory");
  bool first = true;
  for (const TunerRow& row : rows) {
    const std::string gain = first ? "" : fmt::format("{:+.0f} %", 100 * row.gain);
    text += fmt::format("{} {:>7} {:>12.3g} {:>8} {:>10}\n", row.workers == workers ? '>' : ' ',
                        row.workers, row.rate * time.seconds, gain,
                        row.memory ? FormatBytes(*row.memory) : "-");
    first = false;
  }
  return text + LimitLine(limit);
}

std::string SingleCountText(const TunerRow& row, std::string_view limit) {
  return fmt::format("only one number of workers was measured: {} ({})\n", row.workers,
                     FormatRate(row.rate)) +
         LimitLine(limit);
}

std::string TuningLog(std::span<const Decision> log, std::chrono::nanoseconds start) {
  std::string text;
  for (const Decision& decision : log) {
    text += fmt::format("{:>12}  {}\n", FormatDuration(decision.at - start), decision.text);
  }
  return text;
}

}  // namespace reveza::jobs
