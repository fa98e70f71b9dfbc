// Changes of a block's customers: address, income, phone, devices and so on. Collected month by
// month and written in time order. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/identity.h"
#include "fraudgen/model/coherent/tables.h"

namespace reveza::fraudgen::coherent {

class ChangeLog {
 public:
  ChangeLog(const World& world, const Identity& identity) : world_(&world), identity_(&identity) {}

  // Starts a month with the changes already scheduled for it.
  void Begin(const Slice& slice);
  // Draws the changes of a customer in the month and schedules them in the customer's state, which
  // must be that of the beginning of the month.
  void SimulateMonth(CustomerState& customer, const Slice& slice);
  // Adds a new phone; some customers keep the old one for a while.
  void ReplacePhone(CustomerState& customer, int64_t time);
  // Records that another person's device is used with this account from now on.
  void AddDevice(CustomerState& customer, const KnownDevice& device);
  // `time` may be in a later month.
  void RemoveDevice(const CustomerState& customer, DeviceNumber device, int64_t time);
  void SwapSim(const CustomerState& customer, int64_t time);
  // Returns the month's rows so far, in no order.
  std::span<const ChangeRow> rows() const { return changes_; }
  // Writes the month's rows in time order.
  Status Put(TableBatches& tables);

 private:
  void Add(uint64_t customer, int64_t time, ChangeKind kind) {
    changes_.push_back({.time = time, .customer = customer, .kind = kind});
  }
  void Change(CustomerState& customer, LifeChange kind, int64_t time);
  void ReplaceKey(uint64_t customer, int64_t time);
  void AddUse(CustomerState& customer, const KnownDevice& device);

  const World* world_;
  const Identity* identity_;
  int64_t end_ = 0;  // of the month
  std::vector<ChangeRow> changes_;
  std::vector<ChangeRow> later_;
  std::vector<DeviceUseRow> new_devices_;
};

}  // namespace reveza::fraudgen::coherent
