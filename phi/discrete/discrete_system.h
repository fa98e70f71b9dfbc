// Transition matrices of networks of binary nodes.
//
// Rows are present states, "little-endian" as in PyPhi: row 1 is the state in which only the first
// node is on. Two layouts are accepted: state by node (2^n rows of n: the probability that each
// node is on next) and state by state (2^n rows of 2^n: the probability of each next state, columns
// in the same order). The latter must be conditionally independent: given the present state, the
// next states of the nodes are independent, or there is no state-by-node form. Thread-safe: values.
//
// Candidate systems, below, are subsets of such networks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

// Larger networks cannot be analysed.
inline constexpr int kMaxNetworkNodes = 16;

struct TransitionMatrix {
  int nodes = 0;
  std::vector<double> on;  // 2^nodes x nodes, row-major

  // P(node is on next | present state).
  double On(std::size_t state, int node) const {
    return on[state * static_cast<std::size_t>(nodes) + static_cast<std::size_t>(node)];
  }
};

// Converts rows in either layout. Errors name the row and column, counted from 1.
Result<TransitionMatrix> ToTransitionMatrix(const std::vector<std::vector<double>>& rows);

// Returns, for each node, the nodes on which its next state depends.
std::vector<Nodes> InputsOf(const TransitionMatrix& matrix);

// A candidate system: a subset of a network's nodes in a state, with the other nodes fixed.
//
// Nodes outside are fixed to their present state, in the past as in the future; this leaves a
// transition matrix of the system's own nodes, numbered 0 to n-1 in the network's order. The two
// tables here hold all probabilities of an analysis (Oizumi, Albantakis, Tononi 2014, text S2);
// nodes that are not conditioned on are averaged over uniformly. Thread-safe: immutable.

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
