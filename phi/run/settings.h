// Settings of a run, and the host memory that they need. Thread-safe: values and pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "phi/cycles/engine.h"
#include "phi/measures/measures.h"
#include "phi/output/rows.h"

namespace reveza::phi {

inline constexpr std::string_view kLegacyName = "phi_legacy";

struct RunSettings {
  EngineSettings engine;
  std::uint64_t cycles = 500;  // per run, from the start

  bool legacy = true;             // phi_legacy in every cycle
  std::vector<Measure> measures;  // of the six module means, at the atomic partition; phi_r at its
                                  // minimum bipartition
  int window = 50;                // cycles per window
  int every = 50;                 // cycles between windows
  int lag = 1;                    // cycles from past to present
  bool minimum = false;           // use each measure's minimum bipartition

  std::filesystem::path folder;  // "" saves nothing; "-" writes rows to standard output
  RowFormat format = RowFormat::kCsv;
  std::uint64_t checkpoint_every = 50;  // cycles
  bool fresh = false;                   // discard an existing checkpoint

  // Whether results are saved to a folder.
  bool Keeps() const { return !folder.empty() && folder != "-"; }
};

// Parses "phi_legacy,si,phi_g", "all" or "none" into `settings`. Returns kInvalidArgument for an
// unknown name; the message lists the names and suggests the nearest.
Status SetMeasures(std::string_view names, RunSettings& settings);

// Returns the names of the measure columns, in row order.
std::vector<std::string> MeasureNames(const RunSettings& settings);

// Validates the settings and sets engine.correlation as the measures require; kInvalidArgument
// names the valid range.
Status Prepare(RunSettings& settings);

// Parameters that determine the results, as (name, value). A run can resume only from a checkpoint
// with equal parameters.
struct Parameter {
  std::string name;
  std::string value;
};
std::vector<Parameter> ParametersOf(const RunSettings& settings);

// Returns the names of the modules, in order.
std::vector<std::string> ModuleNames();
// Returns the columns of the rows.
RowLayout LayoutOf(const RunSettings& settings);

// Upper bounds of the memory of a run, without its engine. Sums that overflow saturate.
struct RunMemory {
  Bytes states = 0;    // copies for checkpoints and hashes
  Bytes measures = 0;  // recent samples of all runs
  Bytes rows = 0;      // unwritten output: observations, text, rows of a Parquet part
};

RunMemory MemoryOf(const RunSettings& settings);

// Returns kExhausted if the run and the `engine` bytes of its engine exceed `available`; the
// message breaks down the requirement and says what to reduce. Passes if `available` is unknown.
Status CheckMemory(const RunSettings& settings, Bytes engine, std::optional<Bytes> available);

}  // namespace reveza::phi
