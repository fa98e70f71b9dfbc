#include "phi/discrete/iit4.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "phi/arithmetic/parallel_for.h"
#include "phi/discrete/specified_states.h"

namespace reveza::phi {
namespace {

// A cause and an effect state, and phi_s for them.
struct StatePair {
  const SpecifiedState* cause;
  const SpecifiedState* effect;
  SystemLoss loss;
};

// Returns the pairs of tied states with the largest phi_s.
std::vector<StatePair> BestPairs(const CandidateSystem& system, const SpecifiedStates& causes,
                                 const SpecifiedStates& effects) {
  std::vector<StatePair> best;
  for (const SpecifiedState& cause : causes.tied) {
    for (const SpecifiedState& effect : effects.tied) {
      StatePair pair = {&cause, &effect, FindMinimumPartition(system, cause, effect)};
      if (!best.empty() && pair.loss.phi < best.front().loss.phi - kTie) continue;
      if (!best.empty() && pair.loss.phi > best.front().loss.phi + kTie) best.clear();
      best.push_back(std::move(pair));
    }
  }
  return best;
}

bool IsSameBigPhi(double a, double b) { return std::abs(a - b) <= kTie * std::max({1.0, a, b}); }

struct LargestStructure {
  PhiStructure structure;
  // Whether all pairs with as large a Phi have the same structure but for the numbers of nodes.
  bool is_unique = true;
};

// Keeps, of pairs with equal phi_s, the one with the largest Phi.
LargestStructure KeepLargestPhi(const CandidateSystem& system,
                                const std::vector<MechanismPower>& mechanisms,
                                std::vector<StatePair>& pairs) {
  std::vector<PhiStructure> structures;
  std::size_t best = 0;
  for (const StatePair& pair : pairs) {
    structures.push_back(Unfold(mechanisms, pair.cause->state, pair.effect->state));
    const double phi = structures.back().phi;
    if (phi > structures[best].phi && !IsSameBigPhi(phi, structures[best].phi)) {
      best = structures.size() - 1;
    }
  }
  LargestStructure found;
  for (const PhiStructure& other : structures) {
    if (!found.is_unique) break;
    if (&other == &structures[best] || !IsSameBigPhi(other.phi, structures[best].phi)) continue;
    found.is_unique =
        found.is_unique && AreIsomorphic(structures[best], other, system.nodes(), system.state());
  }
  found.structure = std::move(structures[best]);
  pairs = {std::move(pairs[best])};
  return found;
}

SystemState ToSystemState(const SpecifiedStates& states, const SpecifiedState& chosen, double phi) {
  return {chosen.state, states.information, states.tied.size(), phi};
}

bool Overlap(const Iit4System& a, const Iit4System& b) { return (a.members & b.members) != 0; }

// Finds complexes among systems whose structures are made when they are needed.
class ComplexSearch {
 public:
  ComplexSearch(const TransitionMatrix& matrix, Nodes state, int threads,
                std::vector<Iit4System>& systems)
      : matrix_(&matrix), state_(state), threads_(threads), systems_(&systems) {}

  Result<std::vector<std::size_t>> Find() {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < systems_->size(); ++i) {
      if ((*systems_)[i].phi >= kTie) left.push_back(i);
    }
    std::ranges::stable_sort(left, std::ranges::greater(),
                             [&](std::size_t i) { return (*systems_)[i].phi; });
    while (!left.empty()) {
      const double largest = (*systems_)[left.front()].phi;
      const auto end = std::ranges::find_if(
          left, [&](std::size_t i) { return (*systems_)[i].phi < largest - kTie; });
      std::vector<std::size_t> tied(left.begin(), end);
      left.erase(left.begin(), end);
      while (!tied.empty()) RETURN_IF_ERROR(TakeFrom(tied));
      std::erase_if(left, [&](std::size_t i) { return IsExcluded(i); });
    }
    for (const std::size_t i : complexes_) RETURN_IF_ERROR(MakeStructure(i));
    return complexes_;
  }

 private:
  bool OverlapsOther(std::size_t i, const std::vector<std::size_t>& others) const {
    return std::ranges::any_of(others, [&](std::size_t other) {
      return other != i && Overlap((*systems_)[other], (*systems_)[i]);
    });
  }
  bool IsExcluded(std::size_t i) const { return OverlapsOther(i, complexes_); }
  Status MakeStructure(std::size_t i) {
    Iit4System& system = (*systems_)[i];
    if (system.structure) return {};
    ASSIGN_OR_RETURN(const auto candidate,
                     CandidateSystem::Create(*matrix_, state_, system.members));
    system = AnalyseIit4(candidate, threads_, true);
    return {};
  }
  // Moves complexes out of systems with equal phi_s, and removes what they exclude. Removes at
  // least one system.
  Status TakeFrom(std::vector<std::size_t>& tied) {
    std::vector<std::size_t> overlapping;
    for (const std::size_t i : tied) {
      if (OverlapsOther(i, tied)) {
        overlapping.push_back(i);
      } else {
        complexes_.push_back(i);
      }
    }
    double largest = 0;
    for (const std::size_t i : overlapping) {
      RETURN_IF_ERROR(MakeStructure(i));
      largest = std::max(largest, (*systems_)[i].structure->phi);
    }
    std::vector<std::size_t> best;
    std::ranges::copy_if(overlapping, std::back_inserter(best), [&](std::size_t i) {
      return IsSameBigPhi((*systems_)[i].structure->phi, largest);
    });
    for (const std::size_t i : best) {
      if (!OverlapsOther(i, best)) complexes_.push_back(i);
    }
    std::erase_if(overlapping, [&](std::size_t i) {
      return std::ranges::find(best, i) != best.end() || IsExcluded(i);
    });
    tied = std::move(overlapping);
    return {};
  }

