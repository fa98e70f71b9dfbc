#include "phi/discrete/system_partitions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace reveza::phi {
namespace {

// Losses per cut within this of each other are equal: less than kTie, by which Round() favours
// partitions that cut more.
constexpr double kSameLoss = kTie / 10;

// The loss of each part in one direction, by what it keeps besides itself.
class PartLosses {
 public:
  // `bits(node, kept)` is log2 of the probability of the node's state given the kept nodes.
  template <typename Bits>
  PartLosses(int nodes, const Bits& bits) : nodes_(nodes), loss_(std::size_t{1} << (2 * nodes)) {
    const Nodes all = AllNodes(nodes);
    std::vector<double> of_node(static_cast<std::size_t>(nodes) << nodes);
    for (int node = 0; node < nodes; ++node) {
      for (Nodes kept = 0; kept <= all; ++kept) {
        of_node[(static_cast<std::size_t>(node) << nodes) | kept] =
            bits(node, all) - bits(node, kept);
      }
    }
    self_ = of_node[0];
    for (Nodes others = 0; others <= all; ++others) {
      for (Nodes part = 1; part <= all; ++part) {
        if ((part & others) != 0) continue;
        double& loss = loss_[(static_cast<std::size_t>(others) << nodes) | part];
        for (Nodes left = part; left != 0; left &= left - 1) {
          const auto node = static_cast<std::size_t>(std::countr_zero(left));
          loss += of_node[(node << nodes) | part | others];
        }
      }
    }
  }

  int nodes() const { return nodes_; }
  // The loss of a part that keeps `others` and itself.
  double Of(Nodes part, Nodes others) const {
    return loss_[(static_cast<std::size_t>(others) << nodes_) | part];
  }
  // The loss of the first node without any input.
  double self() const { return self_; }

 private:
  int nodes_;
  double self_ = 0;
  std::vector<double> loss_;
};

struct Cheapest {
  double loss = 0;
  int cut = 0;
  std::vector<DirectedPart> parts;

  double PerCut() const { return loss / cut; }
};

// Finds the partition with the least loss per cut in one direction.
class DirectedSearch {
 public:
  explicit DirectedSearch(const PartLosses& losses)
      : losses_(&losses),
        all_(AllNodes(losses.nodes())),
        alone_(std::size_t{all_} + 1),
        alone_part_(alone_.size()),
        joined_(alone_.size()),
        joined_part_(alone_.size()) {}

  Cheapest Find() {
    // To begin with, cut all connections.
    Cheapest best;
    for (int node = 0; node < losses_->nodes(); ++node) {
      best.parts.push_back({Nodes{1} << node, CutDirection::kBoth});
    }
    Measure(best);
    while (best.loss >= kTie) {
      Cheapest next = Round(best.PerCut() + kTie);
      const double difference = next.PerCut() - best.PerCut();
      const bool better = difference < -kSameLoss;
      if (!better && (difference > kSameLoss || next.cut <= best.cut)) break;
      best = std::move(next);
    }
    return best;
  }

