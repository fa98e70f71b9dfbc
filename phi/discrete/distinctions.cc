#include "phi/discrete/distinctions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "phi/arithmetic/parallel_for.h"
#include "phi/discrete/mechanism_partitions.h"
#include "phi/discrete/specified_states.h"

namespace reveza::phi {
namespace {

// Logarithms of the probabilities of single nodes. Thread-safe: immutable.
class NodeBits {
 public:
  explicit NodeBits(const CandidateSystem& system) : system_(&system), gather_(system.nodes()) {
    for (int node = 0; node < system.nodes(); ++node) {
      for (Nodes given = 0; given <= system.all(); ++given) {
        const double on = system.On(node, given)[GatherBits(system.state(), given)];
        effect_.push_back({std::log2(1 - on), std::log2(on)});
      }
    }
    for (int node = 0; node < system.nodes(); ++node) {
      for (Nodes given = 0; given <= system.all(); ++given) {
        for (const double present : system.Present(node, given)) {
          cause_.push_back(std::log2(present));
        }
      }
    }
  }

  // Returns log2 P(node's next state as in `state` | present state of `given`).
  double Effect(int node, Nodes given, Nodes state) const {
    return effect_[(static_cast<std::size_t>(node) << system_->nodes()) | given][state >> node & 1];
  }
  // Returns log2 P(node's present state | past state of `given` as in `state`).
  double Cause(int node, Nodes given, Nodes state) const {
    return cause_[(static_cast<std::size_t>(node) * system_->states_of_subsets()) +
                  system_->Offset(given) + gather_(state, given)];
  }

 private:
  const CandidateSystem* system_;
  Gather gather_;
  std::vector<std::array<double, 2>> effect_;  // by node and given nodes; off, on
  std::vector<double> cause_;                  // by node, given nodes and their state
};

// Not thread-safe.
class MechanismSearch {
 public:
  MechanismSearch(const CandidateSystem& system, const NodeBits& bits,
                  const SetPartitions& partitions)
      : system_(&system), bits_(&bits), states_(system), search_(partitions) {}

  MechanismPower Find(Nodes mechanism) {
    states_.Begin(mechanism);
    MechanismPower found;
    found.mechanism = mechanism;
    found.cause = FindCause(mechanism);
    if (found.cause.phi > 0) found.effect = FindEffect(mechanism);
    return found;
  }

 private:
  // A state specified over a purview.
  struct Candidate {
    double bound = 0;  // phi is at most this
    Nodes purview = 0;
    SpecifiedState state;
  };

  Irreducible FindCause(Nodes mechanism);
  Irreducible FindEffect(Nodes mechanism);
  void FillCauseLosses(Nodes mechanism, const Candidate& candidate);
  void FillEffectLosses(Nodes mechanism, const Candidate& candidate);
  // What the nodes of the purview lose together if they keep only `block` of the mechanism.
  double EffectLoss(Nodes mechanism, Nodes block, Nodes purview, Nodes state) const {
    double loss = 0;
    for (; purview != 0; purview &= purview - 1) {
      const int node = std::countr_zero(purview);
      loss += bits_->Effect(node, mechanism, state) - bits_->Effect(node, block, state);
    }
    return loss;
  }
  template <typename Fill>
  Irreducible Best(std::vector<Candidate>& candidates, Nodes mechanism, bool is_cause,
                   const Fill& fill);

