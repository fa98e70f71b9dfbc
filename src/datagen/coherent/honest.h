// What an honest customer does next: everything of a payment but what the bank makes of it.
// Immutable, so safe from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "datagen/coherent/calendar.h"
#include "datagen/coherent/customer_state.h"
#include "datagen/coherent/row.h"

namespace reveza::datagen::coherent {

// Cents that a machine gives: whole notes of 10 BRL, 20 BRL to 2,000 BRL.
constexpr int64_t Cash(int64_t amount) {
  const int64_t possible = std::clamp<int64_t>(amount, 2'000, 200'000);
  return possible - possible % 1'000;
}
// A price as shops write it: many end in 90 or 99 cents.
int64_t Price(int64_t amount, uint64_t bits);
// Cheaper purchases are not paid in instalments.
inline constexpr int64_t kNoInstallments = 10'000;

class HonestLife {
 public:
  explicit HonestLife(const World& world);

  // How many of so many rows are standing orders.
  uint32_t StandingOrders(Profile profile, uint32_t rows) const;
  // Journeys, new phones and the like of a month; `rows` honest ones are planned.
  Month PlanMonth(const Person& person, const Slice& slice, uint32_t rows) const;
  // When row `index` of the month takes place.
  int64_t TimeOf(const CustomerState& customer, const Slice& slice, const PaymentTimes& times,
                 uint32_t index) const;

  // The payment with this index of the customer's month.
  void Pay(const CustomerState& customer, uint32_t index, Row& row) const;
  // One of a given kind; `row` has its time and number.
  void PayBy(const CustomerState& customer, Kind kind, Draws& draws, Row& row) const;
  // A card's or a shop's payment in a category, at a shop of `city`.
  void Shop(const CustomerState& customer, uint32_t category, uint32_t city, Draws& draws,
            Row& row) const;

  // Where somebody is; without a value in flight.
  bool WhereIs(const CustomerState& customer, int64_t time, Place& place) const;
  uint32_t GoodsThatSell(uint64_t bits) const;
  // Those of them that are sold online.
  uint32_t GoodsThatSellOnline(uint64_t bits) const;
  uint32_t DigitalGoods() const;
  // Of one purchase in a category.
  static int64_t MostAmount(uint32_t category);

 private:
  Kind KindOf(const CustomerState& customer, int64_t time, Draws& draws) const;
  void PayPix(const CustomerState& customer, Draws& draws, Row& row) const;
  void PayPerson(const CustomerState& customer, Draws& draws, Row& row) const;
  void PayWithCard(const CustomerState& customer, Draws& draws, Row& row) const;
  void PayBill(const CustomerState& customer, Draws& draws, Row& row) const;
  void PayStandingOrder(const CustomerState& customer, uint32_t index, Row& row) const;
  void TopUp(const CustomerState& customer, Draws& draws, Row& row) const;
  void Withdraw(const CustomerState& customer, Draws& draws, Row& row) const;
  void ByDevice(const CustomerState& customer, Draws& draws, Row& row) const;
  int64_t GoodsAmount(const CustomerState& customer, uint32_t category, int64_t time,
                      Draws& draws) const;
  // What drifts: a scale of amounts at a time, and whether a payment is of the new way already.
  int64_t Scaled(int64_t scale, int64_t time) const;
  bool HasMoved(uint32_t thousandths, int64_t time, Draws& draws) const;

  const World* world_;
  std::vector<WeightedChoice> kinds_;       // by profile
  std::vector<WeightedChoice> categories_;  // by profile
  std::array<int64_t, 32> medians_{};       // of a purchase, by category
  std::array<int64_t, 32> deviations_{};
  std::array<uint32_t, 32> online_{};  // percent
  std::array<int64_t, kProfiles> person_medians_{};
};

}  // namespace reveza::datagen::coherent
