// Reads models for `phi theory`: Y = A X + E with coupling A and the covariance of the noise E.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "phi/measures/matrix.h"

namespace reveza::phi {

struct ModelMatrices {
  Matrix coupling;
  std::optional<Matrix> noise;  // empty if not given
};

// Parses "0.4,0.4;0.4,0.4": commas within rows, semicolons between rows. `name` is for errors.
Result<Matrix> ParseMatrix(std::string_view text, const std::string& name);

// Parses TOML with `coupling` and, optionally, `noise`, arrays of rows of numbers:
//
//   coupling = [[0.4, 0.4], [0.4, 0.4]]
//   noise = [[1, 0.5], [0.5, 1]]
//
// Errors name the line and what was expected there.
Result<ModelMatrices> ParseModel(std::string_view text, const std::string& name);

// Reads a .toml file, or the coupling matrix from any file that ReadSeries() accepts.
Result<ModelMatrices> ReadModel(const std::string& path);

}  // namespace reveza::phi
