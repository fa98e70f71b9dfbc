#include "phi/discrete/concepts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace reveza::phi {
namespace {

// The effect of a cut on a mechanism (or its `receivers`) and a purview.
enum class Touch {
  kNone,       // phi is unchanged
  kReducible,  // a node of the mechanism or the purview has no influence: phi is 0
  kSome,
};

// Influence flows from `senders` to `receivers`.
Touch TouchOf(Nodes senders, Nodes receivers, Cut cut) {
  if ((senders & cut.from) == 0 || (receivers & cut.to) == 0) return Touch::kNone;
  // Some receiver has no remaining sender, or some sender no remaining receiver.
  if (IsWithin(senders, cut.from) || IsWithin(receivers, cut.to)) return Touch::kReducible;
  return Touch::kSome;
}

Core CoreCause(const PhiTable& table, const Repertoires& repertoires, Nodes mechanism,
               IrreducibilitySearch& search) {
  const Cut cut = repertoires.cut();
  const auto& purviews = table.purviews();
  Core best;
  std::size_t best_rank = purviews.size();
  const auto consider = [&](std::size_t rank, double phi) {
    if (phi > best.phi || (phi == best.phi && phi > 0 && rank < best_rank)) {
      best = {purviews[rank], phi};
      best_rank = rank;
    }
  };
  for (std::size_t rank = 0; rank < purviews.size(); ++rank) {
    if (TouchOf(purviews[rank], mechanism, cut) == Touch::kNone) {
      consider(rank, table.Cause(mechanism, purviews[rank]));
    }
  }
  for (std::size_t rank = 0; rank < purviews.size(); ++rank) {
    if (TouchOf(purviews[rank], mechanism, cut) != Touch::kSome) continue;
    // Earlier purviews win ties: differences below one rounding step are ties.
    const double floor = rank < best_rank && best.phi > 0 ? best.phi - 5e-7 : best.phi;
    const double phi = search.CausePhi(repertoires, mechanism, purviews[rank], floor);
    if (phi > floor) consider(rank, phi);
  }
  return best;
}

Core CoreEffect(const PhiTable& table, const Repertoires& repertoires, Nodes mechanism,
                const IrreducibilitySearch& search) {
  Core best;
  for (const Nodes purview : table.purviews()) {
    const Touch touch = TouchOf(mechanism, purview, repertoires.cut());
    if (touch == Touch::kReducible) continue;
    const double phi = touch == Touch::kNone ? table.Effect(mechanism, purview)
                                             : search.EffectPhi(repertoires, mechanism, purview);
    if (phi > best.phi) best = {purview, phi};
  }
  return best;
}

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

PhiTable::PhiTable(const Repertoires& uncut) : repertoires_(&uncut) {
  const Nodes all = uncut.system().all();
  for (Nodes purview = 1; purview <= all; ++purview) purviews_.push_back(purview);
  std::ranges::sort(purviews_, [](Nodes a, Nodes b) {
    return CountOf(a) != CountOf(b) ? CountOf(a) > CountOf(b) : IsListedBefore(a, b);
  });
  cause_.resize(At(all, all) + 1);
  effect_.resize(At(all, all) + 1);
}

void PhiTable::Fill(Nodes mechanism, IrreducibilitySearch& search) {
  for (const Nodes purview : purviews_) {
    effect_[At(mechanism, purview)] = search.EffectPhi(*repertoires_, mechanism, purview);
    cause_[At(mechanism, purview)] = search.CausePhi(*repertoires_, mechanism, purview, 0);
  }
}

std::vector<Concept> FindConcepts(const PhiTable& table, const Repertoires& repertoires,
                                  const std::vector<bool>& candidates,
                                  IrreducibilitySearch& search) {
  std::vector<Concept> concepts;
  for (Nodes mechanism = 1; mechanism <= repertoires.system().all(); ++mechanism) {
    if (!candidates[mechanism]) continue;
    const Core effect = CoreEffect(table, repertoires, mechanism, search);
    if (effect.phi == 0) continue;
    const Core cause = CoreCause(table, repertoires, mechanism, search);
    if (cause.phi == 0) continue;
    Concept found;
    found.mechanism = mechanism;
    found.phi = std::min(cause.phi, effect.phi);
    found.cause = cause;
    found.effect = effect;
    const auto repertoire = repertoires.Cause(mechanism, cause.purview);
    found.cause_repertoire.assign(repertoire.begin(), repertoire.end());
    const auto marginals = repertoires.CauseMarginals(mechanism, cause.purview);
    found.cause_marginals.assign(marginals.begin(), marginals.end());
    for (Nodes left = effect.purview; left != 0; left &= left - 1) {
      found.effect_on.push_back(repertoires.EffectOn(mechanism, std::countr_zero(left)));
    }
    concepts.push_back(std::move(found));
  }
  return concepts;
}

double RoundToSixDecimals(double value) { return std::nearbyint(value * 1e6) / 1e6; }

double IrreducibilitySearch::EffectPhi(const Repertoires& repertoires, Nodes mechanism,
                                       Nodes purview) const {
  if (repertoires.FallApart(mechanism, purview)) return 0;
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
  if (repertoires.FallApart(purview, mechanism)) return 0;
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
