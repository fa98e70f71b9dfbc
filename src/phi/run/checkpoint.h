// What a run needs to go on: states, what the measures remember, how far the rows are.
//
// A checkpoint is one file, replaced as a whole (temporary file, fsync, rename), so that there is
// always the old one or the new one. docs/phi-cycles.md has its layout.
// Thread-safety: pure functions of files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "phi/cycles/engine.h"
#include "phi/output/rows.h"
#include "phi/run/measuring.h"
#include "phi/run/settings.h"
#include "phi/run/summary.h"

namespace reveza::phi {

// The bits that a version computes. Raised whenever a golden hash changes.
inline constexpr int kNumbersVersion = 1;

// Of one cycle, for those who are told of steps.
struct CycleMeans {
  std::uint64_t cycle = 0;
  std::vector<double> values;  // of each measure, the mean over runs
};

struct Checkpoint {
  std::string version;  // of the program
  std::string engine;   // what computed last
  BatchState state;     // at cycle 0 without vectors, which follow from the settings
  std::vector<std::vector<Glance>> glances;  // of each run
  RowPlace rows;
  std::uint64_t legacy_bytes = 0;  // of the records for --legacy-json
  std::vector<MeasureSummary> summary;
  std::optional<Unmeasured> unmeasured;  // the first, by cycle and run
  double seconds = 0;                    // worked so far
  std::string started;                   // when the run began, as text
  std::vector<CycleMeans> since;         // the cycles since the checkpoint before
};

std::filesystem::path CheckpointPath(const std::filesystem::path& folder);

Status SaveCheckpoint(const RunSettings& settings, const Checkpoint& checkpoint);

// Nothing where there is none. Errors: it cannot be read or is damaged; it is of other parameters
// or of another version, each named with both values (kIncompatible), unless settings.allow_drift
// says that another version may go on.
Result<std::optional<Checkpoint>> LoadCheckpoint(const RunSettings& settings);

}  // namespace reveza::phi
