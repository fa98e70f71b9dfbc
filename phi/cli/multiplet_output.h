// `phi measure --oinfo`: O-information and its kin of all subsets of the columns.
#pragma once

#include <string>

#include "common/base/error.h"
#include "phi/cli/measure_output.h"
#include "phi/measures/multiplets.h"
#include "phi/series/series_table.h"

namespace reveza::phi {

struct MultipletRequest {
  MultipletOptions options = {};
  bool bias = false;                 // also print bias-corrected values
  SurrogateOptions surrogates = {};  // skipped if count is 0
  std::string notes = {};            // lines to print after the heading
};

// Measures all subsets and prints them: as text and JSON, which continues `document`, the mean and
// the extremes of each order; as CSV every subset. Errors: those of MeasureMultiplets();
// kExhausted: the tables do not fit into memory.
Status PrintMultiplets(const SeriesTable& table, const MultipletRequest& request,
                       const OutputFormat& format, Json document);

}  // namespace reveza::phi
