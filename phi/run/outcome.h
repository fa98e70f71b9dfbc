// The outcome of a run: its summary and its folder. Values and functions without shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "phi/measures/legacy.h"
#include "phi/measures/significance.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// A window whose measures could not be computed.
struct Unmeasured {
  std::uint64_t cycle = 0;  // last cycle of the window
  std::uint32_t run = 0;
  std::string why;

  bool IsBefore(const Unmeasured& other) const {
    return cycle != other.cycle ? cycle < other.cycle : run < other.run;
  }
};

// Minimum, mean, maximum and final value of a measure over all runs and cycles.
struct MeasureSummary {
  std::uint64_t count = 0;       // available values
  std::uint64_t unmeasured = 0;  // values that were due but could not be measured
  double min = 0;
  double sum = 0;
  double max = 0;
  // The last cycle with a value: its sum over runs, and the number of runs.
  std::uint64_t last_cycle = 0;
  std::uint64_t last_count = 0;
  double last_sum = 0;

  // Adds a value; kNotAvailable is ignored.
  void Add(std::uint64_t cycle, double value);
  double Mean() const { return sum / static_cast<double>(count); }
  double Final() const { return last_sum / static_cast<double>(last_count); }
};

struct RunOutcome {
  bool finished = false;
  std::uint64_t begun = 0;  // cycle of the checkpoint that was resumed, else 0
  std::uint64_t cycle = 0;  // last completed cycle
  std::string started;
  double seconds = 0;  // total, including the processes before a resume
  std::string engine;
  std::vector<MeasureSummary> measures;
  std::optional<Unmeasured> unmeasured;   // the first, by cycle and run
  std::optional<LegacyNull> legacy_null;  // null distribution of phi_legacy, if measured
  // Of a finished run, for each of settings.measures (RunMeasures::Nulls()).
  std::vector<std::optional<Significance>> nulls;
  std::vector<std::uint64_t> hashes;  // final state hash of each run
};

std::filesystem::path SummaryPath(const RunSettings& settings);
// Returns the contents of summary.json.
std::string SummaryText(const RunSettings& settings, std::string_view version,
                        const RunOutcome& outcome);

// Returns one line per measure for display: its values, or why there are none.
std::string MeasuresText(const RunSettings& settings, const RunOutcome& outcome);

// Describes the windows that were due but could not be measured: how many, and why the first.
// Returns "" if there are none.
std::string UnmeasuredText(const RunSettings& settings, const RunOutcome& outcome);

// Returns the current UTC time, such as "2026-11-22T07:30:00Z".
std::string TimeText();

// Creates the folder if necessary and locks it until the descriptor is closed or the process dies.
// Returns kUnavailable if another process holds the lock, or an error if the folder cannot be
// created or written.
Result<UniqueFd> LockFolder(const std::filesystem::path& folder);

// Prepares settings.folder, which must be locked, for a run without a checkpoint. With
// settings.fresh, removes results of an earlier run in every format; otherwise returns
// kIncompatible if there are any, since files without a checkpoint are not this run's to overwrite.
// Returns kPermission if a file cannot be removed.
Status PrepareFolder(const RunSettings& settings);

}  // namespace reveza::phi
