#include "phi/measures/fourier.h"

#include <bit>
#include <cstdint>
#include <numbers>
#include <utility>

namespace reveza::phi {
namespace {

using Complex = std::complex<double>;

// exp(sign * 2 pi i share).
Complex Turn(double share, double sign) {
  return std::polar(1.0, sign * 2.0 * std::numbers::pi * share);
}

// In place; the length is a power of two. Not divided.
void Radix2(std::vector<Complex>& values, double sign) {
  const std::size_t size = values.size();
  for (std::size_t i = 1, j = 0; i < size; ++i) {
    std::size_t bit = size >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  for (std::size_t length = 2; length <= size; length *= 2) {
    for (std::size_t k = 0; k < length / 2; ++k) {
      const Complex turn = Turn(static_cast<double>(k) / static_cast<double>(length), sign);
      for (std::size_t i = k; i < size; i += length) {
        const Complex odd = values[i + length / 2] * turn;
        values[i + length / 2] = values[i] - odd;
        values[i] += odd;
      }
    }
  }
}

// As a convolution with a chirp, which any power of two that is long enough can do.
std::vector<Complex> Bluestein(const std::vector<Complex>& values, double sign) {
  const std::uint64_t size = values.size();
  const std::uint64_t longer = std::bit_ceil(2 * size - 1);
  std::vector<Complex> chirp(size);
  for (std::uint64_t t = 0; t < size; ++t) {
    const std::uint64_t square = t * t % (2 * size);
    chirp[t] = Turn(0.5 * static_cast<double>(square) / static_cast<double>(size), sign);
  }
  std::vector<Complex> left(longer);
  std::vector<Complex> right(longer);
  for (std::uint64_t t = 0; t < size; ++t) {
    left[t] = values[t] * chirp[t];
    right[t] = std::conj(chirp[t]);
    if (t > 0) right[longer - t] = right[t];
  }
  Radix2(left, -1.0);
  Radix2(right, -1.0);
  for (std::uint64_t k = 0; k < longer; ++k) left[k] *= right[k];
  Radix2(left, 1.0);
  std::vector<Complex> result(size);
  for (std::uint64_t k = 0; k < size; ++k) {
    result[k] = left[k] * chirp[k] / static_cast<double>(longer);
  }
  return result;
}

}  // namespace

std::vector<Complex> FourierTransform(std::vector<Complex> values, bool inverse) {
  if (values.empty()) return values;
  const double sign = inverse ? 1.0 : -1.0;
  if (std::has_single_bit(values.size())) {
    Radix2(values, sign);
  } else {
    values = Bluestein(values, sign);
  }
  if (inverse) {
    for (Complex& value : values) value /= static_cast<double>(values.size());
  }
  return values;
}

}  // namespace reveza::phi
