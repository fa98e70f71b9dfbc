// Integrated information of a system of binary nodes in a state (IIT 3.0): how far its cause-effect
// structure is from that of the same system with one unidirectional cut, for the cut that changes
// it least. The conventions are those of PyPhi 1.2.0's defaults; kConventions names them, for
// output. Source: Oizumi, Albantakis, Tononi 2014, PLoS Computational Biology 10(5) e1003588.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "phi/discrete/concepts.h"
#include "phi/discrete/discrete_system.h"
#include "phi/discrete/transition_matrix.h"

namespace reveza::phi {

struct Convention {
  std::string_view name;  // as PyPhi calls it
  std::string_view value;
};
const std::vector<Convention>& Conventions();

// An analysis of more nodes would take days.
inline constexpr int kMostSystemNodes = 8;

struct IrreducibilityOptions {
  int threads = 1;                     // which changes no result
  bool single_nodes_have_phi = false;  // SINGLE_MICRO_NODES_WITH_SELFLOOPS_HAVE_PHI
};

struct SystemIrreducibility {
  Nodes members = 0;  // in the network; all that follows counts them from 0
  double phi = 0;
  std::optional<Cut> cut;         // nothing where `why_zero` says why none was made
  std::string_view why_zero;      // empty where cuts were made
  std::vector<Concept> concepts;  // of the whole system
  std::vector<Concept> cut_concepts;
  std::vector<Bipartition> cause_partitions;  // of each of `concepts`: where it is cut least
  std::vector<Bipartition> effect_partitions;
};

// Fails for more than kMostSystemNodes.
Result<SystemIrreducibility> Analyse(const DiscreteSystem& system,
                                     const IrreducibilityOptions& options);

// Every subset of the network's nodes whose state can be reached, by size, then by its nodes; and
// which of them has the largest phi (none where all are 0).
struct Complexes {
  std::vector<SystemIrreducibility> systems;
  std::optional<std::size_t> major;
};
Result<Complexes> FindComplexes(const TransitionMatrix& matrix, Nodes state,
                                const IrreducibilityOptions& options);

}  // namespace reveza::phi
