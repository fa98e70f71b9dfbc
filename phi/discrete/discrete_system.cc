#include "phi/discrete/discrete_system.h"

#include <fmt/format.h>

namespace reveza::phi {
namespace {

// Returns the state of the network whose GatherBits() is `inside`.
Nodes Outside(Nodes inside, Nodes members) {
  Nodes state = 0;
  int place = 0;
  for (int bit = 0; bit < kMaxNetworkNodes; ++bit) {
    if ((members >> bit & 1) != 0) state |= (inside >> place++ & 1) << bit;
  }
  return state;
}

TransitionMatrix Conditioned(const TransitionMatrix& matrix, Nodes state, Nodes members) {
  TransitionMatrix own;
  own.nodes = CountOf(members);
  const std::size_t states = std::size_t{1} << own.nodes;
  for (std::size_t row = 0; row < states; ++row) {
    const Nodes whole = (state & ~members) | Outside(static_cast<Nodes>(row), members);
    for (int node = 0; node < matrix.nodes; ++node) {
      if ((members >> node & 1) != 0) own.on.push_back(matrix.On(whole, node));
    }
  }
  return own;
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

bool DiscreteSystem::IsStronglyConnected() const {
  // Search forwards and backwards from the first node.
  for (const bool forwards : {true, false}) {
    Nodes reached = 1;
    for (int round = 0; round < nodes_; ++round) {
      for (int node = 0; node < nodes_; ++node) {
        const Nodes inputs = inputs_[node];
        const Nodes self = Nodes{1} << node;
        if (forwards && (inputs & reached) != 0) reached |= self;
        if (!forwards && (reached & self) != 0) reached |= inputs;
      }
    }
    if (reached != all()) return false;
  }
  return true;
}

}  // namespace reveza::phi
