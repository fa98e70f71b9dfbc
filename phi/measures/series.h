// A non-owning view of a multivariate time series.
#pragma once

#include <cstdint>

namespace reveza::phi {

// `length` rows (time steps) of `variables` doubles each; row t begins at values + t * stride. The
// caller keeps the memory alive. Units are arbitrary: scaling or shifting a variable does not
// change the measures.
struct SeriesView {
  const double* values = nullptr;
  std::int64_t length = 0;
  int variables = 0;
  std::int64_t stride = 0;

  const double* Row(std::int64_t time) const { return values + time * stride; }

  // Returns the rows [first, first + count).
  SeriesView Part(std::int64_t first, std::int64_t count) const {
    return {Row(first), count, variables, stride};
  }
};

}  // namespace reveza::phi
