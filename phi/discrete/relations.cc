#include "phi/discrete/relations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace reveza::phi {
namespace {

// phi_d per node in a state that a distinction specifies.
double DensityOf(const Relatum& relatum) { return relatum.phi / std::popcount(relatum.either()); }

double SelfRelation(const Relatum& relatum) {
  return DensityOf(relatum) * std::popcount(relatum.cause & relatum.effect);
}

// Returns the densities of those that specify a node in a state, in ascending order.
std::vector<double> DensitiesAt(std::span<const Relatum> relata, NodeStates node_state) {
  std::vector<double> densities;
  for (const Relatum& relatum : relata) {
    if ((relatum.either() & node_state) != 0) densities.push_back(DensityOf(relatum));
  }
  std::ranges::sort(densities);
  return densities;
}

// From here on, products with the number of causes and effects are not exact anyway.
constexpr double kExactProduct = 1e15;

// Returns C(n, k), k from 0 to `size` - 1.
std::vector<double> Binomials(std::size_t n, std::size_t size) {
  std::vector<double> binomials(size, 0.0);
  binomials[0] = 1;
  for (std::size_t k = 1; k < size && k <= n; ++k) {
    const double before = binomials[k - 1];
    const auto times = static_cast<double>(n - k + 1);
    const auto by = static_cast<double>(k);
    // The product is exact for small numbers, but may be too large for a double.
    binomials[k] = before < kExactProduct ? std::round(before * times / by) : before * (times / by);
  }
  return binomials;
}

// Returns how many subsets with k of the sets have a common element, by k.
std::vector<double> CountOverlapping(const std::vector<NodeStates>& sets) {
  NodeStates used = 0;
  for (const NodeStates set : sets) used |= set;
  // How many sets contain each set of elements.
  std::vector<int> containing(std::size_t{1} << std::popcount(used), 0);
  for (const NodeStates set : sets) ++containing[GatherBits(set, used)];
  for (std::size_t bit = 1; bit < containing.size(); bit *= 2) {
    for (std::size_t elements = 0; elements < containing.size(); ++elements) {
      if ((elements & bit) == 0) containing[elements] += containing[elements | bit];
    }
  }
  // Sets of an odd number of elements count, those of an even number are subtracted.
  std::vector<double> weight(sets.size() + 1, 0.0);
  for (std::size_t elements = 1; elements < containing.size(); ++elements) {
    weight[containing[elements]] += (std::popcount(elements) & 1) != 0 ? 1 : -1;
  }
  std::vector<double> counts(sets.size() + 1, 0.0);
  for (std::size_t many = 1; many < weight.size(); ++many) {
    if (weight[many] == 0) continue;
    const std::vector<double> binomials = Binomials(many, counts.size());
    for (std::size_t k = 1; k <= many; ++k) counts[k] += weight[many] * binomials[k];
  }
  return counts;
}

}  // namespace

NodeStates ToNodeStates(Nodes nodes, Nodes state) {
  NodeStates states = 0;
  for (; nodes != 0; nodes &= nodes - 1) {
    const int node = std::countr_zero(nodes);
    states |= NodeStates{1} << (2 * node + static_cast<int>(state >> node & 1));
  }
  return states;
}

double SumOfRelations(std::span<const Relatum> relata) {
  double sum = 0;
  NodeStates used = 0;
  for (const Relatum& relatum : relata) {
    sum += SelfRelation(relatum);
    used |= relatum.either();
  }
  for (; used != 0; used &= used - 1) {
    // With m others of higher density there are 2^m sets, one of them without any.
    const std::vector<double> densities = DensitiesAt(relata, used & (~used + 1));
    double sets = std::ldexp(1, static_cast<int>(densities.size()));
    for (const double density : densities) sum += density * ((sets /= 2) - 1);
  }
  return sum;
}

Relations CountRelations(std::span<const Relatum> relata) {
  Relations relations;
  relations.by_order.resize(relata.size());
  if (relata.empty()) return relations;
  std::vector<NodeStates> unions;
  std::vector<NodeStates> purviews;
  NodeStates used = 0;
  for (const Relatum& relatum : relata) {
    unions.push_back(relatum.either());
    purviews.push_back(relatum.cause);
    purviews.push_back(relatum.effect);
    used |= relatum.either();
    if ((relatum.cause & relatum.effect) != 0) relations.by_order[0].count += 1;
    relations.by_order[0].sum_phi += SelfRelation(relatum);
  }
  const std::vector<double> counts = CountOverlapping(unions);
  for (std::size_t k = 2; k < counts.size(); ++k) relations.by_order[k - 1].count = counts[k];
  const std::vector<double> faces = CountOverlapping(purviews);
  relations.faces_by_order.assign(faces.begin() + 2, faces.end());
  for (; used != 0; used &= used - 1) {
    const std::vector<double> densities = DensitiesAt(relata, used & (~used + 1));
    for (std::size_t i = 0; i < densities.size(); ++i) {
      const std::size_t more = densities.size() - 1 - i;
      const std::vector<double> binomials = Binomials(more, more + 1);
      for (std::size_t k = 1; k <= more; ++k) {
        relations.by_order[k].sum_phi += densities[i] * binomials[k];
      }
    }
  }
  // Without the orders in which there are none.
  const auto none = [](const RelationsOfOrder& order) { return order.count == 0; };
  while (!relations.by_order.empty() && none(relations.by_order.back()))
    relations.by_order.pop_back();
  while (!relations.faces_by_order.empty() && relations.faces_by_order.back() == 0) {
    relations.faces_by_order.pop_back();
  }
  for (const RelationsOfOrder& order : relations.by_order) relations.count += order.count;
  for (const double order : relations.faces_by_order) relations.faces += order;
  relations.sum_phi = SumOfRelations(relata);
  return relations;
}

}  // namespace reveza::phi
