#include "phi/discrete/structure_distance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "phi/discrete/dense_transport.h"
#include "phi/discrete/irreducibility.h"

namespace reveza::phi {
namespace {

constexpr double kSame = 1e-12;

double EffectOn(const DiscreteSystem& system, const Concept* found, int node) {
  const Nodes self = Nodes{1} << node;
  if (found == nullptr || (found->effect.purview & self) == 0) return system.On(node, 0);
  return found->effect_on[CountOf(found->effect.purview & (self - 1))];
}

double CauseOn(const Concept* found, int node) {
  const Nodes self = Nodes{1} << node;
  if (found == nullptr || (found->cause.purview & self) == 0) return 0.5;
  return found->cause_marginals[CountOf(found->cause.purview & (self - 1))];
}

double EffectDistance(const DiscreteSystem& system, const Concept* first, const Concept* second) {
  double sum = 0;
  for (int node = 0; node < system.nodes(); ++node) {
    sum += std::abs(EffectOn(system, first, node) - EffectOn(system, second, node));
  }
  return sum;
}

// Returns a lower bound of the distance.
double CauseBound(const DiscreteSystem& system, const Concept* first, const Concept* second) {
  double sum = 0;
  for (int node = 0; node < system.nodes(); ++node) {
    sum += std::abs(CauseOn(first, node) - CauseOn(second, node));
  }
  return sum;
}

std::vector<double> Expanded(const Gather& gather, const Concept* found, Nodes purview) {
  const std::size_t states = StatesOf(purview);
  if (found == nullptr) return std::vector<double>(states, 1 / static_cast<double>(states));
  std::vector<double> expanded(states);
  const std::uint16_t* const gathered = gather.Row(gather(found->cause.purview, purview));
  const double share = 1 / static_cast<double>(StatesOf(purview & ~found->cause.purview));
  for (std::size_t s = 0; s < states; ++s) {
    expanded[s] = found->cause_repertoire[gathered[s]] * share;
  }
  return expanded;
}

double CauseDistance(const Gather& gather, const Concept* first, const Concept* second,
                     HypercubeTransport& transport) {
  const Nodes purview = (first == nullptr ? 0 : first->cause.purview) |
                        (second == nullptr ? 0 : second->cause.purview);
  if (purview == 0) return 0;
  return transport.Distance(Expanded(gather, first, purview), Expanded(gather, second, purview));
}

bool AreNear(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b, [](double x, double y) { return std::abs(x - y) < kSame; });
}

// Whether two concepts coincide in concept space.
bool Coincide(const Concept& a, const Concept& b) {
  return a.cause.purview == b.cause.purview && a.effect.purview == b.effect.purview &&
         AreNear(a.cause_repertoire, b.cause_repertoire) && AreNear(a.effect_on, b.effect_on);
}

// An amount of phi at a concept, or at the null concept.
struct Places {
  std::vector<const Concept*> concepts;
  std::vector<double> amounts;
};

// Cancels phi at coinciding concepts, which is optimal because the distance is a metric.
void CancelCommonPhi(std::span<const Concept> first, std::span<const Concept> second, Places* from,
                     Places* to) {
  std::vector<double> left(second.size());
  std::ranges::transform(second, left.begin(), &Concept::phi);
  for (const Concept& concept_of_first : first) {
    double amount = concept_of_first.phi;
    const auto same = std::ranges::find(second, concept_of_first.mechanism, &Concept::mechanism);
    if (same != second.end() && Coincide(concept_of_first, *same)) {
      double& other = left[same - second.begin()];
      const double stays = std::min(amount, other);
      amount -= stays;
      other -= stays;
    }
    if (amount > 0) {
      from->concepts.push_back(&concept_of_first);
      from->amounts.push_back(amount);
    }
  }
  for (std::size_t i = 0; i < second.size(); ++i) {
    if (left[i] <= 0) continue;
    to->concepts.push_back(&second[i]);
    to->amounts.push_back(left[i]);
  }
}

void Balance(Places* from, Places* to) {
  double more = 0;
  for (const double amount : from->amounts) more += amount;
  for (const double amount : to->amounts) more -= amount;
  if (std::abs(more) < kSame) return;
  Places* const lacking = more > 0 ? to : from;
  lacking->concepts.push_back(nullptr);
  lacking->amounts.push_back(std::abs(more));
}

}  // namespace

double ConceptDistance(const DiscreteSystem& system, const Gather& gather, const Concept* first,
                       const Concept* second, HypercubeTransport& transport) {
  return CauseDistance(gather, first, second, transport) + EffectDistance(system, first, second);
}

double StructureDistance(const DiscreteSystem& system, const Gather& gather,
                         std::span<const Concept> first, std::span<const Concept> second,
                         HypercubeTransport& transport) {
  Places from;
  Places to;
  CancelCommonPhi(first, second, &from, &to);
  Balance(&from, &to);
  if (from.concepts.empty() || to.concepts.empty()) return 0;
  // Start from cheap lower bounds; a plan that uses only exact costs is optimal for exact costs
  // too.
  std::vector<double> costs;
  for (const Concept* a : from.concepts) {
    for (const Concept* b : to.concepts) {
      costs.push_back(CauseBound(system, a, b) + EffectDistance(system, a, b));
    }
  }
  std::vector<bool> is_exact(costs.size(), false);
  TransportPlan plan(from.amounts, to.amounts, costs);
  for (;;) {
    double total = 0;
    bool all_exact = true;
    for (const Shipment& shipment : plan.Cheapest()) {
      const std::size_t pair = shipment.from * to.concepts.size() + shipment.to;
      if (!is_exact[pair]) {
        const double cost = ConceptDistance(system, gather, from.concepts[shipment.from],
                                            to.concepts[shipment.to], transport);
        is_exact[pair] = true;
        if (cost - costs[pair] > kSame) {
          costs[pair] = cost;
          all_exact = false;
          plan.RaiseCost(shipment.from, shipment.to, cost);
        }
      }
      total += shipment.amount * costs[pair];
    }
    if (all_exact) return RoundToSixDecimals(total);
  }
}

}  // namespace reveza::phi
