// The log-ins of a block's customers in order of time (the table `sessions`). Not thread-safe.
//
// A payment of which a session begins has its log-in on the same day, and log-ins that get ready
// for it follow from the plans of frauds or are on that day, too: a later end of the data must not
// change earlier days.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/log_ins.h"

namespace reveza::fraudgen::coherent {

class Sessions {
 public:
  // Does nothing unless `sessions` are wanted of `tables`, which must outlive it, as `fraud` must.
  Sessions(const World& world, const FraudBehaviour& fraud, uint64_t block, TableBatches& tables);

  // Sets the frauds of the block, in order of time.
  void SetFrauds(std::span<const FraudPlan> plans);
  // Adds the month's log-ins that follow from no payment. The customers have their plans of the
  // month; `changes` are those that customers make in it.
  void BeginMonth(std::span<const CustomerState> customers, std::span<const ChangeRow> changes,
                  const Slice& slice);
  // Adds the log-in of a finished payment if that begins a session.
  void Add(const CustomerState& customer, const Row& row);
  // Records that a fraudster's phone has the customer's number from `time` on.
  void SwapSim(const CustomerState& customer, int64_t time) {
    if (wanted_) new_sims_.emplace(customer.person.number, time);
  }
  // Puts the log-ins before `end` in order of time.
  Status EndMonth(std::span<CustomerState> customers, int64_t end);

 private:
  // A log-in of a fraudster, or of a victim under the fraudster's guidance.
  struct Planned {
    int64_t time = 0;
    uint32_t customer = 0;  // index in the block
    uint32_t plan = 0;
    uint32_t index = 0;  // of the device that tries
    bool own = false;    // with the victim's device
    bool failed = false;
    bool password_reset = false;
    bool limit_requested = false;
    bool remote_access = false;
  };

  void PlanSigns(uint32_t plan);
  void PlanAttack(uint32_t plan);
  void AddPlanned(const CustomerState& customer, const Planned& planned);
  void AddChecks(const CustomerState& customer, const PaymentTimes& times, const Slice& slice);
  void Prepare(const CustomerState& customer, const Row& row, Draws& draws);
  void SeeDevice(CustomerState& customer, SessionRow& row);

  const World* world_;
  TableBatches* tables_;
  LogInBehaviour log_ins_;
  uint64_t first_customer_;
  uint64_t customers_;
  uint64_t next_number_;
  bool wanted_;
  std::span<const FraudPlan> plans_;
  std::vector<Planned> planned_;  // in order of time
  std::size_t next_planned_ = 0;
  std::unordered_multimap<uint64_t, int64_t> new_sims_;  // not yet seen, by customer
  std::vector<SessionRow> rows_;                         // of the month, and some of the next
};

}  // namespace reveza::fraudgen::coherent
