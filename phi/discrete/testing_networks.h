// Networks for tests.
#pragma once

#include <array>
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

// Each node is on or off after each state, at random.
inline TransitionMatrix DeterministicNetwork(int nodes, std::uint64_t seed) {
  TransitionMatrix matrix = NoisyNetwork(nodes, seed);
  for (double& on : matrix.on) on = on < 0.5 ? 0 : 1;
  return matrix;
}

// Each node is the OR, AND, XOR or majority of some nodes, wrong with probability 0, 0.1 or 0.25.
inline TransitionMatrix GateNetwork(int nodes, std::uint64_t seed) {
  TestingNumbers numbers(seed);
  const double noise = std::array{0.0, 0.1, 0.25}[static_cast<std::size_t>(numbers.Next() * 3)];
  std::vector<Nodes> inputs;
  std::vector<int> gates;
  for (int node = 0; node < nodes; ++node) {
    // At least the node before it.
    inputs.push_back(Nodes{1} << ((node + nodes - 1) % nodes));
    for (int from = 0; from < nodes; ++from) {
      if (numbers.Next() < 0.4) inputs.back() |= Nodes{1} << from;
    }
    gates.push_back(static_cast<int>(numbers.Next() * 4));
  }
  TransitionMatrix matrix = {.nodes = nodes, .on = {}};
  for (Nodes state = 0; state <= AllNodes(nodes); ++state) {
    for (int node = 0; node < nodes; ++node) {
      const int on = CountOf(state & inputs[node]);
      const int all = CountOf(inputs[node]);
      const bool is_on = gates[node] == 0   ? on > 0
                         : gates[node] == 1 ? on == all
                         : gates[node] == 2 ? on % 2 == 1
                                            : 2 * on > all;
      matrix.on.push_back(is_on ? 1 - noise : noise);
    }
  }
  return matrix;
}

}  // namespace reveza::phi
