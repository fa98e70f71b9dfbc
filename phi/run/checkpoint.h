// The checkpoint of a run: states, recent samples of the measures and the position of the rows.
//
// A checkpoint is a single file, replaced atomically (temporary file, fsync, rename).
// docs/phi-cycles.md documents its layout. Thread-safe: functions of files without shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "phi/cycles/engine.h"
#include "phi/output/rows.h"
#include "phi/run/outcome.h"
#include "phi/run/run_measures.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// Version of the numerical results. Raised whenever a golden hash (cpu_engine_test.cc) changes.
inline constexpr int kNumbersVersion = 1;

// Means of the measures in one cycle, reported as a step.
struct CycleMeans {
  std::uint64_t cycle = 0;
  std::vector<double> values;  // mean over runs, by measure; kNotAvailable if none
};

struct Checkpoint {
  std::string version;  // of the program
  std::string engine;   // that computed the latest cycles
  BatchState state;     // no vectors at cycle 0; they follow from the settings
  std::vector<std::vector<CycleSample>> samples;  // of each run
  RowPosition rows;
  std::vector<MeasureSummary> summary;
  std::optional<Unmeasured> unmeasured;  // the first, by cycle and run
  double seconds = 0;                    // total run time so far
  std::string started;                   // start of the run, as TimeText()
  std::vector<CycleMeans> since;         // cycles since the previous checkpoint
};

std::filesystem::path CheckpointPath(const std::filesystem::path& folder);

// Replaces the checkpoint in settings.folder.
Status SaveCheckpoint(const RunSettings& settings, const Checkpoint& checkpoint);

// Loads the checkpoint of settings.folder; nothing if there is none. Returns kIncompatible if it is
// damaged, or was written with other parameters or another kNumbersVersion; the message names each
// difference with both values.
Result<std::optional<Checkpoint>> LoadCheckpoint(const RunSettings& settings);

}  // namespace reveza::phi
