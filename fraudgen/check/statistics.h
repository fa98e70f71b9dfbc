// Goodness-of-fit tests. Uses floating point, since no generated data depends on it. Pure
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reveza::fraudgen::check {

struct Goodness {
  double statistic = 0;
  double degrees = 0;  // degrees of freedom; 0: too few values
  double p = 1;        // probability of such a statistic or a larger one
};

// Tests counts against weights of the same size. Cells with an expected count below five are
// merged. A count with weight 0 gives p = 0.
Goodness ChiSquare(std::span<const uint64_t> counts, std::span<const uint32_t> weights);
// Combines independent tests: statistics and degrees add up.
Goodness Combine(std::span<const Goodness> parts);

// Kolmogorov-Smirnov test against the uniform distribution from 0 to 1. Sorts the values.
Goodness UniformKs(std::vector<double>& values);

// Returns the standard normal distribution function.
double NormalShare(double deviations);

}  // namespace reveza::fraudgen::check
