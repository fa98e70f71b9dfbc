// Causal relations among the distinctions of a system under IIT 4.0.
//
// A distinction's cause and effect specify nodes in states. A set of two or more distinctions is
// related if some node is specified in the same state by the cause or the effect of each; a single
// distinction, if by both its cause and its effect. Its phi_r is the number of such nodes times the
// least phi_d per node that any of the distinctions specifies. A face of a relation is a set of two
// or more of its causes and effects, some of each distinction, that all specify a node in the same
// state.
// Source: Albantakis et al. 2023, PLoS Computational Biology 19(10) e1011465, eq. 47 to 57.
//
// Relations number up to 2^(2^n); sums and counts are computed without listing them. For each node
// and state, sort the distinctions that specify it by phi_d per node: the k-th of m is the least of
// C(m-k, j-1) sets of j. Counts follow by inclusion and exclusion over nodes in states.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "phi/discrete/subsets.h"

namespace reveza::phi {

// Nodes in states as bits: node i is bit 2i if off, bit 2i+1 if on.
using NodeStates = std::uint32_t;
NodeStates ToNodeStates(Nodes nodes, Nodes state);

// What relations depend on of a distinction.
struct Relatum {
  double phi = 0;  // phi_d
  NodeStates cause = 0;
  NodeStates effect = 0;

  NodeStates either() const { return cause | effect; }
};

// Returns the sum of phi_r over all relations.
double SumOfRelations(std::span<const Relatum> relata);

struct RelationsOfOrder {
  double count = 0;    // exact up to 10^12
  double sum_phi = 0;  // of phi_r; 0 for faces, which have none of their own
};

struct Relations {
  std::vector<RelationsOfOrder> by_order;  // by number of distinctions, from 1
  std::vector<double> faces_by_order;      // by number of causes and effects, from 2
  double count = 0;
  double faces = 0;
  double sum_phi = 0;
};
Relations CountRelations(std::span<const Relatum> relata);

}  // namespace reveza::phi
