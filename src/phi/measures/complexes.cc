#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "phi/measures/minimum_partition.h"
#include "phi/measures/subset_determinants.h"

namespace reveza::phi {
namespace {

// Nats that are nothing but rounding.
constexpr double kRounding = 1e-12;
// exp of the logarithm of a determinant below this leaves the range of doubles on the way.
constexpr double kLeastLogDeterminant = -600.0;

// exp(2 f) of each subset, where the measure of a bipartition (A, B) of S is f(A) + f(B) - f(S).
std::vector<double> OwnOf(const GaussianModel& model, Measure measure, Instructions instructions) {
  const int variables = model.variables();
  const auto all = model.AllVariables();
  const auto divide = [&](std::vector<double>& table, const std::vector<int>& rows, int group) {
    std::vector<double> divisors;
    SubsetDeterminants(Submatrix(model.joint(), rows, rows), variables,
                       {.group = group, .in_begin = 0, .in_end = group}, instructions, divisors);
    for (std::size_t mask = 0; mask < table.size(); ++mask) table[mask] /= divisors[mask];
  };
  std::vector<double> own;
  SubsetDeterminants(model.joint(), variables,
                     {.group = model.lags() + 1, .in_begin = 0, .in_end = model.lags() + 1},
                     instructions, own);
  if (measure != Measure::kMultiInformation) divide(own, model.Past(all), model.lags());
  if (measure == Measure::kWholeMinusSum) divide(own, model.Present(all), 1);
  return own;
}

// The measure of each subset at its minimum bipartition; none (-infinity) for fewer than two.
std::vector<double> ValuesOf(const std::vector<double>& own) {
  std::vector<double> values(own.size(), -HUGE_VAL);
  for (std::size_t whole = 1; whole < own.size(); ++whole) {
    const std::size_t lowest = whole & (~whole + 1);
    const std::size_t others = whole ^ lowest;
    if (others == 0) continue;
    double least = HUGE_VAL;
    // All proper subsets of the others, each a part without the lowest variable.
    for (std::size_t part = others; part > 0; part = (part - 1) & others) {
      least = std::min(least, own[part] * own[whole ^ part]);
    }
    values[whole] = 0.5 * std::log(least / own[whole]);
  }
  return values;
}

}  // namespace

Result<std::vector<Complex>> ComplexesOf(const GaussianModel& model, Measure measure,
                                         Instructions instructions) {
  const int variables = model.variables();
  if (measure != Measure::kMultiInformation && measure != Measure::kStochasticInteraction &&
      measure != Measure::kWholeMinusSum) {
    return Fail(
        Error::Code::kInvalidArgument,
        fmt::format("complexes are searched for by mi, si or wms, not by {}", NameOf(measure)));
  }
  if (variables < 2 || variables > kMostComplexVariables) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("complexes of {} variables: 2 to {} can be searched, for all subsets "
                            "have all their bipartitions compared; choose fewer with --columns",
                            variables, kMostComplexVariables));
  }
  if (model.LogDeterminant(model.Both(model.AllVariables())) < kLeastLogDeterminant) {
    return Fail(Error::Code::kInvalidArgument,
                "the determinant of the joint correlation matrix is below 1e-260: too little for "
                "complexes; choose fewer variables with --columns, or a lower --order");
  }
  const std::vector<double> values = ValuesOf(OwnOf(model, measure, instructions));
  // The most of all sets that a set is part of, and of all complexes inside of it.
  std::vector<double> above(values.size(), -HUGE_VAL);
  for (std::size_t mask = values.size() - 1; mask > 0; --mask) {
    for (int i = 0; i < variables; ++i) {
      const std::size_t larger = mask | (std::size_t{1} << i);
      if (larger == mask) continue;
      above[mask] = std::max({above[mask], above[larger], values[larger]});
    }
  }
  std::vector<double> inside(values.size(), -HUGE_VAL);
  std::vector<Complex> complexes;
  for (std::size_t mask = 1; mask < values.size(); ++mask) {
    const bool is_complex = values[mask] > std::max(above[mask], 0.0) + kRounding;
    Complex found;
    for (int i = 0; i < variables; ++i) {
      if (((mask >> i) & 1U) == 0) continue;
      found.variables.push_back(i);
      inside[mask] = std::max(inside[mask], inside[mask ^ (std::size_t{1} << i)]);
    }
    if (!is_complex) continue;
    found.value = values[mask];
    found.main = inside[mask] <= values[mask];
    inside[mask] = std::max(inside[mask], values[mask]);
    complexes.push_back(std::move(found));
  }
  std::ranges::sort(complexes, [](const Complex& one, const Complex& other) {
    return one.value != other.value ? one.value > other.value : one.variables < other.variables;
  });
  return complexes;
}

}  // namespace reveza::phi
