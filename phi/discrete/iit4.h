// Integrated information under IIT 4.0: of a system of binary nodes in a state (phi_s), its
// cause-effect structure (Phi), and the complexes of a network.
// Source: Albantakis et al. 2023, PLoS Computational Biology 19(10) e1011465; ties: its S1 Text.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/candidate_system.h"
#include "phi/discrete/phi_structure.h"
#include "phi/discrete/system_irreducibility.h"
#include "phi/discrete/system_partitions.h"

namespace reveza::phi {

// The conventions, by PyPhi's names where it has one.
const std::vector<Convention>& Iit4Conventions();

// The cause or effect state of a system.
struct SystemState {
  Nodes state = 0;
  double information = 0;  // intrinsic information, in bits
  std::size_t tied = 0;    // states with as much intrinsic information, this one included
  double phi = 0;          // phi_c or phi_e at the minimum partition
};

struct Iit4System {
  Nodes members = 0;  // in the network; the fields below number nodes within the system
  double phi = 0;     // phi_s
  std::optional<SystemState> cause;
  std::optional<SystemState> effect;
  std::vector<DirectedPart> partition;  // the minimum; empty if `why_zero` is set
  std::string_view why_zero;            // why phi_s is 0 without any partition; empty otherwise
  std::optional<PhiStructure> structure;
};

// Analyses a system, with its structure if it has cause and effect states and `with_structure` is
// set. Results do not depend on `threads`.
Iit4System AnalyseIit4(const CandidateSystem& system, int threads, bool with_structure);

// All subsets of a network's nodes, by size, then lexicographically; and the complexes, by
// descending phi_s: systems with the largest phi_s among those that they overlap, leaving out those
// that overlap a complex found before. Among overlapping systems with equal phi_s the largest Phi
// decides; those with equal Phi are no complexes. Complexes have structures.
struct Iit4Complexes {
  std::vector<Iit4System> systems;
  std::vector<std::size_t> complexes;
};
// Returns errors as CandidateSystem::Create().
Result<Iit4Complexes> FindIit4Complexes(const TransitionMatrix& matrix, Nodes state, int threads,
                                        const AnalysisProgress& progress = {});

}  // namespace reveza::phi
