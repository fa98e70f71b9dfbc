#include <bit>
#include <cstdint>
#include <numbers>
#include <utility>

#include "phi/measures/significance.h"

namespace reveza::phi {
namespace {

using ComplexNumber = std::complex<double>;

// Returns exp(sign * 2 pi i share).
ComplexNumber Turn(double share, double sign) {
  return std::polar(1.0, sign * 2.0 * std::numbers::pi * share);
}

// In-place, unscaled transform; the length must be a power of two.
void Radix2(std::vector<ComplexNumber>& values, double sign) {
  const std::size_t size = values.size();
  for (std::size_t i = 1, j = 0; i < size; ++i) {
    std::size_t bit = size >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  for (std::size_t length = 2; length <= size; length *= 2) {
    for (std::size_t k = 0; k < length / 2; ++k) {
      const ComplexNumber turn = Turn(static_cast<double>(k) / static_cast<double>(length), sign);
      for (std::size_t i = k; i < size; i += length) {
        const ComplexNumber odd = values[i + length / 2] * turn;
        values[i + length / 2] = values[i] - odd;
        values[i] += odd;
      }
    }
  }
}

// Bluestein's algorithm: a convolution with a chirp, computed at a power-of-two length.
std::vector<ComplexNumber> Bluestein(const std::vector<ComplexNumber>& values, double sign) {
  const std::uint64_t size = values.size();
  const std::uint64_t longer = std::bit_ceil(2 * size - 1);
  std::vector<ComplexNumber> chirp(size);
  for (std::uint64_t t = 0; t < size; ++t) {
    const std::uint64_t square = t * t % (2 * size);
    chirp[t] = Turn(0.5 * static_cast<double>(square) / static_cast<double>(size), sign);
  }
  std::vector<ComplexNumber> left(longer);
  std::vector<ComplexNumber> right(longer);
  for (std::uint64_t t = 0; t < size; ++t) {
    left[t] = values[t] * chirp[t];
    right[t] = std::conj(chirp[t]);
    if (t > 0) right[longer - t] = right[t];
  }
  Radix2(left, -1.0);
  Radix2(right, -1.0);
  for (std::uint64_t k = 0; k < longer; ++k) left[k] *= right[k];
  Radix2(left, 1.0);
  std::vector<ComplexNumber> result(size);
  for (std::uint64_t k = 0; k < size; ++k) {
    result[k] = left[k] * chirp[k] / static_cast<double>(longer);
  }
  return result;
}

}  // namespace

std::vector<ComplexNumber> FourierTransform(std::vector<ComplexNumber> values, bool inverse) {
  if (values.empty()) return values;
  const double sign = inverse ? 1.0 : -1.0;
  if (std::has_single_bit(values.size())) {
    Radix2(values, sign);
  } else {
    values = Bluestein(values, sign);
  }
  if (inverse) {
    for (ComplexNumber& value : values) value /= static_cast<double>(values.size());
  }
  return values;
}

}  // namespace reveza::phi
