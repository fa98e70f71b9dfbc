// The causes and effects that the mechanisms of a system specify irreducibly under IIT 4.0.
// Source: Albantakis et al. 2023, PLoS Computational Biology 19(10) e1011465, eq. 33 to 46.
#pragma once

#include <vector>

#include "phi/discrete/candidate_system.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

// A part of a mechanism and of its purview.
struct JointPart {
  Nodes mechanism = 0;
  Nodes purview = 0;
};

// A purview, the state that the mechanism specifies over it, and its minimum partition.
struct Purview {
  Nodes nodes = 0;
  Nodes state = 0;  // as bits of the system
  double selectivity = 0;
  std::vector<JointPart> partition;
};

// The cause or the effect of a mechanism: the purviews and states with the largest phi, which is
// the selectivity of the state times the loss of the minimum partition, in bits.
struct Irreducible {
  double phi = 0;
  std::vector<Purview> tied;  // larger purviews first, then in the order {A}, {B}, ...
};

struct MechanismPower {
  Nodes mechanism = 0;
  Irreducible cause;
  Irreducible effect;
};

// Returns the mechanisms whose cause and effect are both irreducible, by ascending mask.
std::vector<MechanismPower> FindMechanisms(const CandidateSystem& system, int threads);

}  // namespace reveza::phi
