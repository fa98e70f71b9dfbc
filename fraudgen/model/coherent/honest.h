// Generates the payments of honest customers, up to the bank's decision. Immutable and thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/row.h"

namespace reveza::fraudgen::coherent {

// Rounds cents to what a cash machine pays out: multiples of 10 BRL, from 20 to 2,000 BRL.
constexpr int64_t RoundToBanknotes(int64_t amount) {
  const int64_t possible = std::clamp<int64_t>(amount, 2'000, 200'000);
  return possible - possible % 1'000;
}
// Rounds to a typical retail price; many end in 90 or 99 cents.
int64_t RetailPrice(int64_t amount, uint64_t bits);
// Return a category of goods that are easily sold on; the second only one that is sold online.
uint32_t ResellableGoods(uint64_t bits);
uint32_t ResellableGoodsOnline(uint64_t bits);
inline constexpr uint32_t kDigitalGoods = lists::CategoryWithCode("5815");
// Returns the maximum amount of a purchase in a category.
constexpr int64_t MaxAmount(uint32_t category) {
  return lists::kMerchantCategories[category].max_amount * 150;
}
// Cheaper purchases, in cents, are paid at once.
inline constexpr int64_t kMinInstallmentAmount = 10'000;

class HonestBehaviour {
 public:
  explicit HonestBehaviour(const World& world);

  // Returns how many of a month's rows are standing orders.
  uint32_t StandingOrders(Profile profile, uint32_t rows) const;
  // Plans journeys, new phones and the like for a month with `rows` honest payments.
  Month PlanMonth(const Person& person, const Slice& slice, uint32_t rows) const;
  // Returns the time of row `index` of the month.
  int64_t TimeOf(const CustomerState& customer, const Slice& slice, const PaymentTimes& times,
                 uint32_t index) const;

  // Fills payment `index` of the customer's month.
  void Pay(const CustomerState& customer, uint32_t index, Row& row) const;
  // Fills a payment of a given kind; time and number of `row` are set.
  void PayWithKind(const CustomerState& customer, Kind kind, Draws& draws, Row& row) const;
  // Fills a purchase in a category, at a shop in `city`.
  void Shop(const CustomerState& customer, uint32_t category, uint32_t city, Draws& draws,
            Row& row) const;

  // Stores the customer's location at `time`; returns false in flight.
  bool LocationAt(const CustomerState& customer, int64_t time, Place& place) const;

  // Returns the customer's IP address: at home that of the household, elsewhere one that the mobile
  // network of the city shares among many customers.
  static uint32_t OwnAddress(const CustomerState& customer, int64_t time, Draws& draws);
  static uint32_t MobileAddress(uint32_t city, uint64_t bits);
  // Draws a category of shops that the customer buys in.
  uint32_t AnyCategory(const CustomerState& customer, Draws& draws) const {
    return categories_[static_cast<std::size_t>(customer.person.profile)].Of(draws.Bits());
  }
  // Pay a shop of the category by a QR code: one that the customer has paid before, or a new one.
  void PayFavouriteShop(const CustomerState& customer, uint32_t category, Draws& draws,
                        Row& row) const;
  void PayNewShop(const CustomerState& customer, uint32_t category, Draws& draws, Row& row) const;

 private:
  Kind KindOf(const CustomerState& customer, int64_t time, Draws& draws) const;
  void PayPix(const CustomerState& customer, Draws& draws, Row& row) const;
  void PayPerson(const CustomerState& customer, Draws& draws, Row& row) const;
  // Pays a relative who passes the money on, or passes it on.
  bool PayForRelative(const CustomerState& customer, uint32_t index, Draws& draws, Row& row) const;
  // Pays the receiver of a few minutes ago once more, in some cases: another round, the rest of a
  // sum, a second ticket.
  bool PayAgain(const CustomerState& customer, Draws& draws, Row& row) const;
  // Returns money to the contact who paid the customer last, if it was a contact.
  static bool PayBack(const CustomerState& customer, Draws& draws, Row& row);
  void PayWithCard(const CustomerState& customer, Draws& draws, Row& row) const;
  void PayBill(const CustomerState& customer, Draws& draws, Row& row) const;
  void PayStandingOrder(const CustomerState& customer, uint32_t index, Row& row) const;
  void TopUp(const CustomerState& customer, Draws& draws, Row& row) const;
  void Withdraw(const CustomerState& customer, Draws& draws, Row& row) const;
  void UseOwnDevice(const CustomerState& customer, Draws& draws, Row& row) const;
  void EmptyAccount(const CustomerState& customer, Draws& draws, Row& row) const;
  int64_t UsualAmount(const CustomerState& customer, uint32_t category, int64_t time) const;
  int64_t GoodsAmount(const CustomerState& customer, uint32_t category, int64_t time,
                      Draws& draws) const;
  static uint32_t FirstOfSitting(const Month& month, uint32_t index);
  // Apply drift: to an amount's scale at a time, and to the choice of kind or channel.
  int64_t Scaled(int64_t scale, int64_t time) const;
  bool HasMoved(uint32_t thousandths, int64_t time, Draws& draws) const;

  const World* world_;
  std::vector<WeightedChoice> kinds_;       // by profile
  std::vector<WeightedChoice> categories_;  // by profile
  std::array<int64_t, 32> medians_{};       // of a purchase, by category
  std::array<int64_t, 32> deviations_{};
  std::array<int64_t, kProfiles> person_medians_{};
};

}  // namespace reveza::fraudgen::coherent
