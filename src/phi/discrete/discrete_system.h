// A candidate system: some nodes of a network in a state, the others held as they are.
//
// What happens outside is fixed to the present state, in the past and in the future alike; what is
// left is a transition matrix of the system's own nodes, here numbered 0 to n-1 in the network's
// order. All probabilities that an analysis needs come from the two tables here (Oizumi,
// Albantakis, Tononi 2014, text S2): what is not conditioned on is averaged over with equal
// weights. Thread-safety: not changed once made.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"
#include "phi/discrete/subsets.h"
#include "phi/discrete/transition_matrix.h"

namespace reveza::phi {

class DiscreteSystem {
 public:
  // `state` is that of the whole network. Fails where the system's state cannot follow from any of
  // its states (StateUnreachable of PyPhi): nothing can be said of its causes.
  static Result<DiscreteSystem> Create(const TransitionMatrix& matrix, Nodes state, Nodes members);

  int nodes() const { return nodes_; }
  Nodes all() const { return AllNodes(nodes_); }
  Nodes state() const { return state_; }      // of its own nodes
  Nodes members() const { return members_; }  // in the network

  // P(node is next in the state that it is in | the present state of `given`), by states of
  // `given`.
  std::span<const double> Likelihood(int node, Nodes given) const {
    const std::size_t at = static_cast<std::size_t>(node) * likelihoods_of_node_ + offset_[given];
    return {&likelihood_[at], StatesOf(given)};
  }
  // P(node is on next | the nodes of `given` are in their state).
  double On(int node, Nodes given) const {
    return on_[(static_cast<std::size_t>(node) << nodes_) | given];
  }

  // The inputs of each node within the system.
  const std::vector<Nodes>& inputs() const { return inputs_; }
  // Whether every node reaches every other.
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
