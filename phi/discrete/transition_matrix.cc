#include "phi/discrete/transition_matrix.h"

#include <bit>
#include <cmath>

namespace reveza::phi {
namespace {

// PyPhi's tolerance, since files contain rounded decimals.
constexpr double kTolerance = 1e-6;

Status CheckProbabilities(const std::vector<std::vector<double>>& rows) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].size() != rows.front().size()) {
      return InvalidArgument("row {} of the transition matrix has {} numbers, but row 1 has {}",
                             row + 1, rows[row].size(), rows.front().size());
    }
    for (std::size_t column = 0; column < rows[row].size(); ++column) {
      const double value = rows[row][column];
      if (!(value >= -kTolerance && value <= 1 + kTolerance)) {
        return InvalidArgument(
            "row {}, column {} of the transition matrix is {}; probabilities are numbers from 0 to "
            "1",
            row + 1, column + 1, value);
      }
    }
  }
  return {};
}

Result<TransitionMatrix> FromStateByNode(const std::vector<std::vector<double>>& rows) {
  TransitionMatrix matrix;
  matrix.nodes = static_cast<int>(rows.front().size());
  for (const auto& row : rows) {
    for (const double value : row) matrix.on.push_back(std::min(1.0, std::max(0.0, value)));
  }
  return matrix;
}

Result<TransitionMatrix> FromStateByState(const std::vector<std::vector<double>>& rows) {
  const std::size_t states = rows.size();
  TransitionMatrix matrix;
  matrix.nodes = std::countr_zero(states);
  for (std::size_t state = 0; state < states; ++state) {
    double sum = 0;
    std::vector<double> on(static_cast<std::size_t>(matrix.nodes), 0.0);
    for (std::size_t next = 0; next < states; ++next) {
      sum += rows[state][next];
      for (std::size_t node = 0; node < on.size(); ++node) {
        if ((next >> node & 1) != 0) on[node] += rows[state][next];
      }
    }
    if (std::abs(sum - 1) > kTolerance) {
      return InvalidArgument(
          "row {} of the transition matrix sums to {}; rows of a state-by-state matrix sum to 1",
          state + 1, sum);
    }
    for (std::size_t next = 0; next < states; ++next) {
      double product = 1;
      for (std::size_t node = 0; node < on.size(); ++node) {
        product *= (next >> node & 1) != 0 ? on[node] : 1 - on[node];
      }
      if (std::abs(product - rows[state][next]) > kTolerance) {
        return InvalidArgument(
            "row {} of the transition matrix is not conditionally independent: the marginals give "
            "{:.6g} for column {}, but the matrix has {:.6g}; Phi is not defined for nodes that "
            "depend on each other within one step, so add a node for their common cause",
            state + 1, product, next + 1, rows[state][next]);
      }
    }
    for (const double value : on) matrix.on.push_back(std::min(1.0, std::max(0.0, value)));
  }
  return matrix;
}

}  // namespace

Result<TransitionMatrix> ToTransitionMatrix(const std::vector<std::vector<double>>& rows) {
  if (rows.empty() || rows.front().empty()) {
    return InvalidArgument("the transition matrix is empty");
  }
  RETURN_IF_ERROR(CheckProbabilities(rows));
  const std::size_t states = rows.size();
  const std::size_t width = rows.front().size();
  const int nodes = std::countr_zero(states);
  if (!std::has_single_bit(states) || nodes < 1) {
    return InvalidArgument(
        "the transition matrix has {} rows; n binary nodes need 2^n rows: 2, 4, 8, ...", states);
  }
  if (nodes > kMaxNetworkNodes) {
    return InvalidArgument("the transition matrix has {} nodes; at most {} are supported", nodes,
                           kMaxNetworkNodes);
  }
  if (width == states && width != static_cast<std::size_t>(nodes)) return FromStateByState(rows);
  if (width == static_cast<std::size_t>(nodes)) return FromStateByNode(rows);
  return InvalidArgument(
      "the transition matrix has {} rows of {} numbers; for {} states a row has {} (state by node) "
      "or {} (state by state)",
      states, width, states, nodes, states);
}

std::vector<Nodes> InputsOf(const TransitionMatrix& matrix) {
  std::vector<Nodes> inputs(static_cast<std::size_t>(matrix.nodes), 0);
  const std::size_t states = std::size_t{1} << matrix.nodes;
  for (int node = 0; node < matrix.nodes; ++node) {
    for (int input = 0; input < matrix.nodes; ++input) {
      const std::size_t bit = std::size_t{1} << input;
      for (std::size_t state = 0; state < states; ++state) {
        if (matrix.On(state, node) == matrix.On(state ^ bit, node)) continue;
        inputs[node] |= static_cast<Nodes>(bit);
        break;
      }
    }
  }
  return inputs;
}

}  // namespace reveza::phi
