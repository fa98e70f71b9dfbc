// System integrated information (phi_s) under IIT 4.0.
//
// A directional partition divides the system into at least two parts, and cuts the inputs of each,
// its outputs, or both; a single node loses its connection to itself. Given cause and effect state,
// phi_c and phi_e are the selectivity of the state times the bits that the partition loses, in
//   effect  log2(p(effect state | s) / p_cut(effect state | s))
//   cause   log2(p(s | cause state) / p_cut(s | cause state))
// or 0 if it gains. phi_s is their minimum at the partition where that is least per connection that
// is cut; among equals, where it is largest.
// Source: Albantakis et al. 2023, PLoS Computational Biology 19(10) e1011465, eq. 14 to 23.
//
// Since nodes are independent, the loss is a sum over parts, which depends only on the union R of
// the parts of which only inputs are cut: a part of which only outputs are cut keeps R and itself,
// others themselves. For each R, the best partition of the rest is found by dynamic programming
// over subsets: 4^n steps, for as many rounds as Dinkelbach's method takes to find the least loss
// per cut.
#pragma once

#include <string_view>
#include <vector>

#include "phi/discrete/candidate_system.h"
#include "phi/discrete/specified_states.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

enum class CutDirection { kInputs, kOutputs, kBoth };

struct DirectedPart {
  Nodes nodes = 0;
  CutDirection cut = CutDirection::kBoth;
};

struct SystemLoss {
  double phi = 0;    // the minimum of the two below
  double cause = 0;  // phi_c
  double effect = 0;
  std::vector<DirectedPart> partition;  // one part: a node without its connection to itself
};

// Finds the minimum partition for a cause and an effect state.
SystemLoss FindMinimumPartition(const CandidateSystem& system, const SpecifiedState& cause,
                                const SpecifiedState& effect);

}  // namespace reveza::phi
