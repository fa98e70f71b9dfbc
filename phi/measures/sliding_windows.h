// The measures of sliding windows of a series. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/series.h"
#include "phi/measures/window.h"

namespace reveza::phi {

// The measures of one window, rows [first, last] of all trials together; values of one that could
// not be measured are `missing`.
struct MeasuredWindow {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::vector<WindowValue> values = {};
  std::optional<double> legacy = {};
};

struct SlidingOptions {
  std::int64_t length = 0;  // rows of a window
  std::int64_t step = 1;    // rows between the first rows of neighbouring windows
  int threads = 1;
  bool legacy = false;
};

// Measures sliding windows. Windows never span trials; the first window of a trial begins at its
// first row. One with values that are not finite, or that cannot be measured, has values that say
// why. Errors: no window fits, or none could be measured: the error of the first, with its rows.
Result<std::vector<MeasuredWindow>> MeasureSliding(std::span<const SeriesView> trials,
                                                   const WindowOptions& options,
                                                   const SlidingOptions& sliding);

// Returns the mean absolute correlation at the end of a series (legacy.h), from as many of its last
// rows as fill the records.
Result<double> LegacyAtEnd(const SeriesView& series);

}  // namespace reveza::phi
