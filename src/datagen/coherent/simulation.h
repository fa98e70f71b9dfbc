// Lives the lives of a block's customers, month by month. Not safe from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "datagen/coherent/bank.h"
#include "datagen/coherent/calendar.h"
#include "datagen/coherent/change_log.h"
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
  uint64_t MostEvents() const;
  void PlanSlice(const Slice& slice);
  Status RunSlice(const Slice& slice);
  // The event at this place; the one before it is the one that was asked for before.
  Event Next(std::size_t place);
  Status MakeHonest(int64_t time, const Event& event);
  Status MakeFraud(const FraudPlan& plan);
  Status PutRingRow(const FraudPlan& plan, const Row& row);
  void OrderByDevice();
  int64_t LastUse(const FraudPlan& plan) const;
  bool IsInside(const Row& row) const { return row.receiver - first_customer_ < customers_.size(); }
  Status Settle(CustomerState& customer, bool certain, Draws& draws, const Row& row);
  Row& NewRow(const CustomerState& customer, int64_t time);
  Status Finish(CustomerState& customer, bool certain, Draws& draws, Row& row);

  static constexpr std::size_t kFar = 12;

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
  std::array<Event, 16> upcoming_;  // each at its place, as far as kFar ahead
  ChangeLog changes_;
  std::vector<uint32_t> by_device_;  // plans with a device, by customer, device and time
  std::vector<uint64_t> weights_;    // of each month's customers
  uint64_t weight_ = 0;              // of all months and customers
  uint64_t weight_before_ = 0;       // of those done
  std::size_t next_plan_ = 0;
  uint64_t next_row_;
  int64_t reported_at_ = kNever;  // of the row that was made last
};

}  // namespace reveza::datagen::coherent
