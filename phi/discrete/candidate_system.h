// The probabilities of a candidate system under IIT 4.0: a subset of a network's nodes, in the
// state of the whole network.
// Source: Albantakis et al. 2023, PLoS Computational Biology 19(10) e1011465, eq. 3 and 4.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/discrete_system.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

// Faces of relations of larger systems may be more than a double holds, 2^(2^(n+1)).
inline constexpr int kMaxCandidateNodes = 9;

// Effects take the nodes outside as fixed to their present state. Causes average, for each node
// separately, over the past state of the nodes outside, with its probability given the present
// state of the whole network and a uniform past. Nodes that are neither given nor outside are
// averaged over uniformly. Nodes are numbered 0 to n-1 in the network's order. Thread-safe:
// immutable.
class CandidateSystem {
 public:
  // Returns kInvalidArgument for more than kMaxCandidateNodes members, or if no state of the
  // network leads to its present state.
  static Result<CandidateSystem> Create(const TransitionMatrix& matrix, Nodes state, Nodes members);

  int nodes() const { return nodes_; }
  Nodes all() const { return AllNodes(nodes_); }
  Nodes state() const { return state_; }      // of its own nodes
  Nodes members() const { return members_; }  // in the network

  // P(node is on next | present state of `given`), by state of `given`.
  std::span<const double> On(int node, Nodes given) const {
    return {&on_[At(node, given)], StatesOf(given)};
  }
  // P(node is in its present state | past state of `given`), by state of `given`.
  std::span<const double> Present(int node, Nodes given) const {
    return {&present_[At(node, given)], StatesOf(given)};
  }

  // The positions of the states of each subset in an array over all subsets and their states.
  std::size_t Offset(Nodes subset) const { return offset_[subset]; }
  std::size_t states_of_subsets() const { return states_of_subsets_; }

  // The inputs of each node within the system.
  const std::vector<Nodes>& inputs() const { return inputs_; }

 private:
  std::size_t At(int node, Nodes given) const {
    return static_cast<std::size_t>(node) * states_of_subsets_ + offset_[given];
  }
  // Returns, for each node, averages of `of_node(state, node)` over the nodes that are not given.
  template <typename OfNode>
  std::vector<double> Averages(const OfNode& of_node) const;

  int nodes_ = 0;
  Nodes state_ = 0;
  Nodes members_ = 0;
  std::size_t states_of_subsets_ = 0;
  std::vector<std::size_t> offset_;
  std::vector<double> on_;
  std::vector<double> present_;
  std::vector<Nodes> inputs_;
};

}  // namespace reveza::phi
