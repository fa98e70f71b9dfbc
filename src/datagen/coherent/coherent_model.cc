#include "datagen/coherent/coherent_model.h"

#include "datagen/coherent/simulation.h"
#include "datagen/coherent/tables.h"
#include "datagen/schema_coherent.h"

namespace reveza::datagen::coherent {

CoherentModel::CoherentModel(const Parameters& parameters)
    : world_(parameters), chains_(world_), identity_(world_) {}

Result<std::unique_ptr<CoherentModel>> CoherentModel::Make(const Parameters& parameters) {
  if (const Status status = Check(parameters); !status) return std::unexpected(status.error());
  return std::unique_ptr<CoherentModel>(new CoherentModel(parameters));
}

std::span<const Table* const> CoherentModel::tables() const { return Tables(); }

uint64_t CoherentModel::RowsOf(const Table& table, uint64_t block) const {
  if (&table == &kTransactions) return world_.Rows(block);
  if (&table == &kCustomers || &table == &kAccounts) return world_.Customers(block);
  return 0;
}

Status CoherentModel::Make(uint64_t block, std::span<const Table* const> wanted,
                           BatchSink& sink) const {
  TableBatches tables(world_, identity_, wanted, sink);
  return Simulation(world_, chains_, block, tables).Run();
}

}  // namespace reveza::datagen::coherent
