// What a run is asked for. Thread-safety: values and pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "phi/cycles/engine.h"
#include "phi/measures/measures.h"
#include "phi/output/rows.h"

namespace reveza::phi {

inline constexpr std::string_view kLegacyName = "phi_legacy";

struct RunSettings {
  EngineSettings engine;
  std::uint64_t cycles = 500;  // of each run, from the beginning

  bool legacy = true;             // phi_legacy of every cycle
  std::vector<Measure> measures;  // of the six module means, each a part of its own; phi_r
                                  // at its minimum bipartition
  int window = 50;                // cycles that a measure looks at
  int every = 50;                 // cycles between two values of a measure
  int lag = 1;                    // cycles from past to present
  bool minimum = false;           // at each measure's minimum bipartition instead

  std::filesystem::path folder;  // empty: nothing is kept; "-": rows go to standard output
  RowFormat format = RowFormat::kCsv;
  std::optional<std::filesystem::path> legacy_json;
  std::uint64_t checkpoint_every = 50;  // cycles
  bool fresh = false;                   // do not go on where a checkpoint stands
  bool allow_drift = false;             // go on although another version computed what is there

  bool Keeps() const { return !folder.empty() && folder != "-"; }
};

// "phi_legacy,si,phi_g", "all" or "none". Errors: an unknown name, with all and the nearest.
Status SetMeasures(std::string_view names, RunSettings& settings);

// The names of the columns of measures, in the order of the rows.
std::vector<std::string> MeasureNames(const RunSettings& settings);

// Refuses what cannot be, and says what would be right; engine.correlation is set as it is needed.
Status Prepare(RunSettings& settings);

// What decides the numbers, as (name, value): two runs with the same may go on from each other's
// checkpoints.
struct Fact {
  std::string name;
  std::string value;
};
std::vector<Fact> FactsOf(const RunSettings& settings);

// The names of the modules, in order.
std::vector<std::string> ModuleNames();
RowLayout LayoutOf(const RunSettings& settings);

}  // namespace reveza::phi
