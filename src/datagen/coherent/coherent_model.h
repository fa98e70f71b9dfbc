// The coherent model: customers who live, banks that judge, thieves who steal. How its rows come to
// be: docs/fraud-model.md. Immutable, so safe from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "datagen/coherent/chains.h"
#include "datagen/coherent/fleet.h"
#include "datagen/coherent/identity.h"
#include "datagen/coherent/parameters.h"
#include "datagen/coherent/world.h"
#include "datagen/model.h"

namespace reveza::datagen::coherent {

class CoherentModel : public Model {
 public:
  static Result<std::unique_ptr<CoherentModel>> Make(const Parameters& parameters);

  // Those of payments, of rides, or of both.
  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return world_.blocks(); }
  // Of transactions, rides, customers, accounts and drivers.
  uint64_t RowsOf(const Table& table, uint64_t block) const override;
  Status Make(uint64_t block, std::span<const Table* const> wanted, BatchSink& sink) const override;

  const World& world() const { return world_; }

 private:
  explicit CoherentModel(const Parameters& parameters);
  uint64_t Payments(uint64_t block) const;

  World world_;
  Chains chains_;
  Identity identity_;
  Fleet fleet_;
  std::vector<const Table*> tables_;
  // Of blocks that grow, once they are known: whoever asks twice finds the same.
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;
};

}  // namespace reveza::datagen::coherent
