// Integrated information (Phi of IIT 3.0) of a system of binary nodes in a state: the distance
// between its cause-effect structure and that of the system under the unidirectional cut that
// changes it least. The conventions are those of PyPhi 1.2.0's defaults, listed by Conventions().
// Source: Oizumi, Albantakis, Tononi 2014, PLoS Computational Biology 10(5) e1003588.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/analysis_progress.h"
#include "phi/discrete/concepts.h"
#include "phi/discrete/discrete_system.h"
#include "phi/discrete/hypercube_transport.h"

namespace reveza::phi {

struct Convention {
  std::string_view name;  // PyPhi's name
  std::string_view value;
};
const std::vector<Convention>& Conventions();

// Larger systems would take days.
inline constexpr int kMaxSystemNodes = 8;

struct IrreducibilityOptions {
  int threads = 1;                     // does not affect results
  bool single_nodes_have_phi = false;  // SINGLE_MICRO_NODES_WITH_SELFLOOPS_HAVE_PHI
  AnalysisProgress progress = {};
};

struct SystemIrreducibility {
  Nodes members = 0;  // in the network; the fields below number nodes within the system
  double phi = 0;
  std::optional<Cut> cut;         // the minimum cut; empty if `why_zero` is set
  std::string_view why_zero;      // why Phi is 0 without any cut; empty otherwise
  std::vector<Concept> concepts;  // of the uncut system
  std::vector<Concept> cut_concepts;
  std::vector<Bipartition> cause_partitions;  // minimum partition of each of `concepts`
  std::vector<Bipartition> effect_partitions;
};

// Analyses a system. Returns kInvalidArgument for more than kMaxSystemNodes nodes.
Result<SystemIrreducibility> Analyse(const DiscreteSystem& system,
                                     const IrreducibilityOptions& options);

// All subsets of the network's nodes whose state is reachable, by size, then lexicographically, and
// the index of the one with the largest phi (none if all are 0).
struct Complexes {
  std::vector<SystemIrreducibility> systems;
  std::optional<std::size_t> major;
};
Result<Complexes> FindComplexes(const TransitionMatrix& matrix, Nodes state,
                                const IrreducibilityOptions& options);

// The distance between two cause-effect structures: the earth mover's distance that moves the phi
// of one's concepts to the other's; surplus phi moves to or from the null concept, whose
// repertoires are unconstrained (Oizumi et al. 2014, text S2, eq. 18 to 20; PyPhi's ces_distance
// with USE_SMALL_PHI_DIFFERENCE_FOR_CES_DISTANCE false). The distance between two concepts is the
// sum of the earth mover's distances of their cause and effect repertoires, expanded by the
// unconstrained repertoire of the nodes outside each purview.
//
// Returns the distance, rounded to six decimals. Both structures belong to `system`, cut or not.
double StructureDistance(const DiscreteSystem& system, const Gather& gather,
                         std::span<const Concept> first, std::span<const Concept> second,
                         HypercubeTransport& transport);

// Returns the distance between two concepts; a null pointer stands for the null concept.
double ConceptDistance(const DiscreteSystem& system, const Gather& gather, const Concept* first,
                       const Concept* second, HypercubeTransport& transport);

}  // namespace reveza::phi
