#include "phi/discrete/system_irreducibility.h"

#include <fmt/format.h>

#include <algorithm>

#include "phi/arithmetic/parallel_for.h"
#include "phi/discrete/structure_distance.h"

namespace reveza::phi {
namespace {

PhiTable MakeTable(const Repertoires& uncut, int threads) {
  PhiTable table(uncut);
  // Largest first, because they take longest.
  const Nodes all = uncut.system().all();
  ParallelFor(threads, all, [&] {
    return [&, search = IrreducibilitySearch()](std::size_t i) mutable {
      table.Fill(all - static_cast<Nodes>(i), search);
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
  if (!system.IsStronglyConnected()) return "not every node can influence every other";
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

void TryCuts(const DiscreteSystem& system, const PhiTable& table, int threads,
             SystemIrreducibility* result) {
  const Repertoires& uncut = table.repertoires();
  const std::vector<Cut> cuts = CutsOf(system);
  std::vector<double> distances(cuts.size());
  const auto concepts_under = [&](Cut cut, IrreducibilitySearch& search) {
    const Repertoires repertoires(uncut, cut);
    return FindConcepts(table, repertoires, CandidatesUnder(cut, system.all(), result->concepts),
                        search);
  };
  ParallelFor(threads, cuts.size(), [&] {
    return [&, search = IrreducibilitySearch()](std::size_t i) mutable {
      const std::vector<Concept> left = concepts_under(cuts[i], search);
      distances[i] =
          StructureDistance(system, uncut.gather(), result->concepts, left, search.transport());
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
  const PhiTable table = MakeTable(uncut, options.threads);
  IrreducibilitySearch search;
  result.concepts = FindConcepts(table, uncut, std::vector<bool>(system.all() + 1, true), search);
  FindPartitions(uncut, &result);
  result.why_zero = WhyZero(system, options);
  if (result.why_zero.empty() && result.concepts.empty()) {
    result.why_zero = "no mechanism is a concept";
  }
  if (result.why_zero.empty()) TryCuts(system, table, options.threads, &result);
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

}  // namespace reveza::phi
