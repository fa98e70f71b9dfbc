// Writes what a block is made of into batches, table by table. Not safe from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datagen/batch.h"
#include "datagen/coherent/aftermath.h"
#include "datagen/coherent/chains.h"
#include "datagen/coherent/customer_state.h"
#include "datagen/coherent/identity.h"
#include "datagen/coherent/ride.h"
#include "datagen/coherent/row.h"
#include "datagen/model.h"
#include "datagen/schema_coherent.h"

namespace reveza::datagen::coherent {

struct DeviceUseRow {
  DeviceNumber device = 0;
  uint64_t customer = 0;
  int64_t since = 0;
  Profile profile = Profile::kYoungDigital;  // of whose device it is
};

struct ChangeRow {
  int64_t time = 0;
  uint64_t customer = 0;
  DeviceNumber device = kNoDevice;      // that is used from now on
  DeviceNumber old_device = kNoDevice;  // that is not any more
  int64_t before = 0;                   // cents, or how often the customer had moved
  int64_t after = 0;
  ChangeKind kind = ChangeKind::kDeviceAdded;
};

struct RingRow {
  uint64_t ring = 0;
  uint64_t customer = 0;
  uint64_t row = 0;  // of the payment, where there is one
  int64_t time = kNever;
  int hop = -1;
  RingPattern pattern = RingPattern::kMuleChain;
  RingRole role = RingRole::kVictim;
};

struct AccountRow {
  Person person;
  int64_t opening_balance = 0;
  AccountRole role = AccountRole::kHonest;
};

class TableBatches {
 public:
  TableBatches(const World& world, const Identity& identity, std::span<const Table* const> wanted,
               BatchSink& sink);

  const Identity& identity() const { return *identity_; }
  bool Wants(const Table& table) const;
  bool WantsRows() const;
  bool WantsRides() const;

  // An error of the sink comes back at once.
  // The next payment, to be made in place; it stays where it is until PutRow.
  Row& NewRow() { return rows_.emplace_back(); }
  Status PutRow() { return rows_.size() < kRowsAtOnce ? Status{} : FlushRows(); }
  Status Put(const SettlementRow& settlement);
  Status Put(const DeviceUseRow& device);
  Status Put(const ChangeRow& change);
  Status Put(const RingRow& member);
  Status Put(const AccountRow& account);
  Status Put(const Driver& driver);
  Status Put(const Ride& ride);
  Status Flush();

 private:
  // Each column passes over all of them, so they should stay near the processor.
  static constexpr std::size_t kRowsAtOnce = 256;
  // Of tables with few rows: their texts would else be much of the memory. Accounts and devices
  // come in whole batches, for the order of a graph follows from how they alternate.
  static constexpr std::size_t kFewRows = 512;

  Status FlushRows();
  Status FlushSettlements();
  Status FlushAccounts();
  Status FlushDevices();
  Status FlushChanges();
  Status FlushRings();
  Status FlushDrivers();
  Status FlushRides();
  Status Send(Batch& batch) { return sink_->Put(batch); }

  const World* world_;
  const Identity* identity_;
  std::vector<const Table*> wanted_;
  BatchSink* sink_;
  Batch transactions_;
  Batch settlements_;
  Batch alerts_;
  Batch disputes_;
  Batch customers_;
  Batch accounts_;
  Batch devices_;
  Batch changes_;
  Batch rings_;
  Batch drivers_;
  Batch rides_;
  Batch ride_alerts_;
  std::vector<Row> rows_;
  std::vector<SettlementRow> settlement_rows_;
  std::vector<AccountRow> account_rows_;
  std::vector<DeviceUseRow> device_rows_;
  std::vector<ChangeRow> change_rows_;
  std::vector<RingRow> ring_rows_;
  std::vector<Driver> driver_rows_;
  std::vector<Ride> ride_rows_;
};

}  // namespace reveza::datagen::coherent