  const CandidateSystem* system_;
  const NodeBits* bits_;
  StateSearch states_;
  DisintegrationSearch search_;
};

// Returns the parts: each block of the source with the nodes that keep it, nodes that keep nothing,
// and what no node keeps.
std::vector<JointPart> PartsOf(const LeastLoss& loss, Nodes nodes, Nodes source, bool is_cause) {
  std::vector<JointPart> parts;
  const auto part_of = [&](Nodes block) -> JointPart& {
    for (JointPart& part : parts) {
      if ((is_cause ? part.purview : part.mechanism) == block) return part;
    }
    parts.push_back(is_cause ? JointPart{0, block} : JointPart{block, 0});
    return parts.back();
  };
  Nodes unused = source;
  int place = 0;
  for (Nodes left = nodes; left != 0; left &= left - 1, ++place) {
    const Nodes block = ScatterBits(loss.kept[place], source);
    JointPart& part = part_of(block);
    (is_cause ? part.mechanism : part.purview) |= left & (~left + 1);
    unused &= ~block;
  }
  if (unused != 0) part_of(unused);
  return parts;
}

template <typename Fill>
Irreducible MechanismSearch::Best(std::vector<Candidate>& candidates, Nodes mechanism,
                                  bool is_cause, const Fill& fill) {
  std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::bound);
  Irreducible best;
  for (const Candidate& candidate : candidates) {
    if (candidate.bound < std::max(best.phi - kTie, kTie)) break;
    fill(candidate);
    const Nodes nodes = is_cause ? mechanism : candidate.purview;
    const Nodes source = is_cause ? candidate.purview : mechanism;
    const double selectivity = candidate.state.selectivity;
    const LeastLoss least =
        search_.Search(CountOf(nodes), CountOf(source), is_cause, (best.phi - kTie) / selectivity);
    const double phi = selectivity * least.loss;
    if (phi < kTie || phi < best.phi - kTie) continue;
    if (phi > best.phi + kTie) best.tied.clear();
    best.phi = std::max(best.phi, phi);
    best.tied.push_back({candidate.purview, candidate.state.state, selectivity,
                         PartsOf(least, nodes, source, is_cause)});
  }
  std::ranges::sort(best.tied, [](const Purview& a, const Purview& b) {
    if (CountOf(a.nodes) != CountOf(b.nodes)) return CountOf(a.nodes) > CountOf(b.nodes);
    return a.nodes != b.nodes ? IsListedBefore(a.nodes, b.nodes) : a.state < b.state;
  });
  return best;
}

void MechanismSearch::FillCauseLosses(Nodes mechanism, const Candidate& candidate) {
  std::size_t place = 0;
  for (Nodes left = mechanism; left != 0; left &= left - 1, ++place) {
    const int node = std::countr_zero(left);
    const auto losses = search_.Losses(place);
    const Nodes state = candidate.state.state;
    const double whole = bits_->Cause(node, candidate.purview, state);
    for (Nodes block = 0; block < StatesOf(candidate.purview); ++block) {
      losses[block] = whole - bits_->Cause(node, ScatterBits(block, candidate.purview), state);
    }
  }
}

void MechanismSearch::FillEffectLosses(Nodes mechanism, const Candidate& candidate) {
  std::size_t place = 0;
  for (Nodes left = candidate.purview; left != 0; left &= left - 1, ++place) {
    const int node = std::countr_zero(left);
    const auto losses = search_.Losses(place);
    const Nodes state = candidate.state.state;
    const double whole = bits_->Effect(node, mechanism, state);
    for (Nodes block = 0; block < StatesOf(mechanism); ++block) {
      losses[block] = whole - bits_->Effect(node, ScatterBits(block, mechanism), state);
    }
  }
}

Irreducible MechanismSearch::FindCause(Nodes mechanism) {
  std::vector<Candidate> candidates;
  for (Nodes purview = 1; purview <= system_->all(); ++purview) {
    for (const SpecifiedState& state : states_.Cause(purview).tied) {
      // What the partition loses per cut that separates one node of the mechanism.
      double least = std::numeric_limits<double>::infinity();
      for (Nodes left = mechanism; left != 0; left &= left - 1) {
        const int node = std::countr_zero(left);
        least = std::min(
            least, bits_->Cause(node, purview, state.state) - bits_->Cause(node, 0, state.state));
      }
      candidates.push_back({state.selectivity * least * CountOf(mechanism), purview, state});
    }
  }
  return Best(candidates, mechanism, true,
              [&](const Candidate& candidate) { FillCauseLosses(mechanism, candidate); });
}

Irreducible MechanismSearch::FindEffect(Nodes mechanism) {
  std::vector<Candidate> candidates;
  for (Nodes purview = 1; purview <= system_->all(); ++purview) {
    for (const SpecifiedState& state : states_.Effect(purview).tied) {
      double bits = EffectLoss(mechanism, 0, purview, state.state);
      if (CountOf(mechanism) > 1) {
        // What is lost per cut that separates one node of the mechanism.
        for (Nodes left = mechanism; left != 0; left &= left - 1) {
          const Nodes others = mechanism & ~(left & (~left + 1));
          bits = std::min(bits,
                          CountOf(mechanism) * EffectLoss(mechanism, others, purview, state.state));
        }
      }
      candidates.push_back({state.selectivity * bits, purview, state});
    }
  }
  return Best(candidates, mechanism, false,
              [&](const Candidate& candidate) { FillEffectLosses(mechanism, candidate); });
}

}  // namespace

std::vector<MechanismPower> FindMechanisms(const CandidateSystem& system, int threads) {
  const SetPartitions partitions(system.nodes());
  const NodeBits bits(system);
  std::vector<MechanismPower> found(system.all());
  // Largest first, because they take longest.
  ParallelFor(threads, found.size(), [&] {
    return [&, search = MechanismSearch(system, bits, partitions)](std::size_t i) mutable {
      const std::size_t mechanism = found.size() - i;
      found[mechanism - 1] = search.Find(static_cast<Nodes>(mechanism));
    };
  });
  std::erase_if(found, [](const MechanismPower& power) { return power.effect.phi <= 0; });
  return found;
}

}  // namespace reveza::phi
