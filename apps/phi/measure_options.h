// What `phi measure` and `phi theory` have in common: which measures, at which partition.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "measure_output.h"
#include "phi/measures/window.h"

namespace reveza::phi {

struct MeasureChoice {
  std::string measures = "all", partition, minimum;
  bool normalised = false;
};

void AddMeasureChoice(CLI::App& options, MeasureChoice& choice);
void AddExtraOptions(CLI::App& options, std::string& complexes, std::string& granger);

Result<WindowOptions> WindowOptionsOf(const MeasureChoice& choice, int variables,
                                      const Names& names);

// Complexes by the measure `complexes` and causality of the kind `granger`, where they are not
// empty, beside what is there. Without samples causality has no p.
Status AddExtras(const GaussianModel& model, const std::string& complexes,
                 const std::string& granger, std::optional<std::int64_t> samples,
                 const Names& names, Json& document, std::string& text);

}  // namespace reveza::phi
