// What the bank knows at a payment, what it thinks of it, and whether it pays. Immutable, so safe
// from any thread.
#pragma once

#include <cstdint>

#include "datagen/coherent/customer_state.h"
#include "datagen/coherent/row.h"

namespace reveza::datagen::coherent {

class Bank {
 public:
  explicit Bank(const World& world) : world_(&world) {}

  // The columns that follow from the customer's rows before this one.
  void Derive(const CustomerState& customer, Row& row) const;
  // People know their limits: most stay below.
  void StayBelowLimits(const CustomerState& customer, Draws& draws, Row& row) const;
  // Score, alert, status. `certain`: it is known to get through.
  void Decide(const CustomerState& customer, bool certain, Draws& draws, Row& row) const;
  // Moves the money.
  void Book(CustomerState& customer, Row& row) const;

 private:
  int64_t Allowed(const CustomerState& customer, const Row& row) const;
  int64_t Score(const CustomerState& customer, Draws& draws, Row& row) const;
  void Judge(const CustomerState& customer, Draws& draws, Row& row) const;
  bool IsUntrusted(const CustomerState& customer, const Row& row) const;

  const World* world_;
};

}  // namespace reveza::datagen::coherent
