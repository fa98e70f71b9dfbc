// IIT 4.0 straight from its definitions, by enumeration, for tests on up to four nodes: another
// implementation, which shares nothing with the real one but matrices.
#pragma once

#include <vector>

#include "phi/discrete/discrete_system.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

struct ReferencePurview {
  Nodes nodes = 0;
  Nodes state = 0;
};

struct ReferenceMechanism {
  Nodes mechanism = 0;
  double cause_phi = 0;
  double effect_phi = 0;
  std::vector<ReferencePurview> causes;  // all with the largest phi
  std::vector<ReferencePurview> effects;
};

// A relatum: phi_d and the purviews of a distinction.
struct ReferenceDistinction {
  double phi = 0;
  ReferencePurview cause;
  ReferencePurview effect;
};

class Iit4Reference {
 public:
  // The state must be reachable.
  Iit4Reference(const TransitionMatrix& matrix, Nodes state, Nodes members);

  // phi_s for the given states, and the states with the most intrinsic information.
  double SystemPhi(Nodes cause_state, Nodes effect_state) const;
  std::vector<Nodes> CauseStates() const;
  std::vector<Nodes> EffectStates() const;
  // Irreducible mechanisms.
  std::vector<ReferenceMechanism> Mechanisms() const;

 private:
  using Keeps = std::vector<Nodes>;  // by node

  double EffectOf(Nodes nodes, Nodes state, Nodes present, const Keeps& keeps) const;
  double CauseOf(Nodes nodes, Nodes past, const Keeps& keeps) const;
  double CauseInformation(Nodes mechanism, Nodes purview, Nodes past, double* selectivity) const;
  double EffectInformation(Nodes mechanism, Nodes purview, Nodes next, double* selectivity) const;
  double MechanismPhi(Nodes mechanism, const ReferencePurview& purview, bool is_cause) const;
  void FindPurviews(Nodes mechanism, bool is_cause, double* phi,
                    std::vector<ReferencePurview>* found) const;

  int nodes_;
  Nodes state_;
  TransitionMatrix effects_;
  TransitionMatrix causes_;
};

// Sums phi_r over all sets of distinctions, one by one.
struct ReferenceRelations {
  double sum_phi = 0;
  std::vector<double> by_order;  // number of relations, from 1
  std::vector<double> sum_by_order;
  std::vector<double> faces_by_order;  // from 2
};
ReferenceRelations EnumerateRelations(const std::vector<ReferenceDistinction>& distinctions);

}  // namespace reveza::phi
