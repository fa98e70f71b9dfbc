#include "phi/discrete/candidate_system.h"

#include <bit>
#include <cmath>
#include <utility>

namespace reveza::phi {
namespace {

Status CheckMembers(int nodes) {
  if (nodes <= kMaxCandidateNodes) return {};
  return InvalidArgument(
      "{} nodes are too many for an exact analysis under IIT 4.0, whose work grows tenfold per "
      "node; choose at most {} with --subsystem, which fixes the others",
      nodes, kMaxCandidateNodes);
}

// Returns P(present state of the network | past state), by past state.
std::vector<double> LikelihoodOfPresent(const TransitionMatrix& matrix, Nodes state) {
  std::vector<double> likelihood(std::size_t{1} << matrix.nodes, 1.0);
  for (std::size_t past = 0; past < likelihood.size(); ++past) {
    for (int node = 0; node < matrix.nodes; ++node) {
      const double on = matrix.On(past, node);
      likelihood[past] *= (state >> node & 1) != 0 ? on : 1 - on;
    }
  }
  return likelihood;
}

// Returns the matrix by which causes are found: P(node on | past state of the members), averaged
// over the past of the nodes outside.
Result<TransitionMatrix> CauseMatrix(const TransitionMatrix& matrix, Nodes state, Nodes members) {
  const std::vector<double> likelihood = LikelihoodOfPresent(matrix, state);
  const Nodes outside = AllNodes(matrix.nodes) & ~members;
  std::vector<double> weight(StatesOf(outside), 0.0);
  double total = 0;
  for (std::size_t past = 0; past < likelihood.size(); ++past) {
    weight[GatherBits(static_cast<Nodes>(past), outside)] += likelihood[past];
    total += likelihood[past];
  }
  if (total == 0) {
    return InvalidArgument(
        "the state cannot be reached from any state of the network, so it has no causes; "
        "use a reachable state");
  }
  TransitionMatrix own;
  own.nodes = CountOf(members);
  own.on.assign(StatesOf(members) * static_cast<std::size_t>(own.nodes), 0.0);
  for (std::size_t past = 0; past < likelihood.size(); ++past) {
    const double share = weight[GatherBits(static_cast<Nodes>(past), outside)] / total;
    double* on = &own.on[GatherBits(static_cast<Nodes>(past), members) *
                         static_cast<std::size_t>(own.nodes)];
    for (int node = 0; node < matrix.nodes; ++node) {
      if ((members >> node & 1) != 0) *on++ += share * matrix.On(past, node);
    }
  }
  return own;
}

// Returns the inputs of the members among them.
std::vector<Nodes> InputsWithin(const TransitionMatrix& matrix, Nodes members) {
  std::vector<Nodes> within;
  const std::vector<Nodes> inputs = InputsOf(matrix);
  for (int node = 0; node < matrix.nodes; ++node) {
    if ((members >> node & 1) != 0) within.push_back(GatherBits(inputs[node], members));
  }
  return within;
}

}  // namespace

template <typename OfNode>
std::vector<double> CandidateSystem::Averages(const OfNode& of_node) const {
  std::vector<double> averages(states_of_subsets_ * static_cast<std::size_t>(nodes_));
  for (int node = 0; node < nodes_; ++node) {
    double* const table = &averages[At(node, 0)];
    for (Nodes given = all();; --given) {
      double* const values = table + offset_[given];
      // Average over the first node that is not given.
      const Nodes missing = all() & ~given;
      const Nodes first = missing & (~missing + 1);
      const double* const above = missing == 0 ? nullptr : table + offset_[given | first];
      const int place = CountOf(given & (first - 1));
      for (std::size_t s = 0; s < StatesOf(given); ++s) {
        if (missing == 0) {
          values[s] = of_node(s, node);
          continue;
        }
        const std::size_t low = s & ((std::size_t{1} << place) - 1);
        const std::size_t off = low | (s >> place << (place + 1));
        values[s] = (above[off] + above[off | std::size_t{1} << place]) / 2;
      }
      if (given == 0) break;
    }
  }
  return averages;
}

Result<CandidateSystem> CandidateSystem::Create(const TransitionMatrix& matrix, Nodes state,
                                                Nodes members) {
  RETURN_IF_ERROR(CheckMembers(CountOf(members)));
  ASSIGN_OR_RETURN(const auto causes, CauseMatrix(matrix, state, members));
  const TransitionMatrix effects = Conditioned(matrix, state, members);
  CandidateSystem system;
  system.nodes_ = CountOf(members);
  system.state_ = GatherBits(state, members);
  system.members_ = members;
  system.inputs_ = InputsWithin(matrix, members);
  for (Nodes subset = 0; subset <= system.all(); ++subset) {
    system.offset_.push_back(system.states_of_subsets_);
    system.states_of_subsets_ += StatesOf(subset);
  }
  system.on_ = system.Averages([&](std::size_t s, int node) { return effects.On(s, node); });
  system.present_ = system.Averages([&](std::size_t s, int node) {
    return (system.state_ >> node & 1) != 0 ? causes.On(s, node) : 1 - causes.On(s, node);
  });
  return system;
}

}  // namespace reveza::phi
