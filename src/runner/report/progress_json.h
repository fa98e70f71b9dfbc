// A job's progress for programs: in the events of `jobs run --json`, and in what a runner answers.
// Thread-safety: pure functions of values.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "runner/report/progress_text.h"

namespace reveza::runner {

// {"phi": {"count": 500, "min": 0.5, "mean": 0.6, "max": 0.7, "final": 0.6}}
nlohmann::json MetricsJson(std::span<const NamedSummary> metrics);
// {"p50": 60, "p90": 75}, seconds; null where it is not known.
nlohmann::json EtaJson(const std::optional<RemainingTime>& remaining);
// The fields of a "progress" event. "rate": steps a second, "drift": seconds by which each step is
// longer than the last; null where they are not known, "reason" is null where nothing waits.
nlohmann::json ProgressJson(const Progress& progress);

}  // namespace reveza::runner
