// The chi-square distribution. Pure functions.
#pragma once

namespace reveza {

// Returns the probability that a chi-square variable with `degrees` degrees of freedom is at least
// `value`: Q(degrees / 2, value / 2), accurate to about 1e-14, by series or continued fraction
// (Abramowitz & Stegun 6.5.29 and 6.5.31). 1 if `degrees` is not positive.
double ChiSquareTail(double value, double degrees);

}  // namespace reveza
