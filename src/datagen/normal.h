// The normal distribution from a table of fixed-point quantiles: the C library's functions differ
// between machines in their last bits, these numbers do not. Safe from any thread.
#pragma once

#include <cstdint>

namespace reveza::datagen {

// A standard normal number in units of 2^-16, from 64 random bits: straight lines between 1025
// quantiles, ended at 4 standard deviations.
int64_t NormalOf(uint64_t bits);

// mean + deviation * normal, rounded to the nearest unit, ended at `least` and `most`.
// Mean and deviation are below 2^40.
int64_t ClampedNormal(uint64_t bits, int64_t mean, int64_t deviation, int64_t least, int64_t most);

}  // namespace reveza::datagen
