
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "phi/measures/minimum_partition.h"
#include "phi/measures/subset_determinants.h"

namespace reveza::phi {
namespace {

// Tolerance for rounding errors, in nats.
constexpr double kRounding = 1e-12;

// Returns exp(2 f) of each subset, where the measure of a bipartition (A, B) of S is
// f(A) + f(B) - f(S).
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

// Returns the measure of each subset at its minimum bipartition; -infinity for fewer than two
// variables.
std::vector<double> ValuesOf(const std::vector<double>& own) {
  std::vector<double> values(own.size(), -HUGE_VAL);
  for (std::size_t whole = 1; whole < own.size(); ++whole) {
    const std::size_t lowest = whole & (~whole + 1);
    const std::size_t others = whole ^ lowest;
    if (others == 0) continue;
    double least = HUGE_VAL;
    // Enumerate the parts without the lowest variable.
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
    return InvalidArgument("--complexes: {} is not supported; use mi, si or wms", NameOf(measure));
  }
  if (variables < 2 || variables > kMaxComplexVariables) {
    return InvalidArgument(
        "--complexes: {} variables; use 2 to {}, because all bipartitions of all subsets are "
        "compared; select fewer with --columns, such as one part of the bipartition that --mip "
        "queyranne finds for up to {} variables",
        variables, kMaxComplexVariables, PartitionSearch::kMaxQueyranne);
  }
  if (model.LogDeterminant(model.Both(model.AllVariables())) < kMinLogDeterminant) {
    return InvalidArgument(
        "the determinant of the joint correlation matrix is below 1e-260, too small for complexes; "
        "select fewer variables with --columns, or a lower --order");
  }
  const std::vector<double> values = ValuesOf(OwnOf(model, measure, instructions));
  // The maximum over all supersets of a set, and over all complexes within it.
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
