// Symbols of series, from 0: of their values, by quantiles, and of several series together. Pure
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/error.h"

namespace reveza::phi {

using Symbol = std::uint16_t;
inline constexpr int kMaxSymbols = 1 << 16;

// Assigns each value to one of `bins` quantile bins, numbered from 0, with about equally many
// values each. Equal values share a bin, so that there may be fewer. If there are at most `bins`
// distinct values, each is a symbol. Errors: fewer than 2 or more than kMaxSymbols bins, fewer
// values than bins, a value that is not finite, or all values equal.
Result<std::vector<Symbol>> QuantileBins(std::span<const double> values, int bins);

// Returns a symbol from 0 for each distinct combination of the symbols of these series, of equal
// length; kInvalidArgument if there are more than kMaxSymbols.
Result<std::vector<Symbol>> JointSymbols(std::span<const std::vector<Symbol>> series);

}  // namespace reveza::phi
