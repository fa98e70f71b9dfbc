// Transition matrices of networks of binary nodes.
//
// Rows are present states, "little-endian" as in PyPhi: row 1 is the state in which only the first
// node is on. Two layouts are accepted: state by node (2^n rows of n: the probability that each
// node is on next) and state by state (2^n rows of 2^n: the probability of each next state, columns
// in the same order). The latter must be conditionally independent: given the present state, the
// next states of the nodes are independent, or there is no state-by-node form. Thread-safe: values.
#pragma once

#include <cstddef>
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

}  // namespace reveza::phi
