// Systems for tests: reference systems and random stable ones.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "phi/measures/gaussian.h"
#include "phi/measures/matrix.h"

namespace reveza::phi {

// Two uncoupled blocks of two variables: self-coupling 0.2, coupling within a block 0.5.
inline Matrix TwoBlocks() {
  return {{.2, .5, 0, 0}, {.5, .2, 0, 0}, {0, 0, .2, .5}, {0, 0, .5, .2}};
}

struct TestingSystem {
  Matrix coupling;
  Matrix noise;
};

// Returns a system with spectral radius 0.7 and correlated noise.
inline TestingSystem RandomSystem(int size, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  Matrix coupling(size, size);
  Matrix factor = Matrix::Identity(size);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      coupling(i, j) = normal(engine);
      factor(i, j) += 0.4 * normal(engine);
    }
  }
  const double radius = SpectralRadius(coupling);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) coupling(i, j) *= 0.7 / radius;
  }
  Matrix noise = ProductTransposed(factor, factor);
  for (int i = 0; i < size; ++i) noise(i, i) += 0.2;
  return {.coupling = std::move(coupling), .noise = std::move(noise)};
}

// Simulates `length` rows of Y = A X + E after a burn-in of 100 rows.
inline std::vector<double> Simulated(const TestingSystem& system, std::int64_t length,
                                     std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  const int size = system.coupling.rows();
  const Matrix lower = *Cholesky(system.noise);
  std::vector<double> values;
  std::vector<double> state(static_cast<std::size_t>(size), 0.0);
  for (std::int64_t t = -100; t < length; ++t) {
    std::vector<double> drawn(state.size());
    for (double& value : drawn) value = normal(engine);
    std::vector<double> next(state.size(), 0.0);
    for (int i = 0; i < size; ++i) {
      double sum = 0.0;
      for (int j = 0; j < size; ++j) {
        sum += system.coupling(i, j) * state[j];
        sum += lower(i, j) * drawn[j];
      }
      next[i] = sum;
    }
    state = next;
    if (t >= 0) values.insert(values.end(), state.begin(), state.end());
  }
  return values;
}

}  // namespace reveza::phi
