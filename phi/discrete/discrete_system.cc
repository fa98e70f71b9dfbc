#include "phi/discrete/discrete_system.h"

#include <fmt/format.h>

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

bool IsReachable(const TransitionMatrix& own, Nodes state) {
  const std::size_t states = std::size_t{1} << own.nodes;
  for (std::size_t row = 0; row < states; ++row) {
    bool possible = true;
    for (int node = 0; node < own.nodes && possible; ++node) {
      possible = own.On(row, node) != ((state >> node & 1) != 0 ? 0.0 : 1.0);
    }
    if (possible) return true;
  }
  return false;
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

TransitionMatrix Conditioned(const TransitionMatrix& matrix, Nodes state, Nodes members) {
  TransitionMatrix own;
  own.nodes = CountOf(members);
  const std::size_t states = std::size_t{1} << own.nodes;
  for (std::size_t row = 0; row < states; ++row) {
    const Nodes whole = (state & ~members) | ScatterBits(static_cast<Nodes>(row), members);
    for (int node = 0; node < matrix.nodes; ++node) {
      if ((members >> node & 1) != 0) own.on.push_back(matrix.On(whole, node));
    }
  }
  return own;
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

bool IsStronglyConnected(const std::vector<Nodes>& inputs) {
  // Search forwards and backwards from the first node.
  for (const bool forwards : {true, false}) {
    Nodes reached = 1;
    for (std::size_t round = 0; round < inputs.size(); ++round) {
      for (std::size_t node = 0; node < inputs.size(); ++node) {
        const Nodes self = Nodes{1} << node;
        if (forwards && (inputs[node] & reached) != 0) reached |= self;
        if (!forwards && (reached & self) != 0) reached |= inputs[node];
      }
    }
    if (reached != AllNodes(static_cast<int>(inputs.size()))) return false;
  }
  return true;
}

Result<DiscreteSystem> DiscreteSystem::Create(const TransitionMatrix& matrix, Nodes state,
                                              Nodes members) {
  DiscreteSystem system;
  const TransitionMatrix own = Conditioned(matrix, state, members);
  system.nodes_ = own.nodes;
  system.state_ = GatherBits(state, members);
  system.members_ = members;
  if (!IsReachable(own, system.state_)) {
    return InvalidArgument(
        "the state cannot be reached from any state of these nodes, so it has no causes; "
        "use a reachable state");
  }
  system.inputs_ = InputsOf(own);
  system.MakeTables(own);
  return system;
}

void DiscreteSystem::MakeTables(const TransitionMatrix& own) {
  const std::size_t subsets = std::size_t{1} << nodes_;
  offset_.resize(subsets);
  for (std::size_t given = 0; given < subsets; ++given) {
    offset_[given] = likelihoods_of_node_;
    likelihoods_of_node_ += StatesOf(static_cast<Nodes>(given));
  }
  likelihood_.resize(likelihoods_of_node_ * static_cast<std::size_t>(nodes_));
  on_.resize(static_cast<std::size_t>(nodes_) << nodes_);
  for (int node = 0; node < nodes_; ++node) {
    const bool is_on = (state_ >> node & 1) != 0;
    double* const table = &likelihood_[static_cast<std::size_t>(node) * likelihoods_of_node_];
    for (Nodes given = all();; --given) {
      double* const values = table + offset_[given];
      const Nodes missing = all() & ~given;
      // Average over the node that is not given.
      const Nodes wider = given | (missing & (~missing + 1));
      const int place = CountOf(wider & ((missing & (~missing + 1)) - 1));
      for (std::size_t s = 0; s < StatesOf(given); ++s) {
        if (missing == 0) {
          values[s] = is_on ? own.On(s, node) : 1 - own.On(s, node);
          continue;
        }
        const std::size_t low = s & ((std::size_t{1} << place) - 1);
        const std::size_t off = low | (s >> place << (place + 1));
        const double* const above = table + offset_[wider];
        values[s] = (above[off] + above[off | std::size_t{1} << place]) / 2;
      }
      const double now = values[GatherBits(state_, given)];
      on_[(static_cast<std::size_t>(node) << nodes_) | given] = is_on ? now : 1 - now;
      if (given == 0) break;
    }
  }
}

Repertoires::Repertoires(const DiscreteSystem& system, const Gather& gather)
    : system_(&system), gather_(&gather), inputs_(system.inputs()) {
  Fill(nullptr);
}

Repertoires::Repertoires(const Repertoires& uncut, Cut cut)
    : system_(uncut.system_), gather_(uncut.gather_), cut_(cut), inputs_(uncut.inputs_) {
  for (Nodes left = cut.to; left != 0; left &= left - 1) {
    inputs_[static_cast<std::size_t>(std::countr_zero(left))] &= ~cut.from;
  }
  Fill(&uncut);
}

bool Repertoires::FallApart(Nodes senders, Nodes receivers) const {
  // What the lowest receiver is connected with.
  Nodes from = 0;
  Nodes to = receivers & (~receivers + 1);
  for (bool grows = true; grows;) {
    grows = false;
    for (Nodes left = receivers; left != 0; left &= left - 1) {
      const Nodes receiver = left & (~left + 1);
      const Nodes inputs = inputs_[static_cast<std::size_t>(std::countr_zero(left))] & senders;
      if ((to & receiver) == 0 && (inputs & from) == 0) continue;
      grows = grows || (to & receiver) == 0 || (inputs & ~from) != 0;
      to |= receiver;
      from |= inputs;
    }
  }
  return from != senders || to != receivers;
}

bool Repertoires::IsTouched(Nodes mechanism, Nodes purview) const {
  return (mechanism & cut_.to) != 0 && (purview & cut_.from) != 0;
}

void Repertoires::Fill(const Repertoires* uncut) {
  const Nodes all = system_->all();
  const std::size_t pairs = std::size_t{1} << (2 * system_->nodes());
  cause_.resize(pairs);
  marginals_.resize(pairs);
  std::size_t needed = 0;
  for (Nodes mechanism = 0; mechanism <= all; ++mechanism) {
    for (Nodes purview = 0; purview <= all; ++purview) {
      if (uncut != nullptr && !IsTouched(mechanism, purview)) continue;
      needed += StatesOf(purview) + static_cast<std::size_t>(CountOf(purview));
    }
  }
  values_.resize(needed);
  double* free = values_.data();
  for (Nodes mechanism = 0; mechanism <= all; ++mechanism) {
    for (Nodes purview = 0; purview <= all; ++purview) {
      const std::size_t at = At(mechanism, purview);
      if (uncut != nullptr && !IsTouched(mechanism, purview)) {
        cause_[at] = uncut->cause_[at];
        marginals_[at] = uncut->marginals_[at];
        continue;
      }
      double* const cause = free;
      double* const marginals = cause + StatesOf(purview);
      free = marginals + CountOf(purview);
      Compute(mechanism, purview, cause, marginals);
      cause_[at] = cause;
      marginals_[at] = marginals;
    }
  }
}

void Repertoires::Compute(Nodes mechanism, Nodes purview, double* cause, double* marginals) const {
  const std::size_t states = StatesOf(purview);
  const int places = CountOf(purview);
  if (mechanism == 0) {
    for (std::size_t s = 0; s < states; ++s) cause[s] = 1 / static_cast<double>(states);
  } else {
    const int node = std::countr_zero(mechanism);
    const Nodes seen = (cut_.to >> node & 1) != 0 ? purview & ~cut_.from : purview;
    const auto likelihood = system_->Likelihood(node, seen);
    const std::uint16_t* const gathered = gather_->Row((*gather_)(seen, purview));
    // The repertoire of the mechanism without that node has been computed before.
    const double* const rest = cause_[At(mechanism & (mechanism - 1), purview)];
    double sum = 0;
    for (std::size_t s = 0; s < states; ++s) {
      cause[s] = rest[s] * likelihood[gathered[s]];
      sum += cause[s];
    }
    if (sum > 0) {
      for (std::size_t s = 0; s < states; ++s) cause[s] /= sum;
    }
  }
  for (int place = 0; place < places; ++place) {
    double on = 0;
    for (std::size_t s = 0; s < states; ++s) {
      if ((s >> place & 1) != 0) on += cause[s];
    }
    marginals[place] = on;
  }
}

}  // namespace reveza::phi
