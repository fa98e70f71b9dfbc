#include "fraudgen/model/coherent/coherent_model.h"

#include <utility>

#include "fraudgen/model/coherent/labels.h"
#include "fraudgen/model/coherent/ride_simulation.h"
#include "fraudgen/model/coherent/simulation.h"
#include "fraudgen/model/coherent/tables.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen::coherent {

CoherentModel::CoherentModel(const Parameters& parameters)
    : world_(parameters), chains_(world_), identity_(world_), fleet_(world_) {
  if (parameters.growing) counts_ = std::make_unique<std::atomic<uint64_t>[]>(world_.blocks());
  for (const Table* table : Tables()) {
    const bool of_rides = table == &kDrivers || table == &kRides || table == &kRideAlerts;
    const bool of_both = table == &kCustomers || table == &kDevices;
    if (of_both || (of_rides ? parameters.rides : world_.parameters().rows) != 0)
      tables_.push_back(table);
  }
  if (parameters.sessions && world_.parameters().rows != 0) tables_.push_back(&kSessions);
}

Result<std::unique_ptr<CoherentModel>> CoherentModel::Make(const Parameters& parameters) {
  RETURN_IF_ERROR(Validate(parameters));
  return std::unique_ptr<CoherentModel>(new CoherentModel(parameters));
}

uint64_t CoherentModel::Payments(uint64_t block) const {
  if (counts_ == nullptr) return world_.Rows(block);
  constexpr std::memory_order kOrder = std::memory_order_relaxed;
  if (const uint64_t known = counts_[block].load(kOrder); known != 0) return known - 1;
  FunctionSink sink([](const Batch&) { return Status(); });
  TableBatches none(identity_, {}, sink);
  const uint64_t rows = Simulation(world_, chains_, block, none).CountRows();
  counts_[block].store(rows + 1, kOrder);
  return rows;
}

uint64_t CoherentModel::RowsOf(const Table& table, uint64_t block) const {
  if (&table == &kTransactions) return Payments(block);
  if (&table == &kRides) return world_.Rides(block);
  if (&table == &kDrivers) return fleet_.PerBlock();
  if (&table == &kCustomers || &table == &kAccounts) return world_.Customers(block);
  return 0;
}

// Labels of accounts are written before the payments that tell of them.
std::vector<bool> CoherentModel::FindKnownAccounts(uint64_t block,
                                                   const TableBatches& tables) const {
  if (Labels(world_).AreComplete()) return {};
  if (!tables.Wants(kAccounts) && !tables.Wants(kRings)) {
    return std::vector<bool>(world_.Customers(block));
  }
  FunctionSink sink([](const Batch&) { return Status(); });
  TableBatches none(identity_, {}, sink);
  return Simulation(world_, chains_, block, none).FindKnownAccounts();
}

Status CoherentModel::Make(uint64_t block, std::span<const Table* const> wanted,
                           BatchSink& sink) const {
  TableBatches tables(identity_, wanted, sink);
  // In sequence, so that only one simulation is in memory.
  if (tables.Wants(kCustomers) || tables.Wants(kAccounts) || tables.WantsRows()) {
    std::vector<bool> known = FindKnownAccounts(block, tables);
    Simulation simulation(world_, chains_, block, tables);
    simulation.LabelOnly(std::move(known));
    RETURN_IF_ERROR(simulation.Run());
  }
  return RideSimulation(world_, fleet_, block, tables).Run();
}

}  // namespace reveza::fraudgen::coherent
