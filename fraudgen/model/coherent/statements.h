// The statements of a block's accounts: what adds to a balance or takes from it without being a
// payment of the account's owner, in order of time (the table `entries`). Not thread-safe.
//
// The simulation knows a balance only when its owner pays: income is booked with the next payment,
// and the money of a chain with the next hop. A statement posts income when it arrives, and the
// money of a chain, too, unless the mule pays something else before the hop: then it is posted
// between both. What is posted more or less than what is booked is moved to savings, or from there,
// before the owner pays again, so that both agree at each payment.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/frauds.h"
#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/tables.h"

namespace reveza::fraudgen::coherent {

class Statements {
 public:
  // Does nothing but advance customers unless `entries` are wanted of `tables`, which must outlive
  // it.
  Statements(const World& world, uint64_t block, TableBatches& tables);

  bool wanted() const { return wanted_; }
  // Sets the frauds of the block, and what its mules receive from other blocks, in order of time.
  void SetFrauds(const FraudPlanner& planner, std::span<const FraudPlan> plans,
                 std::vector<Arrival> arrivals);

  // Begins a month, after all customers have advanced to it: puts the entries of the last one, and
  // prepares what is known of this one.
  Status BeginMonth(std::vector<CustomerState>& customers, const Slice& slice);
  // Puts the entries before `end`, after all customers have advanced to it.
  Status End(int64_t end) { return Put(end); }

  // Advances a customer to `time`, which never decreases, and posts what happens until then.
  void Advance(CustomerState& customer, int64_t time);
  // Makes the statement agree with the balance before a payment at `time`, to which the customer
  // has advanced and for which `booked` was added to the balance since.
  void Align(CustomerState& customer, int64_t time, int64_t booked = 0);
  // Posts an approved payment at its receiver, in whose balance it is booked.
  void Receive(CustomerState& receiver, const Row& payment);
  // Posts one that is not booked, or holds it until the receiver's hop of the ring, if there is
  // one.
  void ReceiveStolen(CustomerState& receiver, const Row& payment, uint64_t ring);
  // Posts what the customer received of a ring, before advancing to the hop at `time`.
  void Release(CustomerState& customer, uint64_t ring, int64_t time);

 private:
  // An entry that is posted, or waits for its account to advance; then `balance` is not known.
  struct Entry {
    int64_t time = 0;
    int64_t amount = 0;  // 0: not to be put
    int64_t balance = 0;
    uint64_t reference = 0;                      // the payer's account, or the number of a payment
    uint64_t ring = 0;                           // of money of a chain that is held
    uint32_t next = CustomerState::kNothingDue;  // entry that waits for the same account
    uint32_t customer = 0;                       // index in the block
    EntryKind kind = EntryKind::kSalary;
    bool booked = false;  // in the simulation's balance before it is posted
    bool held = false;    // until the customer makes a hop of the ring
  };

  void Wait(CustomerState& customer, const Entry& entry);
  void Add(const CustomerState& customer, Entry entry);
  void Post(CustomerState& customer, int64_t time, int64_t before);
  int64_t TakeDue(CustomerState& customer, int64_t time);
  int64_t TimeOf(const CustomerState& customer, const Entry& entry, int64_t until) const;
  void SaveSome(const CustomerState& customer, int64_t until);
  void PostDebits(CustomerState& customer, int64_t time, int64_t& balance);
  // Posts an entry after all others of the account, at `time` if possible.
  void PostLast(CustomerState& customer, int64_t time, EntryKind kind, int64_t amount,
                int64_t& balance);
  // What is drawn of a movement of a customer.
  enum class Drawn : uint8_t { kDelay, kSaving, kTime };
  static Draws DrawsOf(const CustomerState& customer, int64_t time, Drawn drawn);
  static uint64_t HopKey(uint64_t ring, uint64_t customer) { return Mix(Mix(ring) + customer); }
  bool HasHop(uint64_t ring, uint64_t customer, int64_t time) const;
  Status Put(int64_t end);
  uint32_t IndexOf(const CustomerState& customer) const {
    return static_cast<uint32_t>(customer.person.number - first_customer_);
  }

  const World* world_;
  TableBatches* tables_;
  uint64_t first_customer_;
  uint64_t next_number_;
  bool wanted_;
  std::vector<Arrival> arrivals_;
  std::size_t next_arrival_ = 0;
  std::unordered_map<uint64_t, int64_t> last_hops_;  // by ring and customer
  std::vector<Entry> entries_;                       // of the month
  // Scratch: what the simulation booked, and the entries to be posted.
  std::vector<Movement> movements_;
  std::vector<uint32_t> due_;
};

}  // namespace reveza::fraudgen::coherent
