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
#pragma once

#include <span>
#include <vector>

#include "phi/discrete/hypercube_transport.h"
#include "phi/discrete/repertoires.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

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

}  // namespace reveza::phi
