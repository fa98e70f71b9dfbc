#include "runner/report/tuning_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "runner/decide/rate_text.h"
#include "runner/decide/scalability.h"

namespace reveza::runner {

std::string TuningTable(std::span<const TunerRow> rows, unsigned workers, unsigned most,
                        std::string_view unit) {
  if (rows.empty()) return {};
  // One unit for all rows.
  const RateUnit time = RateUnitFor(std::ranges::max(rows, {}, &TunerRow::rate).rate);
  std::string text = fmt::format("  workers {:>12} {:>8} {:>10}\n",
                                 fmt::format("{}/{}", unit, time.name), "gain", "memory");
  std::vector<ScalabilityPoint> points;
  bool first = true;
  for (const TunerRow& row : rows) {
    const std::string gain = first ? "" : fmt::format("{:+.0f} %", 100 * row.gain);
    text += fmt::format("{} {:>7} {:>12.3g} {:>8} {:>10}\n", row.workers == workers ? '>' : ' ',
                        row.workers, row.rate * time.seconds, gain,
                        row.memory ? FormatBytes(*row.memory) : "-");
    points.push_back(
        {.workers = 1.0 * row.workers, .rate = row.rate, .weight = static_cast<double>(row.steps)});
    first = false;
  }
  if (const auto fit = FitScalability(points)) text += ScalabilityText(*fit, most, unit) + "\n";
  return text;
}

std::string OneNumberText(const TunerRow& row, std::string_view reason, std::string_view unit) {
  return fmt::format("one number of workers was measured, {} ({}); no other, because {}\n",
                     row.workers, FormatRate(row.rate, unit), reason);
}

std::string TuningLog(std::span<const Decision> log, std::chrono::nanoseconds start) {
  std::string text;
  for (const Decision& decision : log) {
    text += fmt::format("{:>12}  {}\n", FormatDuration(decision.at - start), decision.sentence);
  }
  return text;
}

}  // namespace reveza::runner
