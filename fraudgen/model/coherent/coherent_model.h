// The coherent model: simulates customers, their bank and fraudsters, so that rows are consistent
// with each other. See docs/fraud-model.md. Immutable and thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "fraudgen/model/coherent/chains.h"
#include "fraudgen/model/coherent/fleet.h"
#include "fraudgen/model/coherent/identity.h"
#include "fraudgen/model/coherent/parameters.h"
#include "fraudgen/model/coherent/tables.h"
#include "fraudgen/model/coherent/world.h"
#include "fraudgen/model/model.h"

namespace reveza::fraudgen::coherent {

class CoherentModel : public Model {
 public:
  static Result<std::unique_ptr<CoherentModel>> Make(const Parameters& parameters);

  // The tables of payments, of rides, or of both.
  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return world_.blocks(); }
  // Known for transactions, rides, customers, accounts and drivers.
  uint64_t RowsOf(const Table& table, uint64_t block) const override;
  bool IsSmall(const Table& table) const override {
    return &table != &kTransactions && &table != &kRides && &table != &kSessions;
  }
  Status Make(uint64_t block, std::span<const Table* const> wanted, BatchSink& sink) const override;

  const World& world() const { return world_; }

 private:
  explicit CoherentModel(const Parameters& parameters);
  uint64_t Payments(uint64_t block) const;
  std::vector<bool> FindKnownAccounts(uint64_t block, const TableBatches& tables) const;

  World world_;
  Chains chains_;
  Identity identity_;
  Fleet fleet_;
  std::vector<const Table*> tables_;
  // Cached row counts of growing blocks.
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;
};

}  // namespace reveza::fraudgen::coherent
