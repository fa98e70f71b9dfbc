// Models for `phi theory`: a coupling matrix A and the covariance of the noise, Y = A X + E.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "phi/measures/matrix.h"

namespace reveza::phi {

struct ModelMatrices {
  Matrix coupling;
  std::optional<Matrix> noise;  // none was given
};

// "0.4,0.4;0.4,0.4": commas inside a row, semicolons between rows.
Result<Matrix> ParseMatrix(std::string_view text, const std::string& name);

// A file of TOML that has nothing but `coupling` and, perhaps, `noise`, lists of rows of numbers:
//
//   coupling = [[0.4, 0.4], [0.4, 0.4]]
//   noise = [[1, 0.5], [0.5, 1]]
//
// Errors name the line and what is expected there.
Result<ModelMatrices> ParseModel(std::string_view text, const std::string& name);

// Reads .toml, or .csv: the coupling matrix, row by row.
Result<ModelMatrices> ReadModel(const std::string& path);

}  // namespace reveza::phi