  const TransitionMatrix* matrix_;
  Nodes state_;
  int threads_;
  std::vector<Iit4System>* systems_;
  std::vector<std::size_t> complexes_;
};

}  // namespace

const std::vector<Convention>& Iit4Conventions() {
  static const std::vector<Convention> kConventions = {
      {"theory", "IIT 4.0 (Albantakis et al. 2023)"},
      {"like", "PyPhi 2.0.0rc4 with its preset iit4_2023"},
      {"mechanism_phi_measure", "GENERALIZED_INTRINSIC_DIFFERENCE"},
      {"system_phi_measure", "GENERALIZED_INTRINSIC_DIFFERENCE"},
      {"mechanism_partition_scheme", "JOINT_PARTITION_ALL"},
      {"system_partition_scheme", "DIRECTED_SET_PARTITION"},
      {"distinction_phi_normalization", "NUM_CONNECTIONS_CUT"},
      {"background_conditioning", "CAUSAL_MARGINALIZATION"},
      {"single_micro_nodes_with_selfloops_have_phi", "true"},
      {"unit", "bits"},
  };
  return kConventions;
}

Iit4System AnalyseIit4(const CandidateSystem& system, int threads, bool with_structure) {
  Iit4System result;
  result.members = system.members();
  StateSearch search(system);
  search.Begin(system.all());
  const SpecifiedStates causes = search.Cause(system.all());
  const SpecifiedStates effects = search.Effect(system.all());
  if (causes.tied.empty() || effects.tied.empty()) {
    result.why_zero =
        causes.tied.empty() ? "the system specifies no cause" : "the system specifies no effect";
    return result;
  }
  std::vector<StatePair> pairs = BestPairs(system, causes, effects);
  // Without phi_s, there is nothing to decide between states.
  if (pairs.front().loss.phi < kTie) pairs.resize(1, pairs.front());
  const bool are_tied = pairs.size() > 1;
  if (with_structure || are_tied) {
    const std::vector<MechanismPower> mechanisms = FindMechanisms(system, threads);
    LargestStructure largest = KeepLargestPhi(system, mechanisms, pairs);
    result.structure = std::move(largest.structure);
    if (!largest.is_unique) {
      result.why_zero = "cause or effect states tie, with different structures";
    }
  }
  const StatePair& pair = pairs.front();
  result.cause = ToSystemState(causes, *pair.cause, pair.loss.cause);
  result.effect = ToSystemState(effects, *pair.effect, pair.loss.effect);
  if (!IsStronglyConnected(system.inputs())) {
    result.why_zero = "not every node can influence every other";
  }
  if (system.nodes() == 1 && system.inputs()[0] == 0) {
    result.why_zero = "one node that does not influence itself";
  }
  if (!result.why_zero.empty()) return result;
  result.phi = pair.loss.phi;
  result.partition = pair.loss.partition;
  return result;
}

Result<Iit4Complexes> FindIit4Complexes(const TransitionMatrix& matrix, Nodes state, int threads,
                                        const AnalysisProgress& progress) {
  // Fail before the search if the network is too large or its state unreachable.
  RETURN_IF_ERROR(CandidateSystem::Create(matrix, state, AllNodes(matrix.nodes)));
  std::vector<Nodes> subsets;
  for (Nodes members = 1; members <= AllNodes(matrix.nodes); ++members) subsets.push_back(members);
  std::ranges::sort(subsets, [](Nodes a, Nodes b) {
    return CountOf(a) != CountOf(b) ? CountOf(a) < CountOf(b) : IsListedBefore(a, b);
  });
  Iit4Complexes found;
  found.systems.resize(subsets.size());
  CountedItems counted(progress, "system", subsets.size());
  ParallelFor(threads, subsets.size(), [&] {
    return [&](std::size_t i) {
      const std::size_t largest_first = subsets.size() - 1 - i;
      const auto system = CandidateSystem::Create(matrix, state, subsets[largest_first]);
      if (system) found.systems[largest_first] = AnalyseIit4(*system, 1, false);
      counted.Done();
    };
  });
  ComplexSearch search(matrix, state, threads, found.systems);
  ASSIGN_OR_RETURN(found.complexes, search.Find());
  return found;
}

}  // namespace reveza::phi
