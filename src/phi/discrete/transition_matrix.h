// How the next state of binary nodes depends on the present one.
//
// Rows are present states, "little-endian" as PyPhi has them: row 1 is the state in which only the
// first node is on. Two layouts are read: state by node (2^n rows of n: the probability that each
// node is on next) and state by state (2^n rows of 2^n: the probability of each next state, columns
// in the same order), which must be conditionally independent: no node's next state may tell about
// another's beyond what the present state tells, or there is no state-by-node form.
// Thread-safety: values that are not changed once made.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

// More cannot be analysed, and their table would be large.
inline constexpr int kMostNetworkNodes = 16;

struct TransitionMatrix {
  int nodes = 0;
  std::vector<double> on;  // 2^nodes rows of nodes

  double On(std::size_t state, int node) const {
    return on[state * static_cast<std::size_t>(nodes) + static_cast<std::size_t>(node)];
  }
};

// Rows as they were read; what is wrong is said with row and column, counted from 1.
Result<TransitionMatrix> ToTransitionMatrix(const std::vector<std::vector<double>>& rows);

// Which nodes a node's next state depends on, for each node.
std::vector<Nodes> InputsOf(const TransitionMatrix& matrix);

}  // namespace reveza::phi
