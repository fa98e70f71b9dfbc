// Signals for tests of significance.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

namespace reveza::phi {

// Makes one row of a signal after another.
using Signal = std::function<double(std::mt19937_64&)>;

inline Signal White() {
  return [normal = std::normal_distribution<double>()](auto& engine) mutable {
    return normal(engine);
  };
}

inline Signal Slow() {
  return [x = 0.0, normal = std::normal_distribution<double>()](auto& engine) mutable {
    return x = 0.9 * x + normal(engine);
  };
}

// A resonance of a tenth of the sampling rate, with a bandwidth of a hundredth.
inline Signal NarrowBand() {
  constexpr double kRadius = 0.97;
  return [x = 0.0, last = 0.0, normal = std::normal_distribution<double>()](auto& engine) mutable {
    const double next = 2 * kRadius * std::cos(0.2 * std::numbers::pi) * x -
                        kRadius * kRadius * last + normal(engine);
    last = x;
    return x = next;
  };
}

// Slow, with large jumps.
inline Signal HeavyTailed() {
  return [x = 0.0, noise = std::student_t_distribution<double>(2.0)](auto& engine) mutable {
    return x = 0.7 * x + noise(engine);
  };
}

// Returns trials of independent signals, row by row.
inline std::vector<std::vector<double>> IndependentSignals(Signal (*signal)(), int variables,
                                                           int trials, int rows,
                                                           std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::vector<double>> made;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Signal> signals;
    for (int i = 0; i < variables; ++i) signals.push_back(signal());
    for (int t = 0; t < 200; ++t) {
      for (Signal& one : signals) one(engine);
    }
    std::vector<double>& values = made.emplace_back();
    for (int t = 0; t < rows; ++t) {
      for (Signal& one : signals) values.push_back(one(engine));
    }
  }
  return made;
}

}  // namespace reveza::phi
