#include "phi/discrete/irreducibility.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace reveza::phi {
namespace {

// Tolerance of bounds for rounding errors.
constexpr double kSlack = 1e-12;

// Removes the highest node, which is always in the second part.
Nodes WithoutLast(Nodes nodes) { return nodes & ~std::bit_floor(nodes); }

// Returns the next larger subset of `whole`; 0 after the largest.
Nodes NextSubset(Nodes subset, Nodes whole) { return (subset - whole) & whole; }

// Returns the minimum sum of differences over all parts of the purview, for a given division of the
// mechanism.
double LeastEffectDifference(const Repertoires& repertoires, Nodes mechanism, Nodes part,
                             Nodes purview, Nodes* first) {
  double sum = 0;
  double least_more = std::numeric_limits<double>::infinity();
  Nodes least_node = 0;
  *first = 0;
  for (Nodes left = purview; left != 0; left &= left - 1) {
    const int node = std::countr_zero(left);
    const double whole = repertoires.EffectOn(mechanism, node);
    const double of_first = std::abs(whole - repertoires.EffectOn(part, node));
    const double of_second = std::abs(whole - repertoires.EffectOn(mechanism & ~part, node));
    sum += std::min(of_first, of_second);
    if (of_first < of_second) *first |= Nodes{1} << node;
    if (of_first - of_second < least_more) {
      least_more = of_first - of_second;
      least_node = Nodes{1} << node;
    }
  }
  // Skip parts whose mechanism and purview are both empty.
  if (part == 0 && *first == 0) {
    sum += least_more;
    *first = least_node;
  }
  return sum;
}

}  // namespace

double RoundToSixDecimals(double value) { return std::nearbyint(value * 1e6) / 1e6; }

double IrreducibilitySearch::EffectPhi(const Repertoires& repertoires, Nodes mechanism,
                                       Nodes purview) const {
  double least = std::numeric_limits<double>::infinity();
  const Nodes parted = WithoutLast(mechanism);
  Nodes part = 0;
  do {
    Nodes first = 0;
    least = std::min(least, LeastEffectDifference(repertoires, mechanism, part, purview, &first));
    part = NextSubset(part, parted);
  } while (part != 0);
  return RoundToSixDecimals(least);
}

Bipartition IrreducibilitySearch::EffectPartition(const Repertoires& repertoires, Nodes mechanism,
                                                  Nodes purview) const {
  const double phi = EffectPhi(repertoires, mechanism, purview);
  const Nodes parted = WithoutLast(mechanism);
  Nodes part = 0;
  do {
    Nodes first = 0;
    const double least = LeastEffectDifference(repertoires, mechanism, part, purview, &first);
    if (RoundToSixDecimals(least) <= phi) return {part, first};
    part = NextSubset(part, parted);
  } while (part != 0);
  return {};
}

void IrreducibilitySearch::CollectCandidates(const Repertoires& repertoires, Nodes mechanism,
                                             Nodes purview) {
  candidates_.clear();
  const auto whole = repertoires.CauseMarginals(mechanism, purview);
  const Nodes parted = WithoutLast(mechanism);
  Nodes part = 0;
  do {
    Nodes first = 0;
    do {
      if (part != 0 || first != 0) {
        const double* of_first = repertoires.CauseMarginals(part, first).data();
        const double* of_second =
            repertoires.CauseMarginals(mechanism & ~part, purview & ~first).data();
        // The distance is at least the sum of the differences of the marginals.
        double bound = 0;
        const double* on = whole.data();
        for (Nodes left = purview; left != 0; left &= left - 1) {
          const bool in_first = (left & (~left + 1) & first) != 0;
          bound += std::abs(*on++ - (in_first ? *of_first++ : *of_second++));
        }
        candidates_.push_back({bound, {part, first}});
      }
      first = NextSubset(first, purview);
    } while (first != 0);
    part = NextSubset(part, parted);
  } while (part != 0);
}

double IrreducibilitySearch::Distance(const Repertoires& repertoires, Nodes mechanism,
                                      Nodes purview, Bipartition part) {
  const auto first = repertoires.Cause(part.mechanism, part.purview);
  const auto second = repertoires.Cause(mechanism & ~part.mechanism, purview & ~part.purview);
  const Gather& gather = repertoires.gather();
  const std::uint16_t* const in_first = gather.Row(gather(part.purview, purview));
  const std::uint16_t* const in_second = gather.Row(gather(purview & ~part.purview, purview));
  parted_.resize(StatesOf(purview));
  for (std::size_t s = 0; s < parted_.size(); ++s) {
    parted_[s] = first[in_first[s]] * second[in_second[s]];
  }
  return RoundToSixDecimals(transport_.Distance(repertoires.Cause(mechanism, purview), parted_));
}

double IrreducibilitySearch::CausePhi(const Repertoires& repertoires, Nodes mechanism,
                                      Nodes purview, double floor) {
  CollectCandidates(repertoires, mechanism, purview);
  const auto nearest = std::ranges::min_element(candidates_, {}, &Candidate::bound);
  double least = Distance(repertoires, mechanism, purview, nearest->part);
  if (least <= floor) return least;
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    return RoundToSixDecimals(candidate.bound - kSlack) >= least;
  });
  std::ranges::sort(candidates_, {}, &Candidate::bound);
  for (const Candidate& candidate : candidates_) {
    if (RoundToSixDecimals(candidate.bound - kSlack) >= least) break;
    least = std::min(least, Distance(repertoires, mechanism, purview, candidate.part));
    if (least <= floor) break;
  }
  return least;
}

Bipartition IrreducibilitySearch::CausePartition(const Repertoires& repertoires, Nodes mechanism,
                                                 Nodes purview) {
  const double phi = CausePhi(repertoires, mechanism, purview, -1);
  CollectCandidates(repertoires, mechanism, purview);
  for (const Candidate& candidate : candidates_) {
    if (RoundToSixDecimals(candidate.bound - kSlack) > phi) continue;
    if (Distance(repertoires, mechanism, purview, candidate.part) <= phi) return candidate.part;
  }
  return {};
}

}  // namespace reveza::phi
