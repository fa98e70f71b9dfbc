#include "phi/discrete/concepts.h"

#include <algorithm>
#include <bit>

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

}  // namespace reveza::phi
