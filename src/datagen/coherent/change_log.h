// What changes about a block's customers besides their payments: who moves, earns more, takes
// another phone. Made month by month, as rows in order of time. Not safe from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/coherent/calendar.h"
#include "datagen/coherent/customer_state.h"
#include "datagen/coherent/identity.h"
#include "datagen/coherent/tables.h"

namespace reveza::datagen::coherent {

class ChangeLog {
 public:
  ChangeLog(const World& world, const Identity& identity) : world_(&world), identity_(&identity) {}

  // What is known already of the month that begins.
  void Begin(const Slice& slice);
  // What happens to a customer in it. The customer is as at its begin, and knows of it from then
  // on.
  void Live(CustomerState& customer, const Slice& slice);
  // Some keep the old phone for a while.
  void BuyPhone(CustomerState& customer, int64_t time);
  // Of somebody else, used with this account from now on.
  void AddDevice(CustomerState& customer, const KnownDevice& device);
  // At a time that may be in a later month.
  void RemoveDevice(const CustomerState& customer, DeviceNumber device, int64_t time);
  void MoveNumber(const CustomerState& customer, int64_t time);
  // The month's rows, in order.
  Status Put(TableBatches& tables);

 private:
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

}  // namespace reveza::datagen::coherent
