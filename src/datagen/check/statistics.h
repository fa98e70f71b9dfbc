// How likely it is that counts or numbers come from a distribution by chance. No value of a data
// set comes from here, so floating point will do. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reveza::datagen::check {

struct Goodness {
  double statistic = 0;
  double degrees = 0;  // of freedom; 0 where there was too little to judge
  double p = 1;        // the chance of a statistic so large or larger
};

// Counts against weights, of the same size. Cells where fewer than five are expected are put
// together. A count where the weight is 0 gives p = 0.
Goodness ChiSquare(std::span<const uint64_t> counts, std::span<const uint32_t> weights);
// Of independent tests together: statistics and degrees add up.
Goodness Together(std::span<const Goodness> parts);

// Kolmogorov and Smirnov: numbers that should be uniform from 0 to 1. Sorts them.
Goodness UniformKs(std::vector<double>& values);

// The normal distribution function.
double NormalShare(double deviations);

}  // namespace reveza::datagen::check
