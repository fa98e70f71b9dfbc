// Networks for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "phi/discrete/discrete_system.h"

namespace reveza::phi {

// A deterministic random number generator.
class TestingNumbers {
 public:
  explicit TestingNumbers(std::uint64_t seed) : state_(seed * 2 + 1) {}

  // Uniform in [0, 1).
  double Next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }

 private:
  std::uint64_t state_;
};

inline TransitionMatrix NoisyNetwork(int nodes, std::uint64_t seed) {
  TestingNumbers numbers(seed);
  std::vector<std::vector<double>> rows(std::size_t{1} << nodes);
  for (auto& row : rows) {
    for (int node = 0; node < nodes; ++node) row.push_back(numbers.Next());
  }
  return *ToTransitionMatrix(rows);
}

}  // namespace reveza::phi
