// From what the simulation knows to the columns of the schema. Safe from any thread that owns the
// batch.
#pragma once

#include <span>

#include "datagen/batch.h"
#include "datagen/coherent/identity.h"
#include "datagen/coherent/tables.h"

namespace reveza::datagen::coherent {

// Each begins the batch anew with a row for each element, at most Batch::kMaxRows.
void FillTransactions(const Identity& identity, std::span<const Row> rows, Batch& batch);
void FillSettlements(const Identity& identity, std::span<const SettlementRow> rows, Batch& batch);
void FillAlerts(const Identity& identity, std::span<const Row> rows, Batch& batch);
void FillDisputes(const Identity& identity, const World& world, std::span<const Row> rows,
                  Batch& batch);
void FillCustomers(const Identity& identity, const World& world, std::span<const AccountRow> rows,
                   Batch& batch);
void FillAccounts(const Identity& identity, const Limits& limits, std::span<const AccountRow> rows,
                  Batch& batch);
void FillDevices(const Identity& identity, std::span<const DeviceUseRow> rows, Batch& batch);
void FillChanges(const Identity& identity, const World& world, std::span<const ChangeRow> rows,
                 Batch& batch);
void FillRings(const Identity& identity, std::span<const RingRow> rows, Batch& batch);
void FillDrivers(const Identity& identity, const World& world, std::span<const Driver> rows,
                 Batch& batch);
void FillRides(const Identity& identity, std::span<const Ride> rows, Batch& batch);
void FillRideAlerts(const Identity& identity, std::span<const Ride> rows, Batch& batch);

}  // namespace reveza::datagen::coherent
