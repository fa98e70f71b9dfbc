// Pure.
#pragma once

namespace reveza::phi {

// psi(x) = d log Gamma(x) / dx, x > 0, to about 1e-14 (Abramowitz & Stegun 6.3.5 and 6.3.18).
double Digamma(double x);

}  // namespace reveza::phi
