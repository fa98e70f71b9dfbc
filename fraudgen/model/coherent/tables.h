// Collects the rows of a block into batches, table by table, and sends them to a sink. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <tuple>
#include <vector>

#include "fraudgen/model/coherent/bank.h"
#include "fraudgen/model/coherent/chains.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/identity.h"
#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/model.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen::coherent {

struct DeviceUseRow {
  DeviceNumber device = 0;
  uint64_t customer = 0;
  int64_t since = 0;
  Profile profile = Profile::kYoungDigital;  // of the device's owner
};

struct ChangeRow {
  int64_t time = 0;
  uint64_t customer = 0;
  DeviceNumber device = kNoDevice;      // used from now on
  DeviceNumber old_device = kNoDevice;  // no longer used
  int64_t before = 0;                   // cents, or the number of moves
  int64_t after = 0;
  ChangeKind kind = ChangeKind::kDeviceAdded;
};

struct RingRow {
  uint64_t ring = 0;
  uint64_t customer = 0;
  uint64_t row = 0;  // of the payment, if any
  int64_t time = kNever;
  int hop = -1;
  RingPattern pattern = RingPattern::kMuleChain;
  RingRole role = RingRole::kVictim;
};

// Returns whether an entry is money from another account.
constexpr bool IsReceived(EntryKind kind) {
  return kind == EntryKind::kPixReceived || kind == EntryKind::kTedReceived;
}
// A row of `entries`.
struct EntryRow {
  uint64_t number = 0;  // determines the identifier
  uint64_t customer = 0;
  int64_t time = 0;
  int64_t amount = 0;
  int64_t balance = 0;
  uint64_t reference = 0;  // the payer's account, or the number of a payment
  EntryKind kind = EntryKind::kSalary;
};

// A row of `sessions`.
struct SessionRow {
  static constexpr uint64_t kNoPayment = ~uint64_t{0};

  uint64_t number = kNoPayment;  // determines the identifier: that of the first payment, if any
  uint64_t customer = 0;
  int64_t time = 0;
  DeviceNumber device = kNoDevice;
  uint32_t ip = 0;
  SessionChannel channel = SessionChannel::kMobileApp;
  Authentication authentication = Authentication::kPin;
  SessionOutcome outcome = SessionOutcome::kSuccess;
  uint8_t failed_attempts = 0;
  bool device_registered = false;
  bool sim_changed = false;
  bool password_reset = false;
  bool limit_requested = false;
  bool pix_key_added = false;
  bool remote_access = false;
};

struct AccountRow {
  Person person;
  int64_t opening_balance = 0;
  AccountRole role = AccountRole::kHonest;
};

// Converts rows of the simulation to those of a table: begins the batch with a row for each
// element, at most Batch::kMaxRows. Reentrant.
template <typename RowType>
using Fill = void(const Identity& identity, std::span<const RowType> rows, Batch& batch);
Fill<Row> FillTransactions;
Fill<SettlementRow> FillSettlements;
Fill<Row> FillAlerts;
Fill<Row> FillDisputes;
Fill<AccountRow> FillCustomers;
Fill<AccountRow> FillAccounts;
Fill<DeviceUseRow> FillDevices;
Fill<ChangeRow> FillChanges;
Fill<RingRow> FillRings;
Fill<EntryRow> FillEntries;
Fill<SessionRow> FillSessions;
Fill<Driver> FillDrivers;
Fill<Ride> FillRides;
Fill<Ride> FillRideAlerts;

class TableBatches {
 public:
  TableBatches(const Identity& identity, std::span<const Table* const> wanted, BatchSink& sink);

  const Identity& identity() const { return *identity_; }
  bool Wants(const Table& table) const { return IsIn(wanted_, table); }
  // Returns whether a table is wanted that requires the simulation of payments, or of rides.
  bool WantsRows() const;
  bool WantsRides() const;

  // Returns the next payment, to be filled in place; valid until PutRow().
  Row& NewRow() { return PendingOf<Row>().rows.emplace_back(); }
  // These return the sink's error, if any.
  Status PutRow() { return SendIfFull(PendingOf<Row>()); }
  // Unwanted rows are not kept: in a stream the block lives as long as the stream.
  template <typename RowType>
  Status Put(const RowType& row) {
    Pending<RowType>& pending = PendingOf<RowType>();
    if (pending.outputs.empty()) return {};
    pending.rows.push_back(row);
    return SendIfFull(pending);
  }
  Status Flush();

 private:
  // A wanted table, which has a row for each of those that are `chosen`, or for all if that is
  // null.
  template <typename RowType>
  struct Output {
    Batch batch;
    Fill<RowType>* fill;
    bool (*chosen)(const RowType&);
  };
  // Rows to be sent when there are `max` of them.
  template <typename RowType>
  struct Pending {
    std::size_t max = 0;
    std::vector<Output<RowType>> outputs = {};
    std::vector<RowType> rows = {};
  };

  template <typename RowType>
  void Add(const Table& table, Fill<RowType>* fill, bool (*chosen)(const RowType&) = nullptr) {
    if (Wants(table)) PendingOf<RowType>().outputs.push_back({Batch(table), fill, chosen});
  }
  template <typename RowType>
  Pending<RowType>& PendingOf() {
    return std::get<Pending<RowType>>(pending_);
  }
  template <typename RowType>
  Status SendIfFull(Pending<RowType>& pending) {
    return pending.rows.size() < pending.max ? Status{} : SendAll(pending);
  }
  template <typename RowType>
  Status SendAll(Pending<RowType>& pending) {
    Status sent;
    for (Output<RowType>& output : pending.outputs) {
      if (sent) sent = Send(pending.rows, output);
    }
    pending.rows.clear();
    return sent;
  }
  template <typename RowType>
  Status Send(const std::vector<RowType>& all, Output<RowType>& output) {
    std::span<const RowType> rows = all;
    std::vector<RowType> chosen;
    if (output.chosen != nullptr) {
      std::ranges::copy_if(all, std::back_inserter(chosen), output.chosen);
      rows = chosen;
    }
    if (rows.empty()) return {};
    output.fill(*identity_, rows, output.batch);
    return sink_->Put(output.batch);
  }

  const Identity* identity_;
  BatchSink* sink_;
  std::vector<const Table*> wanted_;
  std::tuple<Pending<AccountRow>, Pending<DeviceUseRow>, Pending<Row>, Pending<SettlementRow>,
             Pending<ChangeRow>, Pending<RingRow>, Pending<EntryRow>, Pending<SessionRow>,
             Pending<Driver>, Pending<Ride>>
      pending_;
};

}  // namespace reveza::fraudgen::coherent
