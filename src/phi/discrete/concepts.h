// The concepts of a system: mechanisms with their core cause and core effect (the maximally
// irreducible ones), with the conventions of PyPhi 1.2.0's defaults:
//   a core is the purview of the largest phi; of equal ones the largest (PICK_SMALLEST_PURVIEW
//   false), of those the first in the order {A}, {B}, {C}, {A,B}, {A,C}, ...
//   a mechanism's phi is the smaller of the two, and it is a concept when that is not 0
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
  std::vector<double> cause_repertoire;  // of the purview's states
  std::vector<double> cause_marginals;   // P(on) of the purview's nodes, lowest first
  std::vector<double> effect_on;         // P(on next) of the purview's nodes, lowest first
};

// phi of every mechanism over every purview of a system that is not cut. Thread-safe once filled.
class PhiTable {
 public:
  explicit PhiTable(const Repertoires& uncut);

  const Repertoires& repertoires() const { return *repertoires_; }
  double Cause(Nodes mechanism, Nodes purview) const { return cause_[At(mechanism, purview)]; }
  double Effect(Nodes mechanism, Nodes purview) const { return effect_[At(mechanism, purview)]; }
  // Fills what concerns one mechanism; several threads may, for different ones.
  void Fill(Nodes mechanism, IrreducibilitySearch& search);

  // All purviews but the empty one, in the order in which they win.
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

// The concepts of the system under the cut of `repertoires`, of these mechanisms (a bit for each:
// `candidates[mechanism]`). `table` is that of the system without a cut.
std::vector<Concept> FindConcepts(const PhiTable& table, const Repertoires& repertoires,
                                  const std::vector<bool>& candidates,
                                  IrreducibilitySearch& search);

}  // namespace reveza::phi
