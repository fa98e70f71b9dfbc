// The minimum information partition of a mechanism over a purview under IIT 4.0.
//
// A disintegrating partition divides mechanism and purview into parts (M_k, Z_k), any of which may
// be empty, where a part with the whole mechanism has no purview (Albantakis et al. 2023, PLoS
// Computational Biology 19(10) e1011465, eq. 39 and 40). Nodes of the probability that is compared,
// those of the purview for effects and of the mechanism for causes, are independent given those of
// the other, and so the loss of a partition is a sum: each node of the one ("node") keeps the block
// of the other ("source") in its part, or nothing, and loses log2(p(node | source) / p(node |
// block)). The minimum partition has the least loss per connection between mechanism and purview
// that is cut; among equals, the one that cuts most, and so has the largest loss.
//
// The search goes through the partitions of the source into blocks, where each node keeps the block
// that is best for it: Bell(n) steps instead of Bell(2n). What is best depends on the least loss
// per cut so far, which a better partition lowers (Dinkelbach's method).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "phi/discrete/candidate_system.h"
#include "phi/discrete/subsets.h"

namespace reveza::phi {

// All partitions of sets of up to kMaxCandidateNodes nodes into blocks. Thread-safe: immutable.
class SetPartitions {
 public:
  explicit SetPartitions(int max_nodes);

  std::size_t Count(int nodes) const { return lists_[nodes].begin.size() - 1; }
  // Returns the blocks of a partition, with few blocks first: the first partition has one.
  std::span<const std::uint16_t> At(int nodes, std::size_t index) const {
    const List& list = lists_[nodes];
    return {list.blocks.data() + list.begin[index], list.begin[index + 1] - list.begin[index]};
  }

 private:
  struct List {
    std::vector<std::size_t> begin = {0};
    std::vector<std::uint16_t> blocks;
  };
  std::vector<List> lists_;
};

struct LeastLoss {
  double loss = 0;  // in bits; 0 if some partition loses nothing
  int cut = 0;      // connections
  std::array<std::uint16_t, kMaxCandidateNodes> kept = {};  // the block of each node; 0 for none
};

// Not thread-safe: reuses its buffers.
class DisintegrationSearch {
 public:
  explicit DisintegrationSearch(const SetPartitions& partitions) : partitions_(&partitions) {
    for (Nodes block = 0; block < size_of_.size(); ++block) size_of_[block] = CountOf(block);
  }

  // The bits that a node loses if it keeps only `block` of the source, in an array by block that
  // the caller fills before Search().
  std::span<double> Losses(std::size_t node) { return losses_[node]; }

  // Finds the minimum partition of `nodes` nodes and a source of `sources` nodes. For causes the
  // source is the purview, so that some node must not keep all of the source if others do. May
  // stop with any result if it cannot lose as much as `floor`.
  LeastLoss Search(int nodes, int sources, bool is_cause, double floor);

 private:
  using Table = std::array<double, std::size_t{1} << kMaxCandidateNodes>;

  double PerCut() const { return best_.loss / best_.cut; }
  void Weigh();
  LeastLoss Choose(std::span<const std::uint16_t> blocks) const;
  bool Improve(std::span<const std::uint16_t> blocks);

  const SetPartitions* partitions_;
  int nodes_ = 0;
  int sources_ = 0;
  bool is_cause_ = false;
  LeastLoss best_;
  Table size_of_ = {};  // the number of nodes of a block
  std::array<Table, kMaxCandidateNodes> losses_ = {};
  std::array<Table, kMaxCandidateNodes> weighed_ = {};  // loss - (loss per cut) cut
};

}  // namespace reveza::phi
