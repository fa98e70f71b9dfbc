#include "phi/discrete/system_irreducibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "phi/arithmetic/parallel_for.h"
#include "phi/discrete/concepts.h"
#include "phi/discrete/dense_transport.h"

namespace reveza::phi {
namespace {

PhiTable MakeTable(const Repertoires& uncut, const IrreducibilityOptions& options) {
  PhiTable table(uncut);
  // Largest first, because they take longest.
  const Nodes all = uncut.system().all();
  CountedItems counted(options.progress, "mechanism", all);
  ParallelFor(options.threads, all, [&] {
    return [&, search = IrreducibilitySearch()](std::size_t i) mutable {
      table.Fill(all - static_cast<Nodes>(i), search);
      counted.Done();
    };
  });
  return table;
}

// Returns the mechanisms to re-evaluate under a cut, by PyPhi's rule: those that were concepts, and
// those that the cut divides.
std::vector<bool> CandidatesUnder(Cut cut, Nodes all, const std::vector<Concept>& concepts) {
  std::vector<bool> candidates(all + 1, false);
  for (const Concept& found : concepts) candidates[found.mechanism] = true;
  for (Nodes mechanism = 1; mechanism <= all; ++mechanism) {
    if ((mechanism & cut.from) != 0 && (mechanism & cut.to) != 0) candidates[mechanism] = true;
  }
  return candidates;
}

std::vector<Cut> CutsOf(const DiscreteSystem& system) {
  if (system.nodes() == 1) return {{1, 1}};
  std::vector<Cut> cuts;
  for (Nodes from = 1; from < system.all(); ++from) cuts.push_back({from, system.all() & ~from});
  return cuts;
}

std::string_view WhyZero(const DiscreteSystem& system, const IrreducibilityOptions& options) {
  if (!IsStronglyConnected(system.inputs())) return "not every node can influence every other";
  if (system.nodes() > 1) return "";
  if (system.inputs()[0] == 0) return "one node that does not influence itself";
  return options.single_nodes_have_phi ? "" : "one node has no parts";
}

void FindPartitions(const Repertoires& uncut, SystemIrreducibility* result) {
  IrreducibilitySearch search;
  for (const Concept& found : result->concepts) {
    result->cause_partitions.push_back(
        search.CausePartition(uncut, found.mechanism, found.cause.purview));
    result->effect_partitions.push_back(
        search.EffectPartition(uncut, found.mechanism, found.effect.purview));
  }
}

void TryCuts(const DiscreteSystem& system, const PhiTable& table,
             const IrreducibilityOptions& options, SystemIrreducibility* result) {
  const Repertoires& uncut = table.repertoires();
  const std::vector<Cut> cuts = CutsOf(system);
  std::vector<double> distances(cuts.size());
  const auto concepts_under = [&](Cut cut, IrreducibilitySearch& search) {
    const Repertoires repertoires(uncut, cut);
    return FindConcepts(table, repertoires, CandidatesUnder(cut, system.all(), result->concepts),
                        search);
  };
  CountedItems counted(options.progress, "cut", cuts.size());
  ParallelFor(options.threads, cuts.size(), [&] {
    return [&, search = IrreducibilitySearch()](std::size_t i) mutable {
      const std::vector<Concept> left = concepts_under(cuts[i], search);
      distances[i] =
          StructureDistance(system, uncut.gather(), result->concepts, left, search.transport());
      counted.Done();
    };
  });
  const auto least = std::ranges::min_element(distances);
  result->phi = *least;
  result->cut = cuts[least - distances.begin()];
  IrreducibilitySearch search;
  result->cut_concepts = concepts_under(*result->cut, search);
}

// Estimates the time on one core for a noisy, fully connected network; 6 nodes take five seconds.
std::string TimeFor(int nodes) {
  double hours = 5.0 / 3600;
  for (int more = 6; more < nodes; ++more) hours *= 18;
  if (hours < 48) return fmt::format("about {:.0f} hours", hours);
  if (hours < 24 * 700) return fmt::format("about {:.0f} days", hours / 24);
  return "years";
}

Status CheckNodes(int nodes) {
  if (nodes <= kMaxSystemNodes) return {};
  return InvalidArgument(
      "{} nodes are too many for an exact analysis: the work grows 18-fold per node and would take "
      "{}; choose at most {} with --subsystem, which holds the others fixed",
      nodes, TimeFor(nodes), kMaxSystemNodes);
}

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

const std::vector<Convention>& Conventions() {
  static const std::vector<Convention> kConventions = {
      {"theory", "IIT 3.0 (Oizumi, Albantakis, Tononi 2014)"},
      {"like", "PyPhi 1.2.0 with its defaults"},
      {"MEASURE", "EMD"},
      {"PARTITION_TYPE", "BI"},
      {"SYSTEM_CUTS", "3.0_STYLE"},
      {"PICK_SMALLEST_PURVIEW", "false"},
      {"USE_SMALL_PHI_DIFFERENCE_FOR_CES_DISTANCE", "false"},
      {"ASSUME_CUTS_CANNOT_CREATE_NEW_CONCEPTS", "false"},
      {"CUT_ONE_APPROXIMATION", "false"},
      {"PRECISION", "6"},
  };
  return kConventions;
}

Result<SystemIrreducibility> Analyse(const DiscreteSystem& system,
                                     const IrreducibilityOptions& options) {
  RETURN_IF_ERROR(CheckNodes(system.nodes()));
  SystemIrreducibility result;
  result.members = system.members();
  const Gather gather(system.nodes());
  const Repertoires uncut(system, gather);
  const PhiTable table = MakeTable(uncut, options);
  IrreducibilitySearch search;
  result.concepts = FindConcepts(table, uncut, std::vector<bool>(system.all() + 1, true), search);
  FindPartitions(uncut, &result);
  result.why_zero = WhyZero(system, options);
  if (result.why_zero.empty() && result.concepts.empty()) {
    result.why_zero = "no mechanism is a concept";
  }
  if (result.why_zero.empty()) TryCuts(system, table, options, &result);
  return result;
}

Result<Complexes> FindComplexes(const TransitionMatrix& matrix, Nodes state,
                                const IrreducibilityOptions& options) {
  // Fail before spending hours on the smaller subsets.
  RETURN_IF_ERROR(CheckNodes(matrix.nodes));
  std::vector<Nodes> subsets;
  for (Nodes members = 1; members <= AllNodes(matrix.nodes); ++members) subsets.push_back(members);
  std::ranges::sort(subsets, [](Nodes a, Nodes b) {
    return CountOf(a) != CountOf(b) ? CountOf(a) < CountOf(b) : IsListedBefore(a, b);
  });
  Complexes complexes;
  for (const Nodes members : subsets) {
    const auto system = DiscreteSystem::Create(matrix, state, members);
    if (!system) continue;  // unreachable state
    ASSIGN_OR_RETURN(auto analysed, Analyse(*system, options));
    if (analysed.phi > 0 &&
        (!complexes.major || analysed.phi >= complexes.systems[*complexes.major].phi)) {
      complexes.major = complexes.systems.size();
    }
    complexes.systems.push_back(std::move(analysed));
  }
  return complexes;
}

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
