// The earth mover's distance between two distributions over states of binary nodes, with the
// Hamming distance between states as the cost of moving probability.
//
// It equals a minimum-cost flow along the edges of a hypercube, each of cost 1, which are far fewer
// than the pairs of states. A primal-dual method finds it exactly. The dual is an integer per state
// that differs by at most 1 between neighbours, so that the status of an edge is one bit and a
// search step over all states is a few operations on bit sets. One and two nodes have closed forms.
//
// Source of the definition: Oizumi, Albantakis, Tononi 2014, PLoS Computational Biology 10(5)
// e1003588, text S2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reveza::phi {

inline constexpr int kMaxHypercubeNodes = 8;

// Computes distances with reusable buffers. Not thread-safe.
class HypercubeTransport {
 public:
  // Returns the distance between `p` and `q`, over 2^k states each (k up to kMaxHypercubeNodes) and
  // with equal sums. Accurate to about 1e-14 per state.
  double Distance(std::span<const double> p, std::span<const double> q);

 private:
  template <std::size_t kWords>
  class Search;

  std::vector<double> surplus_;
  std::vector<double>
      flow_;  // by state and bit: to that neighbour, negative where it comes from it
};

}  // namespace reveza::phi
