// Pure functions.
#pragma once

namespace reveza {

// The chance that a chi-square variable with so many degrees of freedom, more than 0, is at least
// `value`: Q(degrees / 2, value / 2), to about 1e-14, by series or continued fraction (Abramowitz &
// Stegun 6.5.29 and 6.5.31). 1 where there are no degrees of freedom.
double ChiSquareTail(double value, double degrees);

}  // namespace reveza
