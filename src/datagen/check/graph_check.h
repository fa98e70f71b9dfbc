// Nodes and edges, block by block: each node is there once, edges join nodes, and those of payments
// are the payments. Not safe from several threads.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "datagen/check/table_check.h"

namespace reveza::datagen::check {

// Nodes come before edges in a block, and those before the payments.
class GraphCheck final : public TableCheck {
 public:
  void Look(const Batch& batch, const Position& position) override;
  void EndBlock() override;
  void Report(std::vector<Outcome>& outcomes) const override;

 private:
  void LookAtNodes(const Batch& batch, const Position& position);
  void LookAtEdges(const Batch& batch, const Position& position);
  void LookAtPayments(const Batch& batch, const Position& position);

  std::unordered_set<uint64_t> nodes_;  // hashes of their identifiers
  // Sums over all of the block, which do not depend on the order.
  uint64_t edges_ = 0;
  uint64_t payments_ = 0;
  uint64_t block_ = 0;
  bool has_edges_ = false;

  Tally once_{"nodes: each is there once in its block"};
  Tally ends_{"edges: join nodes of their block"};
  Tally same_{"edges: are the payments of their block that were made to somebody"};
};

}  // namespace reveza::datagen::check
