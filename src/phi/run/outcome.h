// What a run has come to, and its summary. Thread-safety: values and pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "phi/measures/legacy.h"
#include "phi/run/settings.h"
#include "phi/run/summary.h"

namespace reveza::phi {

struct RunOutcome {
  bool finished = false;
  std::uint64_t begun = 0;  // 0, or the cycle of the checkpoint that it went on from
  std::uint64_t cycle = 0;
  std::string started;
  double seconds = 0;  // with those of the programs before
  std::string engine;
  std::vector<MeasureSummary> measures;
  std::optional<Unmeasured> unmeasured;   // the first, by cycle and run
  std::optional<LegacyNull> legacy_null;  // what independent noise gives, where phi_legacy is
  std::vector<std::uint64_t> hashes;      // of each run's last state
};

std::filesystem::path SummaryPath(const RunSettings& settings);
// What stands in it.
std::string SummaryText(const RunSettings& settings, std::string_view version,
                        const RunOutcome& outcome);

// A line a measure, for people: its values, or why there are none.
std::string MeasuresText(const RunSettings& settings, const RunOutcome& outcome);

// How many cells are empty although their windows were due, and why the first is; empty where none
// is.
std::string UnmeasuredText(const RunSettings& settings, const RunOutcome& outcome);

// "2026-11-22T07:30:00Z"
std::string TimeText();

}  // namespace reveza::phi
