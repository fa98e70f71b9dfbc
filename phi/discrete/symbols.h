// Symbols of series, from 0: of their values, by quantiles, and of several series together. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/joint_counts.h"

namespace reveza::phi {

using Symbol = std::uint16_t;
inline constexpr int kMaxSymbols = 1 << 16;

// A sequence of symbols with what all counts of it need.
class SymbolSeries {
 public:
  SymbolSeries() = default;
  SymbolSeries(std::vector<Symbol> symbols);  // NOLINT(google-explicit-constructor)

  std::span<const Symbol> symbols() const { return symbols_; }
  std::size_t size() const { return symbols_.size(); }
  // Returns the highest symbol plus 1, and at least 2, so that a constant has a code of its own.
  std::uint64_t states() const { return states_; }
  int bits() const { return bits_; }  // of a symbol
  // Returns one bit of the symbols from `first` on; bits() must not exceed kMaxPlanes.
  BitPlane Plane(int bit, std::size_t first) const {
    return {planes_.data() + static_cast<std::size_t>(bit) * words_, first};
  }

 private:
  void MakePlanes();

  std::vector<Symbol> symbols_;
  std::uint64_t states_ = 2;
  int bits_ = 1;
  std::size_t words_ = 0;  // per plane
  std::vector<std::uint64_t> planes_;
};

// Assigns each value to one of `bins` quantile bins, numbered from 0, with about equally many
// values each. Equal values share a bin, so that there may be fewer. If there are at most `bins`
// distinct values, each is a symbol. Errors: fewer than 2 or more than kMaxSymbols bins, fewer
// values than bins, a value that is not finite, or all values equal.
Result<std::vector<Symbol>> QuantileBins(std::span<const double> values, int bins);

// Neighbouring columns of rows of values.
struct ValueColumns {
  static constexpr std::size_t kMax = 8;

  const double* first;  // of the first column
  std::size_t rows;
  std::size_t count;   // columns, at most kMax
  std::size_t stride;  // from row to row
};

// The same of each of these columns, with fewer passes over long ones.
std::vector<Result<std::vector<Symbol>>> QuantileBins(const ValueColumns& columns, int bins);

// Returns a symbol from 0 for each distinct combination of the symbols of these series, of equal
// length; kInvalidArgument if there are more than kMaxSymbols.
Result<std::vector<Symbol>> JointSymbols(std::span<const std::span<const Symbol>> series);

}  // namespace reveza::phi
