#include "phi/discrete/mechanism_partitions.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "phi/discrete/specified_states.h"

namespace reveza::phi {
namespace {

// Losses per cut within this of each other are equal: less than kTie, by which Weigh() favours
// partitions that cut more.
constexpr double kSamePerCut = kTie / 10;

using Blocks = std::vector<std::uint16_t>;

}  // namespace

SetPartitions::SetPartitions(int max_nodes) {
  lists_.resize(static_cast<std::size_t>(max_nodes) + 1);
  std::vector<Blocks> partitions = {{}};
  for (int nodes = 1; nodes <= max_nodes; ++nodes) {
    const auto added = static_cast<std::uint16_t>(1U << (nodes - 1));
    std::vector<Blocks> larger;
    for (const Blocks& partition : partitions) {
      // The added node joins each block, or is one.
      for (std::size_t joined = 0; joined <= partition.size(); ++joined) {
        larger.push_back(partition);
        if (joined == partition.size()) larger.back().push_back(0);
        larger.back()[joined] |= added;
      }
    }
    partitions = std::move(larger);
    // Independent parts are found early where there are few blocks.
    std::ranges::stable_sort(partitions, {}, [](const Blocks& blocks) { return blocks.size(); });
    List& list = lists_[nodes];
    for (const Blocks& blocks : partitions) {
      list.blocks.insert(list.blocks.end(), blocks.begin(), blocks.end());
      list.begin.push_back(list.blocks.size());
    }
  }
}

void DisintegrationSearch::Weigh() {
  const double per_cut = PerCut() + kTie;
  for (int node = 0; node < nodes_; ++node) {
    for (Nodes block = 0; block < Nodes{1} << sources_; ++block) {
      weighed_[node][block] = losses_[node][block] - per_cut * (sources_ - size_of_[block]);
    }
  }
}

LeastLoss DisintegrationSearch::Choose(std::span<const std::uint16_t> blocks) const {
  LeastLoss chosen;
  double least_more = std::numeric_limits<double>::infinity();
  int least_node = 0;
  std::uint16_t least_block = 0;
  for (int node = 0; node < nodes_; ++node) {
    const Table& weighed = weighed_[node];
    std::uint16_t best = 0;
    for (const std::uint16_t block : blocks) {
      if (weighed[block] < weighed[best]) best = block;
    }
    chosen.kept[node] = best;
    const auto consider = [&](std::uint16_t block) {
      if (block == best || weighed[block] - weighed[best] >= least_more) return;
      least_more = weighed[block] - weighed[best];
      least_node = node;
      least_block = block;
    };
    consider(0);
    for (const std::uint16_t block : blocks) consider(block);
  }
  // A part must not have all of the mechanism and some of the purview.
  const bool all_same = std::all_of(chosen.kept.begin(), chosen.kept.begin() + nodes_,
                                    [&](std::uint16_t kept) { return kept == chosen.kept[0]; });
  if (is_cause_ && all_same && chosen.kept[0] != 0) chosen.kept[least_node] = least_block;
  for (int node = 0; node < nodes_; ++node) {
    chosen.loss += losses_[node][chosen.kept[node]];
    chosen.cut += sources_ - CountOf(chosen.kept[node]);
  }
  return chosen;
}

bool DisintegrationSearch::Improve(std::span<const std::uint16_t> blocks) {
  const LeastLoss chosen = Choose(blocks);
  const double difference = chosen.loss / chosen.cut - PerCut();
  const bool better = difference < -kSamePerCut;
  if (!better && (difference > kSamePerCut || chosen.cut <= best_.cut)) return false;
  best_ = chosen;
  Weigh();
  return true;
}

LeastLoss DisintegrationSearch::Search(int nodes, int sources, bool is_cause, double floor) {
  nodes_ = nodes;
  sources_ = sources;
  is_cause_ = is_cause;
  // To begin with, cut all connections.
  best_ = {.loss = 0, .cut = nodes * sources, .kept = {}};
  for (int node = 0; node < nodes; ++node) best_.loss += losses_[node][0];
  Weigh();
  const int all = nodes * sources;
  if (is_cause && nodes == 1) return best_.loss < kTie ? LeastLoss{} : best_;
  // For effects, the source must be divided.
  for (std::size_t index = is_cause ? 0 : 1; index < partitions_->Count(sources); ++index) {
    if (best_.loss < kTie) return {};
    if (PerCut() * all < floor) return best_;
    const auto blocks = partitions_->At(sources, index);
    for (;;) {
      double total = 0;
      for (int node = 0; node < nodes; ++node) {
        const Table& weighed = weighed_[node];
        double least = weighed[0];
        for (const std::uint16_t block : blocks) least = std::min(least, weighed[block]);
        total += least;
      }
      // The best so far has -kTie per cut.
      if (total >= -kTie * best_.cut - kSamePerCut || !Improve(blocks)) break;
    }
  }
  return best_.loss < kTie ? LeastLoss{} : best_;
}

}  // namespace reveza::phi
