// The cause and effect states that a mechanism specifies over a purview: those with the most
// intrinsic information, the selectivity of the state times its informativeness in bits
//   effect  p(z|m) log2(p(z|m) / p(z)), p(z) the average over the states of the mechanism
//   cause   p(z|m) log2(p(m|z) / p(m)), p(m) the average over the states of the purview, and
//           p(z|m) = p(m|z) / (sum over z' of p(m|z'))
// where nodes are independent given the state of mechanism (effect) or purview (cause), and the
// system specifies the states of all its nodes over all its nodes.
// Source: Albantakis et al. 2023, PLoS Computational Biology 19(10) e1011465, eq. 5 to 12 for the
// system, 33 to 38 for mechanisms.
#pragma once

#include <vector>

#include "phi/discrete/candidate_system.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

// Values closer than this are equal: intrinsic and integrated information, in bits.
inline constexpr double kTie = 1e-12;

struct SpecifiedState {
  Nodes state = 0;         // of the purview, as bits of the system
  double selectivity = 0;  // p(z|m)
};

struct SpecifiedStates {
  double information = 0;            // in bits
  std::vector<SpecifiedState> tied;  // by ascending state; empty without any information
};

// Not thread-safe: reuses its tables.
class StateSearch {
 public:
  explicit StateSearch(const CandidateSystem& system);

  // Makes the tables of a mechanism, which the calls below refer to.
  void Begin(Nodes mechanism);
  SpecifiedStates Cause(Nodes purview) const;
  SpecifiedStates Effect(Nodes purview) const;

 private:
  void MakeEffects(Nodes mechanism, std::size_t state, std::vector<double>& products) const;

  const CandidateSystem* system_;
  // By purview and its state.
  std::vector<double> likelihood_;     // p(m|z)
  std::vector<double> constrained_;    // p(z|m)
  std::vector<double> unconstrained_;  // p(z)
  std::vector<double> products_;
};

}  // namespace reveza::phi
