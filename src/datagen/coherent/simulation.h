// Lives the lives of a block's customers, month by month. Not safe from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/coherent/bank.h"
#include "datagen/coherent/calendar.h"
#include "datagen/coherent/event_order.h"
#include "datagen/coherent/fraud_rows.h"
#include "datagen/coherent/frauds.h"
#include "datagen/coherent/honest.h"
#include "datagen/coherent/tables.h"

namespace reveza::datagen::coherent {

class Simulation {
 public:
  Simulation(const World& world, const Chains& chains, uint64_t block, TableBatches& tables);

  // Everything of the block, in order.
  Status Run();
  // How many payments that would be, without making them.
  uint64_t CountRows();

 private:
  void MakeCustomers();
  // Of the owner of a device that is not a thief's.
  Profile ProfileOf(const KnownDevice& device, const CustomerState& customer) const;
  Status PutCustomers();
  Status PutRings();
  void PlanSlice(const Slice& slice);
  Status RunSlice(const Slice& slice);
  void Prefetch(std::size_t place) const;
  Status PutNews();
  Status MakeHonest(int64_t time, const Event& event);
  Status MakeFraud(const FraudPlan& plan);
  Status PutRingRow(const FraudPlan& plan, const Row& row);
  void AddDevice(CustomerState& customer, KnownDevice device);
  void BuyPhone(CustomerState& customer, int64_t time);
  bool IsInside(const Row& row) const { return row.receiver - first_customer_ < customers_.size(); }
  Status Settle(CustomerState& customer, bool certain, Draws& draws, const Row& row);
  Row& NewRow(const CustomerState& customer, int64_t time);
  Status Finish(CustomerState& customer, bool certain, Draws& draws, Row& row);

  const World* world_;
  uint64_t block_;
  uint64_t first_customer_;
  TableBatches* tables_;
  FraudPlanner planner_;
  HonestLife honest_;
  FraudLife fraud_;
  Bank bank_;
  std::vector<Slice> slices_;
  std::vector<CustomerState> customers_;
  std::vector<FraudPlan> plans_;
  EventOrder order_;
  std::vector<ChangeRow> changes_;  // of the month
  std::vector<DeviceUseRow> new_devices_;
  uint64_t weight_ = 0;         // of all months and customers
  uint64_t weight_before_ = 0;  // of those done
  std::size_t next_plan_ = 0;
  uint64_t next_row_;
};

}  // namespace reveza::datagen::coherent
