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
// Returns whether every node reaches every other node, given the inputs of each.
bool IsStronglyConnected(const std::vector<Nodes>& inputs);

// Returns the matrix of `members` alone, with the other nodes fixed to their state in `state`.
TransitionMatrix Conditioned(const TransitionMatrix& matrix, Nodes state, Nodes members);

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

// The cause and effect repertoires of every mechanism over every purview of a system, under a cut.
//
// Cause repertoire (Oizumi et al. 2014, text S2, eq. 7 to 9): P(past state of the purview | present
// state of the mechanism), the normalised product over the mechanism's nodes of their likelihoods.
// Effect repertoire: the product over the purview's nodes of P(on next | present state of the
// mechanism), stored as those probabilities. Connections across a cut carry noise: a node in `to`
// sees the nodes in `from` as on or off with equal probability. Thread-safe: immutable.

// Connections from nodes of `from` to nodes of `to` are severed.
struct Cut {
  Nodes from = 0;
  Nodes to = 0;
};

class Repertoires {
 public:
  // Computes the repertoires of the uncut system. `gather` must support its number of nodes. Both
  // must outlive this object.
  Repertoires(const DiscreteSystem& system, const Gather& gather);
  // Computes the repertoires under a cut, sharing unaffected ones with `uncut`, which must outlive
  // this object.
  Repertoires(const Repertoires& uncut, Cut cut);
  Repertoires(Repertoires&&) = default;
  Repertoires(const Repertoires&) = delete;
  Repertoires& operator=(const Repertoires&) = delete;
  Repertoires& operator=(Repertoires&&) = delete;
  ~Repertoires() = default;

  const DiscreteSystem& system() const { return *system_; }
  const Gather& gather() const { return *gather_; }
  Cut cut() const { return cut_; }

  // Returns the distribution over past states of the purview; uniform for an empty mechanism.
  std::span<const double> Cause(Nodes mechanism, Nodes purview) const {
    return {cause_[At(mechanism, purview)], StatesOf(purview)};
  }
  // Returns P(on) of each node of the purview under Cause(), lowest node first.
  std::span<const double> CauseMarginals(Nodes mechanism, Nodes purview) const {
    return {marginals_[At(mechanism, purview)], static_cast<std::size_t>(CountOf(purview))};
  }
  // Returns P(on next) of one node of a purview.
  double EffectOn(Nodes mechanism, int node) const {
    return system_->On(node, (cut_.to >> node & 1) != 0 ? mechanism & ~cut_.from : mechanism);
  }

  // Whether influence from `senders` to `receivers`, across the cut none, leaves some of them
  // unconnected with the others: a partition between these changes no repertoire.
  bool FallApart(Nodes senders, Nodes receivers) const;

 private:
  std::size_t At(Nodes mechanism, Nodes purview) const {
    return (static_cast<std::size_t>(mechanism) << system_->nodes()) | purview;
  }
  bool IsTouched(Nodes mechanism, Nodes purview) const;
  // Computes the repertoires affected by the cut, or all without `uncut`.
  void Fill(const Repertoires* uncut);
  void Compute(Nodes mechanism, Nodes purview, double* cause, double* marginals) const;

  const DiscreteSystem* system_;
  const Gather* gather_;
  Cut cut_;
  std::vector<Nodes> inputs_;  // of each node, under the cut
  std::vector<const double*> cause_;
  std::vector<const double*> marginals_;
  std::vector<double> values_;
};

}  // namespace reveza::phi
