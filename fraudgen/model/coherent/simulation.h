// Simulates the payments of a block's customers, month by month. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "fraudgen/model/coherent/bank.h"
#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/change_log.h"
#include "fraudgen/model/coherent/event_order.h"
#include "fraudgen/model/coherent/frauds.h"
#include "fraudgen/model/coherent/honest.h"
#include "fraudgen/model/coherent/labels.h"
#include "fraudgen/model/coherent/sessions.h"
#include "fraudgen/model/coherent/statements.h"
#include "fraudgen/model/coherent/tables.h"

namespace reveza::fraudgen::coherent {

class Simulation {
 public:
  Simulation(const World& world, const Chains& chains, uint64_t block, TableBatches& tables);

  // Generates all rows of the block, in order.
  Status Run();
  // Returns the number of payments without generating them.
  uint64_t CountRows();
  // Returns which accounts, by their index in the block, make a fraud that is known at the end of
  // the day of the labels. Generates no rows; an object does only one of these three things.
  std::vector<bool> FindKnownAccounts();
  // Labels accounts and members of rings only if they are `known`.
  void LabelOnly(std::vector<bool> known) { known_ = std::move(known); }

 private:
  void MakeCustomers();
  // Returns the profile of a device's owner; not for fraudsters' devices.
  bool IsKnown(uint64_t local) const { return labels_.AreComplete() || known_[local]; }
  Profile ProfileOf(const KnownDevice& device, const CustomerState& customer) const;
  Status PutCustomers();
  Status PutRings();
  uint64_t HonestRows(uint64_t weight) const;
  uint64_t MaxEvents() const;
  void PlanSlice(const Slice& slice);
  // Returns the time of a customer's row.
  int64_t TimeOf(CustomerState& customer, const Slice& slice, const PaymentTimes& times,
                 uint32_t index) const;
  Status RunSlice(const Slice& slice);
  Status EndStatements();
  // Returns the event at `place`; must be called for consecutive places.
  Event Next(std::size_t place);
  Status MakeHonest(int64_t time, const Event& event);
  Status MakeFraud(const FraudPlan& plan);
  Status PutRingRow(const FraudPlan& plan, const Row& row);
  void OrderByDevice();
  int64_t LastUse(const FraudPlan& plan) const;
  bool ReceiverInBlock(const Row& row) const {
    return row.receiver - first_customer_ < customers_.size();
  }
  Status Settle(CustomerState& customer, bool certain, Draws& draws, const Row& row);
  Row& NewRow(const CustomerState& customer, int64_t time);
  Status Finish(CustomerState& customer, bool certain, Draws& draws, Row& row);

  static constexpr std::size_t kPrefetchDistance = 12;

  const World* world_;
  uint64_t block_;
  uint64_t first_customer_;
  TableBatches* tables_;
  FraudPlanner planner_;
  HonestBehaviour honest_;
  FraudBehaviour fraud_;
  Bank bank_;
  Labels labels_;
  std::vector<bool> known_;  // unless all labels are
  std::vector<Slice> slices_;
  std::vector<CustomerState> customers_;
  std::vector<FraudPlan> plans_;
  EventOrder order_;
  std::array<Event, 16> upcoming_;  // ring buffer of the next kPrefetchDistance events
  ChangeLog changes_;
  Statements statements_;
  Sessions sessions_;
  std::vector<uint32_t> by_device_;  // plans with a device, by customer, device and time
  std::vector<uint64_t> weights_;    // of all customers, by month
  uint64_t weight_ = 0;              // total
  uint64_t weight_before_ = 0;       // of finished months
  std::size_t next_plan_ = 0;
  uint64_t next_row_;
  int64_t reported_at_ = kNever;  // of the last row
  uint64_t ring_ = 0;             // of the last fraud, if its money moves on
};

}  // namespace reveza::fraudgen::coherent
