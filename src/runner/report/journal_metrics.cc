#include "runner/report/journal_metrics.h"

#include <fmt/format.h>

namespace reveza::runner {

Result<Metrics> ReadMetrics(Journal& journal, std::span<const StepEntry> steps) {
  Metrics metrics;
  for (const auto& step : steps) {
    const auto cycles = journal.CyclesOf(step.identity);
    if (!cycles) return std::unexpected(cycles.error());
    for (const auto& cycle : *cycles) {
      const auto line =
          ParseCycleLine(fmt::format("reveza step {} {}", cycle.number, cycle.metrics));
      if (line) metrics.Add(cycle.number, line->metrics);
    }
  }
  return metrics;
}

}  // namespace reveza::runner
