// Makes the row of a planned fraud: an honest row of the customer, with the traits that the thief
// does not hide. Immutable, so safe from any thread.
#pragma once

#include "datagen/coherent/frauds.h"
#include "datagen/coherent/honest.h"

namespace reveza::datagen::coherent {

class FraudLife {
 public:
  FraudLife(const World& world, const HonestLife& honest) : world_(&world), honest_(&honest) {}

  // `row` has its time and number. Money and devices of the customer must be there already.
  void Pay(const CustomerState& customer, const FraudPlan& plan, uint64_t block, Row& row) const;
  // When it was reported; kNever if never.
  int64_t ReportedAt(const Row& row) const;

 private:
  void BuyGoods(const CustomerState& customer, const FraudPlan& plan, uint64_t block,
                const Typology& typology, Draws& draws, Row& row) const;
  void FromThiefsDevice(DeviceNumber device, const Typology& typology, Row& row) const;
  int64_t Fitting(const Row& row, int64_t amount, Draws& draws) const;
  Place ThiefsPlace(uint64_t thief) const;
  bool Shows(Draws& draws) const;

  const World* world_;
  const HonestLife* honest_;
};

}  // namespace reveza::datagen::coherent
