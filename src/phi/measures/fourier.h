// The discrete Fourier transform of any length. Pure functions.
#pragma once

#include <complex>
#include <vector>

namespace reveza::phi {

// X_k = sum_t x_t exp(-2 pi i k t / n); `inverse`: the same with +, divided by n. In O(n log n), by
// radix 2 and, for other lengths, Bluestein's algorithm (1970, IEEE Trans. AU-18:451).
std::vector<std::complex<double>> FourierTransform(std::vector<std::complex<double>> values,
                                                   bool inverse);

}  // namespace reveza::phi
