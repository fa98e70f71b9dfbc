// What the measures look at: a multivariate time series in somebody else's memory.
#pragma once

#include <cstdint>

namespace reveza::phi {

// `length` rows (time) of `variables` doubles each; row t begins at values + t * stride. The memory
// belongs to whoever made the view and must outlive it. Any unit: the measures do not change when a
// variable is scaled or shifted.
struct SeriesView {
  const double* values = nullptr;
  std::int64_t length = 0;
  int variables = 0;
  std::int64_t stride = 0;

  const double* Row(std::int64_t time) const { return values + time * stride; }

  // The rows [first, first + count).
  SeriesView Part(std::int64_t first, std::int64_t count) const {
    return {Row(first), count, variables, stride};
  }
};

}  // namespace reveza::phi
