// What the tuner found, for people. Pure functions.
#pragma once

#include <span>
#include <string>

#include "runner/decide/tuner.h"

namespace reveza::runner {

// A table "workers, steps/s, gain, memory" of what was measured, the number in use marked; then,
// with six or more numbers, why there is a peak or that no law fits. Lines with their ends; empty
// when nothing was measured.
std::string TuningTable(std::span<const TunerRow> rows, unsigned workers, unsigned most,
                        std::string_view unit = "steps");

// Where one number was measured: a line that says it, with the reason that no other was.
std::string OneNumberText(const TunerRow& row, std::string_view reason,
                          std::string_view unit = "steps");

// The decisions, one a line with the time since `start`.
std::string TuningLog(std::span<const Decision> log, std::chrono::nanoseconds start);

}  // namespace reveza::runner
