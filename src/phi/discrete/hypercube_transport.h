// The earth mover's distance between two distributions of binary nodes, where moving probability
// from one state to another costs the number of nodes that differ (their Hamming distance).
//
// That is a flow of least cost along the edges of a hypercube, each of cost 1: far fewer edges than
// pairs of states. It is found exactly by a primal-dual method. The dual is a whole number for each
// state that differs by at most 1 between neighbours, so that all that a search asks about an edge
// is a bit, and a search through all states at once is a few operations on words of bits. For one
// and two nodes there are closed forms.
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

inline constexpr int kMostHypercubeNodes = 8;

// Holds what a distance needs to be found, so that many can be without an allocation.
// Not safe from several threads.
class HypercubeTransport {
 public:
  // The distance between `p` and `q`, of 2^k states each (k up to kMostHypercubeNodes), with the
  // same sum; right to about 1e-14 for each state.
  double Distance(std::span<const double> p, std::span<const double> q);

 private:
  template <std::size_t kWords>
  class Search;

  std::vector<double> surplus_;
  std::vector<double>
      flow_;  // by state and bit: to that neighbour, negative where it comes from it
};

}  // namespace reveza::phi
