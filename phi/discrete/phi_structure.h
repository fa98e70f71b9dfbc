// The structure that a system unfolds under IIT 4.0 (Phi-structure): its distinctions and their
// relations, and structure integrated information, Phi: the sum of their phi_d and phi_r.
//
// Distinctions are mechanisms whose irreducible cause and effect agree with the cause and effect
// state of the system; phi_d is the smaller phi of the two. Where several purviews or states have
// the same phi, those are taken that agree with the system's states and give the largest Phi.
// Source: Albantakis et al. 2023, PLoS Computational Biology 19(10) e1011465, eq. 46 to 58; ties:
// its S1 Text.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "phi/discrete/distinctions.h"
#include "phi/discrete/relations.h"

namespace reveza::phi {

struct Distinction {
  Nodes mechanism = 0;
  double phi = 0;  // phi_d
  double cause_phi = 0;
  double effect_phi = 0;
  Purview cause;
  Purview effect;
};

struct PhiStructure {
  std::vector<Distinction> distinctions;  // by ascending mask of the mechanism
  std::size_t incongruent = 0;            // irreducible mechanisms that are not distinctions
  // Whether all combinations of tied purviews were compared; else each was chosen in turn, until
  // no other choice of a single one had a larger Phi.
  bool all_ties_compared = true;
  double sum_phi_d = 0;
  Relations relations;
  double phi = 0;
};

// Returns the structure for a cause and an effect state of the system.
PhiStructure Unfold(std::span<const MechanismPower> mechanisms, Nodes cause_state,
                    Nodes effect_state);

// Whether renumbering the nodes turns one structure into the other, where all mechanisms are in
// their state in `state`.
bool AreIsomorphic(const PhiStructure& a, const PhiStructure& b, int nodes, Nodes state);

}  // namespace reveza::phi
