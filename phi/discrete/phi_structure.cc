#include "phi/discrete/phi_structure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "phi/discrete/mechanism_partitions.h"
#include "phi/discrete/specified_states.h"

namespace reveza::phi {
namespace {

// More combinations of tied purviews are not compared one by one.
constexpr std::size_t kMaxCombinations = 1 << 12;

struct TiedChoice {
  const Purview* cause;
  const Purview* effect;
  Relatum relatum;
};

// The choices of one distinction that relations tell apart.
std::vector<TiedChoice> ChoicesOf(const MechanismPower& power, Nodes cause_state,
                                  Nodes effect_state) {
  std::vector<TiedChoice> choices;
  const double phi = std::min(power.cause.phi, power.effect.phi);
  for (const Purview& cause : power.cause.tied) {
    if (cause.state != (cause_state & cause.nodes)) continue;
    for (const Purview& effect : power.effect.tied) {
      if (effect.state != (effect_state & effect.nodes)) continue;
      const Relatum relatum = {phi, ToNodeStates(cause.nodes, cause.state),
                               ToNodeStates(effect.nodes, effect.state)};
      const bool known = std::ranges::any_of(choices, [&](const TiedChoice& other) {
        return other.relatum.either() == relatum.either() &&
               (other.relatum.cause & other.relatum.effect) == (relatum.cause & relatum.effect);
      });
      if (!known) choices.push_back({&cause, &effect, relatum});
    }
  }
  return choices;
}

// Chooses among ties so that the sum of phi_r is largest.
class TieSearch {
 public:
  explicit TieSearch(const std::vector<std::vector<TiedChoice>>& choices)
      : choices_(&choices), chosen_(choices.size(), 0) {
    for (const auto& of_one : choices) relata_.push_back(of_one.front().relatum);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (choices[i].size() < 2) continue;
      tied_.push_back(i);
      combinations_ = std::min(combinations_ * choices[i].size(), kMaxCombinations + 1);
    }
  }

  bool can_compare_all() const { return combinations_ <= kMaxCombinations; }
  std::vector<std::size_t> Choose() {
    if (tied_.empty()) return chosen_;
    if (can_compare_all()) {
      CompareAll();
    } else {
      Climb();
    }
    return chosen_;
  }

 private:
  static bool IsMore(double sum, double than) { return sum > than + kTie * std::max(1.0, than); }
  void Set(std::vector<std::size_t>& chosen, std::size_t distinction, std::size_t choice) {
    chosen[distinction] = choice;
    relata_[distinction] = (*choices_)[distinction][choice].relatum;
  }

  void CompareAll() {
    std::vector<std::size_t> trial = chosen_;
    double best = SumOfRelations(relata_);
    for (;;) {
      // The next combination; the last distinction varies fastest.
      std::size_t place = tied_.size();
      while (place > 0) {
        const std::size_t i = tied_[--place];
        const bool is_last = trial[i] + 1 == (*choices_)[i].size();
        Set(trial, i, is_last ? 0 : trial[i] + 1);
        if (!is_last) break;
        if (place == 0) return;
      }
      const double sum = SumOfRelations(relata_);
      if (!IsMore(sum, best)) continue;
      best = sum;
      chosen_ = trial;
    }
  }

  void Climb() {
    double best = SumOfRelations(relata_);
    for (bool improved = true; improved;) {
      improved = false;
      for (const std::size_t i : tied_) {
        const std::size_t before = chosen_[i];
        std::size_t better = before;
        for (std::size_t choice = 0; choice < (*choices_)[i].size(); ++choice) {
          Set(chosen_, i, choice);
          const double sum = SumOfRelations(relata_);
          if (!IsMore(sum, best)) continue;
          best = sum;
          better = choice;
          improved = true;
        }
        Set(chosen_, i, better);
      }
    }
  }

  const std::vector<std::vector<TiedChoice>>* choices_;
  std::vector<std::size_t> chosen_;
  std::vector<std::size_t> tied_;  // distinctions with several choices
  std::size_t combinations_ = 1;
  std::vector<Relatum> relata_;
};

Nodes Renumbered(Nodes nodes, const std::vector<int>& place) {
  Nodes there = 0;
  for (std::size_t node = 0; node < place.size(); ++node) {
    there |= (nodes >> node & 1) << place[node];
  }
  return there;
}

bool IsSamePurview(const Purview& purview, const std::vector<int>& place, const Purview& other) {
  return Renumbered(purview.nodes, place) == other.nodes &&
         Renumbered(purview.state, place) == other.state;
}

bool IsRenumbered(const PhiStructure& a, const PhiStructure& b, const std::vector<int>& place,
                  Nodes state) {
  return std::ranges::all_of(a.distinctions, [&](const Distinction& distinction) {
    const Nodes mechanism = Renumbered(distinction.mechanism, place);
    const auto other =
        std::ranges::lower_bound(b.distinctions, mechanism, {}, &Distinction::mechanism);
    return other != b.distinctions.end() && other->mechanism == mechanism &&
           Renumbered(distinction.mechanism & state, place) == (mechanism & state) &&
           std::abs(other->phi - distinction.phi) < kTie &&
           IsSamePurview(distinction.cause, place, other->cause) &&
           IsSamePurview(distinction.effect, place, other->effect);
  });
}

}  // namespace

PhiStructure Unfold(std::span<const MechanismPower> mechanisms, Nodes cause_state,
                    Nodes effect_state) {
  PhiStructure structure;
  std::vector<std::vector<TiedChoice>> choices;
  std::vector<const MechanismPower*> powers;
  for (const MechanismPower& power : mechanisms) {
    auto of_one = ChoicesOf(power, cause_state, effect_state);
    if (of_one.empty()) {
      ++structure.incongruent;
      continue;
    }
    choices.push_back(std::move(of_one));
    powers.push_back(&power);
  }
  TieSearch search(choices);
  structure.all_ties_compared = search.can_compare_all();
  const std::vector<std::size_t> chosen = search.Choose();
  std::vector<Relatum> relata;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const TiedChoice& choice = choices[i][chosen[i]];
    relata.push_back(choice.relatum);
    structure.sum_phi_d += choice.relatum.phi;
    structure.distinctions.push_back({powers[i]->mechanism, choice.relatum.phi,
                                      powers[i]->cause.phi, powers[i]->effect.phi, *choice.cause,
                                      *choice.effect});
  }
  structure.relations = CountRelations(relata);
  structure.phi = structure.sum_phi_d + structure.relations.sum_phi;
  return structure;
}

bool AreIsomorphic(const PhiStructure& a, const PhiStructure& b, int nodes, Nodes state) {
  if (a.distinctions.size() != b.distinctions.size()) return false;
  std::vector<int> place(static_cast<std::size_t>(nodes));
  std::iota(place.begin(), place.end(), 0);
  do {
    if (IsRenumbered(a, b, place, state)) return true;
  } while (std::ranges::next_permutation(place).found);
  return false;
}

}  // namespace reveza::phi
