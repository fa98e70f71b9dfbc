// The concepts of a system: mechanisms with their maximally irreducible (core) cause and effect,
// under the conventions of PyPhi 1.2.0's defaults:
//   - The core is the purview with the largest phi; ties go to the largest purview
//     (PICK_SMALLEST_PURVIEW false), then to the first in the order {A}, {B}, {C}, {A,B}, {A,C},
//     ...
//   - The phi of a mechanism is the smaller of its two cores'; it is a concept if that is nonzero.
// Source: Oizumi, Albantakis, Tononi 2014, PLoS Computational Biology 10(5) e1003588, text S2.
#pragma once

#include <vector>

#include "phi/discrete/irreducibility.h"
#include "phi/discrete/repertoires.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

struct Core {
  Nodes purview = 0;
  double phi = 0;
};

struct Concept {
  Nodes mechanism = 0;
  double phi = 0;
  Core cause;
  Core effect;
  std::vector<double> cause_repertoire;  // by state of the purview
  std::vector<double> cause_marginals;   // P(on) of the purview's nodes, lowest first
  std::vector<double> effect_on;         // P(on next) of the purview's nodes, lowest first
};

// phi of every mechanism over every purview of the uncut system. Thread-safe once filled.
class PhiTable {
 public:
  explicit PhiTable(const Repertoires& uncut);

  const Repertoires& repertoires() const { return *repertoires_; }
  double Cause(Nodes mechanism, Nodes purview) const { return cause_[At(mechanism, purview)]; }
  double Effect(Nodes mechanism, Nodes purview) const { return effect_[At(mechanism, purview)]; }
  // Fills the entries of one mechanism. May be called concurrently for different mechanisms.
  void Fill(Nodes mechanism, IrreducibilitySearch& search);

  // All purviews except the empty one, in order of preference among ties.
  const std::vector<Nodes>& purviews() const { return purviews_; }

 private:
  std::size_t At(Nodes mechanism, Nodes purview) const {
    return (static_cast<std::size_t>(mechanism) << repertoires_->system().nodes()) | purview;
  }

  const Repertoires* repertoires_;
  std::vector<Nodes> purviews_;
  std::vector<double> cause_;
  std::vector<double> effect_;
};

// Returns the concepts of the system under the cut of `repertoires` among the mechanisms for which
// `candidates[mechanism]` is set. `table` is that of the uncut system.
std::vector<Concept> FindConcepts(const PhiTable& table, const Repertoires& repertoires,
                                  const std::vector<bool>& candidates,
                                  IrreducibilitySearch& search);

}  // namespace reveza::phi
