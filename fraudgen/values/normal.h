// The normal distribution from a table of fixed-point quantiles. Unlike the C library's functions,
// results are bit-identical on every machine. Thread-safe.
#pragma once

#include <cstdint>

namespace reveza::fraudgen {

// Returns a standard normal number in units of 2^-16 from 64 random bits: linear interpolation
// between 1025 quantiles, cut at 4 standard deviations.
int64_t NormalOf(uint64_t bits);

// Returns mean + deviation * normal, rounded to the nearest unit and clamped to [min, max].
// Mean and deviation are below 2^40.
int64_t ClampedNormal(uint64_t bits, int64_t mean, int64_t deviation, int64_t min, int64_t max);

}  // namespace reveza::fraudgen
