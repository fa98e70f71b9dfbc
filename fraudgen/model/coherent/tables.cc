#include "fraudgen/model/coherent/tables.h"

#include <array>

namespace reveza::fraudgen::coherent {
namespace {

// Small, because the rows are traversed once per column and should stay in cache.
constexpr std::size_t kRowsAtOnce = 256;
// For small tables, to save memory. Accounts and devices are sent in whole batches, because the
// order of a graph's rows depends on how they alternate.
constexpr std::size_t kFewRows = 512;

}  // namespace

TableBatches::TableBatches(const Identity& identity, std::span<const Table* const> wanted,
                           BatchSink& sink)
    : identity_(&identity),
      sink_(&sink),
      wanted_(wanted.begin(), wanted.end()),
      pending_({Batch::kMaxRows}, {Batch::kMaxRows}, {kRowsAtOnce}, {kFewRows}, {kFewRows},
               {kFewRows}, {kFewRows}, {kFewRows}, {kFewRows}, {kRowsAtOnce}) {
  Add(kCustomers, FillCustomers);
  Add(kAccounts, FillAccounts);
  Add(kDevices, FillDevices);
  Add(kTransactions, FillTransactions);
  Add(kAlerts, FillAlerts, +[](const Row& row) { return row.alert; });
  Add(kDisputes, FillDisputes, IsDisputed);
  Add(kSettlements, FillSettlements);
  Add(kChanges, FillChanges);
  Add(kRings, FillRings);
  Add(kEntries, FillEntries);
  Add(kSessions, FillSessions);
  Add(kDrivers, FillDrivers);
  Add(kRides, FillRides);
  Add(kRideAlerts, FillRideAlerts, +[](const Ride& ride) { return ride.alert; });
  PendingOf<Row>().rows.reserve(kRowsAtOnce);
}

bool TableBatches::WantsRows() const {
  static constexpr std::array kWithoutPayments = {&kCustomers, &kAccounts, &kDrivers, &kRides,
                                                  &kRideAlerts};
  return !std::ranges::all_of(wanted_,
                              [](const Table* table) { return IsIn(kWithoutPayments, *table); });
}

bool TableBatches::WantsRides() const {
  return Wants(kRides) || Wants(kRideAlerts) || Wants(kDevices);
}

Status TableBatches::Flush() {
  Status status;
  const auto send = [&](auto& pending) { return bool(status = SendAll(pending)); };
  std::apply([&](auto&... pending) { (void)(send(pending) && ...); }, pending_);
  return status;
}

}  // namespace reveza::fraudgen::coherent
