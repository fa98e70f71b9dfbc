// The distance between two cause-effect structures: the earth mover's distance that moves the phi
// of one's concepts to the other's; surplus phi moves to or from the null concept, whose
// repertoires are unconstrained (Oizumi et al. 2014, text S2, eq. 18 to 20; PyPhi's ces_distance
// with USE_SMALL_PHI_DIFFERENCE_FOR_CES_DISTANCE false). The distance between two concepts is the
// sum of the earth mover's distances of their cause and effect repertoires, expanded by the
// unconstrained repertoire of the nodes outside each purview.
#pragma once

#include <span>

#include "phi/discrete/concepts.h"
#include "phi/discrete/discrete_system.h"
#include "phi/discrete/hypercube_transport.h"

namespace reveza::phi {

// Returns the distance, rounded to six decimals. Both structures belong to `system`, cut or not.
double StructureDistance(const DiscreteSystem& system, const Gather& gather,
                         std::span<const Concept> first, std::span<const Concept> second,
                         HypercubeTransport& transport);

// Returns the distance between two concepts; a null pointer stands for the null concept.
double ConceptDistance(const DiscreteSystem& system, const Gather& gather, const Concept* first,
                       const Concept* second, HypercubeTransport& transport);

}  // namespace reveza::phi
