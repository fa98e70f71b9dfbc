// The concepts of a system: mechanisms with their maximally irreducible (core) cause and effect,
// under the conventions of PyPhi 1.2.0's defaults:
//   - The core is the purview with the largest phi; ties go to the largest purview
//     (PICK_SMALLEST_PURVIEW false), then to the first in the order {A}, {B}, {C}, {A,B}, {A,C},
//     ...
//   - The phi of a mechanism is the smaller of its two cores'; it is a concept if that is nonzero.
// Source: Oizumi, Albantakis, Tononi 2014, PLoS Computational Biology 10(5) e1003588, text S2.
#pragma once

#include <span>
#include <vector>

#include "phi/discrete/discrete_system.h"
#include "phi/discrete/hypercube_transport.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

// The irreducibility of a mechanism over a purview: the minimum distance between its repertoire and
// that of a bipartition of mechanism and purview (phi_cause and phi_effect of IIT 3.0, Oizumi et
// al. 2014, text S2, eq. 10 to 15), under the conventions of PyPhi 1.2.0's defaults:
//   PARTITION_TYPE BI   M1/P1 x M2/P2 with M1+M2 the mechanism and P1+P2 the purview, where neither
//                       M1 and P1 nor M2 and P2 are both empty
//   MEASURE EMD         cause: the earth mover's distance (hypercube_transport.h); effect: the sum
//                       over nodes of the differences of their probabilities, which equals it,
//                       because an effect repertoire is a product
//   PRECISION 6         every distance is rounded to six decimals, halves to even
// Not thread-safe: a search reuses its buffers.

// Rounds to six decimals, halves to even.
double RoundToSixDecimals(double value);

// The first part; the second is the complement.
struct Bipartition {
  Nodes mechanism = 0;
  Nodes purview = 0;
};

class IrreducibilitySearch {
 public:
  // Return the minimum distance; CausePhi() may stop early with any value not above `floor`.
  double CausePhi(const Repertoires& repertoires, Nodes mechanism, Nodes purview, double floor);
  double EffectPhi(const Repertoires& repertoires, Nodes mechanism, Nodes purview) const;

  // Return the partition with the minimum distance, the first in PyPhi's order: parts of the
  // mechanism as ascending masks without its last node, and for each those of the purview.
  Bipartition CausePartition(const Repertoires& repertoires, Nodes mechanism, Nodes purview);
  Bipartition EffectPartition(const Repertoires& repertoires, Nodes mechanism, Nodes purview) const;

  HypercubeTransport& transport() { return transport_; }

 private:
  struct Candidate {
    double bound;  // lower bound of the distance
    Bipartition part;
  };

  void CollectCandidates(const Repertoires& repertoires, Nodes mechanism, Nodes purview);
  double Distance(const Repertoires& repertoires, Nodes mechanism, Nodes purview, Bipartition part);

  HypercubeTransport transport_;
  std::vector<Candidate> candidates_;
  std::vector<double> parted_;
};

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
