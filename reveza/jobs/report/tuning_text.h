// Formats the tuner's results. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs {

// Formats a table of workers, steps/s, gain and memory, with the current number marked, followed by
// what keeps more steps from running, if known. Empty without measurements.
std::string TuningTable(std::span<const TunerRow> rows, unsigned workers, std::string_view limit);

// Formats the line for a single measured number.
std::string SingleCountText(const TunerRow& row, std::string_view limit);

// Formats the decisions, one per line with the time since `start`.
std::string TuningLog(std::span<const Decision> log, std::chrono::nanoseconds start);

}  // namespace reveza::jobs
