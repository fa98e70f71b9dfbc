// The distance between two cause-effect structures: the earth mover's distance that carries the phi
// of the one's concepts to the places of the other's, and what phi is lost or gained to or from the
// null concept, whose repertoires are the unconstrained ones (Oizumi et al. 2014, text S2, eq. 18
// to 20; PyPhi's ces_distance with USE_SMALL_PHI_DIFFERENCE_FOR_CES_DISTANCE false). How far two
// concepts are apart is the sum of the earth mover's distances of their cause and of their effect
// repertoires, expanded by the unconstrained repertoire of the nodes outside each purview.
#pragma once

#include <span>

#include "phi/discrete/concepts.h"
#include "phi/discrete/discrete_system.h"
#include "phi/discrete/hypercube_transport.h"

namespace reveza::phi {

// Rounded to six decimals. Both structures are of `system`, cut or not.
double StructureDistance(const DiscreteSystem& system, const Gather& gather,
                         std::span<const Concept> first, std::span<const Concept> second,
                         HypercubeTransport& transport);

// Between two concepts; a null pointer is the null concept.
double ConceptDistance(const DiscreteSystem& system, const Gather& gather, const Concept* first,
                       const Concept* second, HypercubeTransport& transport);

}  // namespace reveza::phi
