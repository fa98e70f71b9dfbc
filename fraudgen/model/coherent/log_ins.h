// How log-ins look: those of customers, and those of fraudsters before they pay. Immutable and
// thread-safe.
#pragma once

#include <cstdint>

#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/frauds.h"
#include "fraudgen/model/coherent/tables.h"

namespace reveza::fraudgen::coherent {

class LogInBehaviour {
 public:
  LogInBehaviour(const World& world, const FraudBehaviour& fraud, uint64_t block)
      : world_(&world), fraud_(&fraud), block_(block) {}

  // Returns how often a customer logs in without paying, in thousandths of the month's payments.
  static uint64_t ChecksPerPayment(const Person& person);
  // Returns a log-in with one of the customer's devices at `time`, in the month of the customer's
  // plan.
  SessionRow OnOwnDevice(const CustomerState& customer, int64_t time, Draws& draws) const;
  // Returns an honest log-in without a payment. Some fail, or are from a device that is not the
  // customer's.
  SessionRow Check(const CustomerState& customer, int64_t time, Draws& draws) const;
  // Returns one of an honest customer who gets ready to pay: more of them need a new password, a
  // higher limit, or help.
  SessionRow Preparation(const CustomerState& customer, int64_t time, Draws& draws) const;
  // Returns one after a failure.
  SessionRow AfterFailure(const CustomerState& customer, const SessionRow& failed, int64_t time,
                          Draws& draws) const;
  // Returns the log-in before a payment that begins a session.
  SessionRow OfPayment(const CustomerState& customer, const Row& row, int64_t time,
                       Draws& draws) const;
  // Returns a log-in, or a failure, with a device of the fraudster that never pays. `index` tells
  // such devices apart.
  SessionRow OfFraudster(const CustomerState& customer, const FraudPlan& plan, uint64_t index,
                         int64_t time, SessionOutcome outcome, Draws& draws) const;
  // Sets how a customer is authenticated whose device or password is new.
  static void AuthenticateAnew(Draws& draws, SessionRow& row);
  // Sets how the customer was authenticated, and by how many attempts.
  void Authenticate(const CustomerState& customer, Draws& draws, SessionRow& row) const;

 private:
  SessionRow Elsewhere(const CustomerState& customer, int64_t time, Draws& draws) const;
  bool Sometimes(uint64_t millionths, Draws& draws) const;
  void AddEvents(const CustomerState& customer, Draws& draws, SessionRow& row) const;

  const World* world_;
  const FraudBehaviour* fraud_;
  uint64_t block_;
};

}  // namespace reveza::fraudgen::coherent
