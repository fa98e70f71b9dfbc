// The cause and effect repertoires of every mechanism over every purview of a system, under a cut.
//
// Cause repertoire (Oizumi et al. 2014, text S2, eq. 7 to 9): P(past state of the purview | present
// state of the mechanism), the normalised product over the mechanism's nodes of their likelihoods.
// Effect repertoire: the product over the purview's nodes of P(on next | present state of the
// mechanism), stored as those probabilities. Connections across a cut carry noise: a node in `to`
// sees the nodes in `from` as on or off with equal probability. Thread-safe: immutable.
#pragma once

#include <span>
#include <vector>

#include "phi/discrete/discrete_system.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

// Connections from nodes of `from` to nodes of `to` are severed.
struct Cut {
  Nodes from = 0;
  Nodes to = 0;
};

class Repertoires {
 public:
  // Computes the repertoires of the uncut system. `gather` must support its number of nodes. Both
  // must outlive this object.
  Repertoires(const DiscreteSystem& system, const Gather& gather);
  // Computes the repertoires under a cut, sharing unaffected ones with `uncut`, which must outlive
  // this object.
  Repertoires(const Repertoires& uncut, Cut cut);
  Repertoires(Repertoires&&) = default;
  Repertoires(const Repertoires&) = delete;
  Repertoires& operator=(const Repertoires&) = delete;
  Repertoires& operator=(Repertoires&&) = delete;
  ~Repertoires() = default;

  const DiscreteSystem& system() const { return *system_; }
  const Gather& gather() const { return *gather_; }
  Cut cut() const { return cut_; }

  // Returns the distribution over past states of the purview; uniform for an empty mechanism.
  std::span<const double> Cause(Nodes mechanism, Nodes purview) const {
    return {cause_[At(mechanism, purview)], StatesOf(purview)};
  }
  // Returns P(on) of each node of the purview under Cause(), lowest node first.
  std::span<const double> CauseMarginals(Nodes mechanism, Nodes purview) const {
    return {marginals_[At(mechanism, purview)], static_cast<std::size_t>(CountOf(purview))};
  }
  // Returns P(on next) of one node of a purview.
  double EffectOn(Nodes mechanism, int node) const {
    return system_->On(node, (cut_.to >> node & 1) != 0 ? mechanism & ~cut_.from : mechanism);
  }

 private:
  std::size_t At(Nodes mechanism, Nodes purview) const {
    return (static_cast<std::size_t>(mechanism) << system_->nodes()) | purview;
  }
  bool IsTouched(Nodes mechanism, Nodes purview) const;
  // Computes the repertoires affected by the cut, or all without `uncut`.
  void Fill(const Repertoires* uncut);
  void Compute(Nodes mechanism, Nodes purview, double* cause, double* marginals) const;

  const DiscreteSystem* system_;
  const Gather* gather_;
  Cut cut_;
  std::vector<const double*> cause_;
  std::vector<const double*> marginals_;
  std::vector<double> values_;
};

}  // namespace reveza::phi
