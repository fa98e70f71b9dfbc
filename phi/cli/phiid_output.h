// `--phiid`: the atoms of integrated information decomposition in the output of `phi measure` and
// `phi theory`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "phi/cli/measure_output.h"
#include "phi/measures/phiid.h"
#include "phi/series/series_table.h"

namespace reveza::phi {

struct PhiIdRequest {
  std::string redundancy;            // mmi or ccs; skipped if empty
  std::string local_file;            // where to write local values; skipped if empty
  bool bias = false;                 // also bias-corrected values
  SurrogateOptions surrogates = {};  // skipped if count is 0
};

// Adds --phiid; of a series also --phiid-local.
void AddPhiIdOptions(CLI::App& options, PhiIdRequest& request, bool series);

// Appends the atoms of a series, at options.partition or the minimum bipartition of phi_r, to
// `document` and `text`, and writes their local values.
Status AddPhiId(const SeriesTable& table, const WindowOptions& options, const PhiIdRequest& request,
                Json& document, std::string& text);

// Appends the atoms of a model, by mmi.
Status AddPhiId(const GaussianModel& model, const WindowOptions& options,
                const PhiIdRequest& request, const Names& names, Json& document, std::string& text);

}  // namespace reveza::phi