 private:
  // Computes loss and cut.
  void Measure(Cheapest& partition) const {
    Nodes open = 0;
    for (const DirectedPart& part : partition.parts) {
      if (part.cut == CutDirection::kInputs) open |= part.nodes;
    }
    for (const DirectedPart& part : partition.parts) {
      const Nodes others = part.cut == CutDirection::kOutputs ? open : 0;
      partition.loss += losses_->Of(part.nodes, others);
      partition.cut += CutOf(part.nodes, others);
    }
  }
  int CutOf(Nodes part, Nodes others) const {
    return CountOf(part) * (losses_->nodes() - CountOf(part | others));
  }
  // Fills the least weight of each subset of `whole`, divided into parts that keep `others`, and
  // the part with its first node.
  void Divide(Nodes whole, Nodes others, double per_cut, std::vector<double>& least,
              std::vector<Nodes>& part_of) const {
    least[0] = 0;
    for (Nodes subset = whole & (~whole + 1); subset != 0; subset = (subset - whole) & whole) {
      const Nodes first = subset & (~subset + 1);
      const Nodes rest = subset & ~first;
      double best = std::numeric_limits<double>::infinity();
      for (Nodes more = rest;; more = (more - 1) & rest) {
        const Nodes part = first | more;
        const double weight =
            losses_->Of(part, others) - per_cut * CutOf(part, others) + least[subset & ~part];
        if (part != all_ && weight < best) {
          best = weight;
          part_of[subset] = part;
        }
        if (more == 0) break;
      }
      least[subset] = best;
    }
  }
  // Returns the partition with the least loss minus `per_cut` times cuts.
  Cheapest Round(double per_cut) {
    Divide(all_, 0, per_cut, alone_, alone_part_);
    double least = std::numeric_limits<double>::infinity();
    Cheapest best;
    for (Nodes open = 0; open <= all_; ++open) {
      const Nodes rest = all_ & ~open;
      Divide(rest, open, per_cut, joined_, joined_part_);
      Nodes closed = rest;  // parts of which only outputs are cut
      for (;; closed = (closed - 1) & rest) {
        const double weight = alone_[open] + joined_[closed] + alone_[rest & ~closed];
        if (weight < least) {
          least = weight;
          best.parts.clear();
          Append(open, CutDirection::kInputs, alone_part_, best.parts);
          Append(closed, CutDirection::kOutputs, joined_part_, best.parts);
          Append(rest & ~closed, CutDirection::kBoth, alone_part_, best.parts);
        }
        if (closed == 0) break;
      }
    }
    Measure(best);
    return best;
  }
  static void Append(Nodes whole, CutDirection cut, const std::vector<Nodes>& part_of,
                     std::vector<DirectedPart>& parts) {
    for (Nodes left = whole; left != 0; left &= ~part_of[left])
      parts.push_back({part_of[left], cut});
  }

  const PartLosses* losses_;
  Nodes all_;
  std::vector<double> alone_;  // parts that keep only themselves
  std::vector<Nodes> alone_part_;
  std::vector<double> joined_;
  std::vector<Nodes> joined_part_;
};

// Returns what a partition loses in one direction, at least 0.
double LossOf(const PartLosses& losses, const std::vector<DirectedPart>& parts) {
  Nodes open = 0;
  for (const DirectedPart& part : parts) {
    if (part.cut == CutDirection::kInputs) open |= part.nodes;
  }
  double loss = 0;
  for (const DirectedPart& part : parts) {
    loss += losses.Of(part.nodes, part.cut == CutDirection::kOutputs ? open : 0);
  }
  return loss < kTie ? 0 : loss;
}

SystemLoss OfOneNode(const PartLosses& causes, const PartLosses& effects,
                     const SpecifiedState& cause, const SpecifiedState& effect) {
  SystemLoss found;
  found.cause = cause.selectivity * std::max(causes.self(), 0.0);
  found.effect = effect.selectivity * std::max(effects.self(), 0.0);
  found.phi = std::min(found.cause, found.effect);
  found.partition = {{1, CutDirection::kBoth}};
  return found;
}

}  // namespace

SystemLoss FindMinimumPartition(const CandidateSystem& system, const SpecifiedState& cause,
                                const SpecifiedState& effect) {
  const PartLosses causes(system.nodes(), [&](int node, Nodes kept) {
    return std::log2(system.Present(node, kept)[GatherBits(cause.state, kept)]);
  });
  const PartLosses effects(system.nodes(), [&](int node, Nodes kept) {
    const double on = system.On(node, kept)[GatherBits(system.state(), kept)];
    return std::log2((effect.state >> node & 1) != 0 ? on : 1 - on);
  });
  if (system.nodes() == 1) return OfOneNode(causes, effects, cause, effect);
  SystemLoss found;
  double least = std::numeric_limits<double>::infinity();
  for (const PartLosses* losses : {&causes, &effects}) {
    const double selectivity = losses == &causes ? cause.selectivity : effect.selectivity;
    const Cheapest cheapest = DirectedSearch(*losses).Find();
    const double per_cut = selectivity * std::max(cheapest.PerCut(), 0.0);
    SystemLoss here;
    here.cause = cause.selectivity * LossOf(causes, cheapest.parts);
    here.effect = effect.selectivity * LossOf(effects, cheapest.parts);
    here.phi = std::min(here.cause, here.effect);
    here.partition = cheapest.parts;
    if (per_cut < least - kSameLoss || (per_cut < least + kSameLoss && here.phi > found.phi)) {
      least = std::min(least, per_cut);
      found = std::move(here);
    }
  }
  return found;
}

}  // namespace reveza::phi
