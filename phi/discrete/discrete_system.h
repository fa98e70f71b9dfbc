// A candidate system: a subset of a network's nodes in a state, with the other nodes fixed.
//
// Nodes outside are fixed to their present state, in the past as in the future; this leaves a
// transition matrix of the system's own nodes, numbered 0 to n-1 in the network's order. The two
// tables here hold all probabilities of an analysis (Oizumi, Albantakis, Tononi 2014, text S2);
// nodes that are not conditioned on are averaged over uniformly. Thread-safe: immutable.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/subsets.h"
#include "phi/discrete/transition_matrix.h"

namespace reveza::phi {

class DiscreteSystem {
 public:
  // Creates the system of `members`, with `state` the state of the whole network. Returns
  // kInvalidArgument if no state of the system leads to its present state (PyPhi's
  // StateUnreachableError), which then has no causes.
  static Result<DiscreteSystem> Create(const TransitionMatrix& matrix, Nodes state, Nodes members);

  int nodes() const { return nodes_; }
  Nodes all() const { return AllNodes(nodes_); }
  Nodes state() const { return state_; }      // of its own nodes
  Nodes members() const { return members_; }  // in the network

  // P(node's next state equals its present state | state of `given`), by state of `given`.
  std::span<const double> Likelihood(int node, Nodes given) const {
    const std::size_t at = static_cast<std::size_t>(node) * likelihoods_of_node_ + offset_[given];
    return {&likelihood_[at], StatesOf(given)};
  }
  // P(node is on next | `given` is in its present state).
  double On(int node, Nodes given) const {
    return on_[(static_cast<std::size_t>(node) << nodes_) | given];
  }

  // The inputs of each node within the system.
  const std::vector<Nodes>& inputs() const { return inputs_; }
  // Whether every node reaches every other node.
  bool IsStronglyConnected() const;

 private:
  void MakeTables(const TransitionMatrix& own);

  int nodes_ = 0;
  Nodes state_ = 0;
  Nodes members_ = 0;
  std::vector<Nodes> inputs_;
  std::size_t likelihoods_of_node_ = 0;
  std::vector<std::size_t> offset_;  // by `given`
  std::vector<double> likelihood_;
  std::vector<double> on_;
};

}  // namespace reveza::phi
