#include "reveza/jobs/report/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace reveza::jobs {

void MetricSummary::Add(std::uint64_t number, double value) {
  if (++count == 1) {
    *this = {.count = 1,
             .min = value,
             .mean = value,
             .max = value,
             .final = value,
             .final_number = number};
    return;
  }
  const double share = 1 / static_cast<double>(count);
  // Not mean + (value - mean) * share: the difference may overflow.
  mean = mean * (1 - share) + value * share;
  min = std::min(min, value);
  max = std::max(max, value);
  if (number < final_number) return;
  final = number == final_number ? std::max(final, value) : value;
  final_number = number;
}

void Metrics::Add(std::uint64_t number, std::span<const Metric> metrics) {
  for (const auto& [name, value] : metrics) {
    auto known = std::ranges::find(all_, name, &NamedSummary::name);
    if (known == all_.end() && all_.size() >= kMaxNames) continue;
    if (known == all_.end()) known = all_.insert(all_.end(), {name, {}});
    known->summary.Add(number, value);
  }
}

Result<Metrics> ReadMetrics(Journal& journal, std::span<const StepEntry> steps) {
  Metrics metrics;
  for (const auto& step : steps) {
    ASSIGN_OR_RETURN(const auto cycles, journal.Cycles(step.identity));
    for (const auto& cycle : cycles) {
      const auto line =
          ParseCycleLine(fmt::format("reveza step {} {}", cycle.number, cycle.metrics));
      if (line) metrics.Add(cycle.number, line->metrics);
    }
  }
  return metrics;
}

}  // namespace reveza::jobs
