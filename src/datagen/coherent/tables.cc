#include "datagen/coherent/tables.h"

#include <algorithm>

#include "datagen/coherent/fill.h"

namespace reveza::datagen::coherent {
TableBatches::TableBatches(const World& world, const Identity& identity,
                           std::span<const Table* const> wanted, BatchSink& sink)
    : world_(&world),
      identity_(&identity),
      wanted_(wanted.begin(), wanted.end()),
      sink_(&sink),
      transactions_(kTransactions),
      settlements_(kSettlements),
      alerts_(kAlerts),
      disputes_(kDisputes),
      customers_(kCustomers),
      accounts_(kAccounts),
      devices_(kDevices),
      changes_(kChanges),
      rings_(kRings),
      drivers_(kDrivers),
      rides_(kRides),
      ride_alerts_(kRideAlerts) {
  rows_.reserve(kRowsAtOnce);
}

bool TableBatches::Wants(const Table& table) const {
  return std::ranges::find(wanted_, &table) != wanted_.end();
}

// The other tables do not need a simulation of payments.
bool TableBatches::WantsRows() const {
  return std::ranges::any_of(wanted_, [](const Table* table) {
    return table != &kCustomers && table != &kAccounts && table != &kDrivers && table != &kRides &&
           table != &kRideAlerts;
  });
}

bool TableBatches::WantsRides() const {
  return Wants(kRides) || Wants(kRideAlerts) || Wants(kDevices);
}

// What nobody wants is not kept: a stream's block lives as long as the stream.
Status TableBatches::Put(const SettlementRow& settlement) {
  if (!Wants(kSettlements)) return {};
  settlement_rows_.push_back(settlement);
  return settlement_rows_.size() < kFewRows ? Status{} : FlushSettlements();
}

Status TableBatches::Put(const DeviceUseRow& device) {
  if (!Wants(kDevices)) return {};
  device_rows_.push_back(device);
  return device_rows_.size() < Batch::kMaxRows ? Status{} : FlushDevices();
}

Status TableBatches::Put(const ChangeRow& change) {
  if (!Wants(kChanges)) return {};
  change_rows_.push_back(change);
  return change_rows_.size() < kFewRows ? Status{} : FlushChanges();
}

Status TableBatches::Put(const RingRow& member) {
  if (!Wants(kRings)) return {};
  ring_rows_.push_back(member);
  return ring_rows_.size() < kFewRows ? Status{} : FlushRings();
}

Status TableBatches::Put(const AccountRow& account) {
  if (!Wants(kCustomers) && !Wants(kAccounts)) return {};
  account_rows_.push_back(account);
  return account_rows_.size() < Batch::kMaxRows ? Status{} : FlushAccounts();
}

Status TableBatches::Put(const Driver& driver) {
  if (!Wants(kDrivers)) return {};
  driver_rows_.push_back(driver);
  return driver_rows_.size() < kFewRows ? Status{} : FlushDrivers();
}

Status TableBatches::Put(const Ride& ride) {
  ride_rows_.push_back(ride);
  return ride_rows_.size() < kRowsAtOnce ? Status{} : FlushRides();
}

Status TableBatches::FlushDrivers() {
  if (driver_rows_.empty()) return {};
  FillDrivers(*identity_, *world_, driver_rows_, drivers_);
  driver_rows_.clear();
  return Send(drivers_);
}

Status TableBatches::FlushRides() {
  if (ride_rows_.empty()) return {};
  if (Wants(kRides)) {
    FillRides(*identity_, ride_rows_, rides_);
    if (const Status status = Send(rides_); !status) return status;
  }
  std::erase_if(ride_rows_, [](const Ride& ride) { return !ride.alert; });
  if (Wants(kRideAlerts) && !ride_rows_.empty()) {
    FillRideAlerts(*identity_, ride_rows_, ride_alerts_);
    if (const Status status = Send(ride_alerts_); !status) return status;
  }
  ride_rows_.clear();
  return {};
}

Status TableBatches::FlushRows() {
  if (rows_.empty()) return {};
  if (Wants(kTransactions)) {
    FillTransactions(*identity_, rows_, transactions_);
    if (const Status status = Send(transactions_); !status) return status;
  }
  std::vector<Row> chosen;
  if (Wants(kAlerts)) {
    std::ranges::copy_if(rows_, std::back_inserter(chosen), &Row::alert);
    if (!chosen.empty()) {
      FillAlerts(*identity_, chosen, alerts_);
      if (const Status status = Send(alerts_); !status) return status;
    }
  }
  if (Wants(kDisputes)) {
    chosen.clear();
    std::ranges::copy_if(rows_, std::back_inserter(chosen), IsDisputed);
    if (!chosen.empty()) {
      FillDisputes(*identity_, *world_, chosen, disputes_);
      if (const Status status = Send(disputes_); !status) return status;
    }
  }
  rows_.clear();
  return {};
}

Status TableBatches::FlushSettlements() {
  if (settlement_rows_.empty()) return {};
  FillSettlements(*identity_, settlement_rows_, settlements_);
  settlement_rows_.clear();
  return Send(settlements_);
}

Status TableBatches::FlushAccounts() {
  if (account_rows_.empty()) return {};
  if (Wants(kCustomers)) {
    FillCustomers(*identity_, *world_, account_rows_, customers_);
    if (const Status status = Send(customers_); !status) return status;
  }
  if (Wants(kAccounts)) {
    FillAccounts(*identity_, world_->parameters().limits, account_rows_, accounts_);
    if (const Status status = Send(accounts_); !status) return status;
  }
  account_rows_.clear();
  return {};
}

Status TableBatches::FlushDevices() {
  if (device_rows_.empty()) return {};
  FillDevices(*identity_, device_rows_, devices_);
  device_rows_.clear();
  return Send(devices_);
}

Status TableBatches::FlushChanges() {
  if (change_rows_.empty()) return {};
  FillChanges(*identity_, *world_, change_rows_, changes_);
  change_rows_.clear();
  return Send(changes_);
}

Status TableBatches::FlushRings() {
  if (ring_rows_.empty()) return {};
  FillRings(*identity_, ring_rows_, rings_);
  ring_rows_.clear();
  return Send(rings_);
}

Status TableBatches::Flush() {
  Status status = FlushAccounts();
  if (status) status = FlushDevices();
  if (status) status = FlushRows();
  if (status) status = FlushSettlements();
  if (status) status = FlushChanges();
  if (status) status = FlushRings();
  if (status) status = FlushDrivers();
  if (status) status = FlushRides();
  return status;
}

}  // namespace reveza::datagen::coherent
