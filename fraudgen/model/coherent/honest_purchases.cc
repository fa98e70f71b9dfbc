// What honest customers buy, and the bills and standing orders that they pay.
#include <algorithm>
#include <array>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/honest.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr auto kBills = lists::CategoriesWithCodes("4900", "4814", "8299", "8011", "7941");
constexpr auto kStandingOrders = lists::CategoriesWithCodes("5815", "4814", "4900", "7941", "8299");
constexpr auto kJourney = lists::CategoriesWithCodes("7011", "5812", "4121", "5541");

// Percentage of purchases made online, by category.
constexpr auto kOnline = []() consteval {
  std::array<uint32_t, lists::kMerchantCategories.size()> percent{};
  percent[lists::CategoryWithCode("5812_delivery")] = 100;
  percent[lists::CategoryWithCode("5815")] = 100;
  percent[lists::CategoryWithCode("4511")] = 90;
  percent[lists::CategoryWithCode("7011")] = 55;
  percent[lists::CategoryWithCode("5732")] = 45;
  percent[lists::CategoryWithCode("5651")] = 35;
  percent[lists::CategoryWithCode("5977")] = 35;
  percent[lists::CategoryWithCode("5944")] = 15;
  percent[lists::CategoryWithCode("5311")] = 35;
  percent[lists::CategoryWithCode("8299")] = 60;
  percent[lists::CategoryWithCode("4814")] = 60;
  percent[lists::CategoryWithCode("4121")] = 85;
  percent[lists::CategoryWithCode("7995")] = 100;
  percent[lists::CategoryWithCode("5995")] = 20;
  return percent;
}();

// Customers with an additional card that a relative uses in another city, and the purchases by card
// that are the relative's, in millionths.
constexpr uint64_t kAdditionalCards = 100'000;
constexpr uint64_t kByRelative = 250'000;

constexpr std::array<int64_t, 7> kTopUps = {1'500, 2'000, 2'500, 3'000, 4'000, 5'000, 10'000};

}  // namespace

void HonestBehaviour::PayWithCard(const CustomerState& customer, Draws& draws, Row& row) const {
  const auto profile = static_cast<std::size_t>(customer.person.profile);
  uint32_t category = categories_[profile].Of(draws.Bits());
  uint32_t city = customer.person.city;
  if (customer.month.OnJourney(row.time)) {
    city = customer.month.journey_city;
    if (draws.Chance(world_->parameters().population.travel_goods)) {
      category = kJourney[draws.Below(kJourney.size())];
    }
  }
  // Some have an additional card with a relative elsewhere.
  const uint64_t relative = Mix(customer.person.key ^ 0x6164646974u);
  if (relative % 1'000'000 < kAdditionalCards && draws.Chance(kByRelative)) {
    city = world_->AnyCity(Mix(relative));
  }
  Shop(customer, category, city, draws, row);
}

// Returns the median of a purchase in a category.
int64_t HonestBehaviour::UsualAmount(const CustomerState& customer, uint32_t category,
                                     int64_t time) const {
  return medians_[category] * Scaled(customer.goods_scale, time) / kOne;
}

int64_t HonestBehaviour::GoodsAmount(const CustomerState& customer, uint32_t category, int64_t time,
                                     Draws& draws) const {
  const int64_t amount =
      LogNormal(draws.Bits(), UsualAmount(customer, category, time), deviations_[category]);
  const int64_t max = MaxAmount(category);
  const int64_t min = lists::kMerchantCategories[category].min_amount * 50;
  return RetailPrice(std::clamp(amount, min, max), draws.Bits());
}

void HonestBehaviour::Shop(const CustomerState& customer, uint32_t category, uint32_t city,
                           Draws& draws, Row& row) const {
  const uint64_t favourite = draws.Below(4);
  uint64_t bits = draws.Bits();
  // A PIX by QR code goes to a favourite shop, so that its receiver is known.
  if (favourite < kFavourites || row.kind == Kind::kPix) {
    // One of them is the quarter's.
    const uint64_t which = favourite % kFavourites;
    const Person& person = customer.person;
    bits = Mix((which == 0 ? person.quarter_key : person.key) + category * kFavourites + which + 1);
  }
  const uint64_t even = bits >> 32;
  const auto position = static_cast<uint32_t>(UpperProduct(even * even, kMerchantsPerCity));
  row.merchant = MerchantOf(city, category, position);
  row.has_merchant = true;
  row.amount = GoodsAmount(customer, category, row.time, draws);
  if (!IsCard(row.kind)) return;
  row.has_ip = false;
  row.card = Mix(customer.person.key ^ (row.kind == Kind::kCreditCard ? 0x63u : 0x64u));
  const uint64_t brand = Mix(row.card) % 100;
  row.brand = brand < 40 ? 0 : brand < 80 ? 1 : brand < 95 ? 2 : brand < 98 ? 3 : 4;
  const uint64_t entry = draws.Below(1'000);
  if (draws.Below(100) < kOnline[category]) {
    row.entry = CardEntry::kManual;
    row.channel = Channel::kOnlineShop;
    // Online shops transmit the IP address but not the device.
    row.ip = OwnAddress(customer, row.time, draws);
    row.has_ip = true;
    row.cvv_validated = draws.Chance(970'000);
    row.auth_3ds = draws.Chance(600'000);
  } else {
    row.channel = Channel::kPointOfSale;
    row.entry = entry < 430   ? CardEntry::kChip
                : entry < 975 ? CardEntry::kContactless
                              : CardEntry::kMagnetic;
    if (row.has_place) row.place = world_->PlaceOfMerchant(row.merchant);
  }
  if (row.kind == Kind::kCreditCard && row.amount > kMinInstallmentAmount) {
    static const WeightedChoice kCounts(lists::kInstallmentWeights);
    row.installments = static_cast<uint8_t>(lists::kInstallments[kCounts.Of(draws.Bits())]);
  }
}

// The same billers each month, with similar amounts.
void HonestBehaviour::PayBill(const CustomerState& customer, Draws& draws, Row& row) const {
  const uint64_t which = draws.Below(kBills.size());
  const uint32_t category = kBills[which];
  const uint64_t bits = Mix(customer.person.key + 0xb111 + which);
  row.merchant = MerchantOf(customer.person.city, category,
                            static_cast<uint32_t>(bits % (kMerchantsPerCity / 64)));
  row.has_merchant = true;
  const int64_t usual =
      LogNormal(bits, UsualAmount(customer, category, row.time), deviations_[category]);
  row.amount = std::max<int64_t>(usual * draws.Between(850, 1'150) / 1000, 1'000);
  const uint64_t percent = world_->parameters().HabitsOf(customer.person.profile).branch_percent;
  const bool branch = percent != 0 && draws.Chance(percent * 10'000) &&
                      !HasMoved(world_->parameters().drift.to_mobile_thousandths, row.time, draws);
  if (branch) {
    row.channel = Channel::kBranch;
  } else {
    UseOwnDevice(customer, draws, row);
  }
}

void HonestBehaviour::PayStandingOrder(const CustomerState& customer, uint32_t index,
                                       Row& row) const {
  const uint64_t bits = Mix(customer.person.key + 0x57a4d + index);
  const uint32_t category = kStandingOrders[bits % kStandingOrders.size()];
  row.kind = Kind::kAutoDebit;
  row.channel = Channel::kStandingOrder;
  row.has_place = false;
  row.merchant = MerchantOf(customer.person.city, category,
                            static_cast<uint32_t>((bits >> 8) % (kMerchantsPerCity / 64)));
  row.has_merchant = true;
  row.amount = RetailPrice(
      LogNormal(Mix(bits), UsualAmount(customer, category, row.time), deviations_[category] / 2),
      bits >> 20);
}

void HonestBehaviour::TopUp(const CustomerState& customer, Draws& draws, Row& row) const {
  UseOwnDevice(customer, draws, row);
  row.amount = kTopUps[draws.Below(kTopUps.size())];
  row.merchant = MerchantOf(customer.person.city, lists::CategoryWithCode("4814"),
                            static_cast<uint32_t>(customer.person.key % 4));
  row.has_merchant = true;
}

void HonestBehaviour::Withdraw(const CustomerState& customer, Draws& draws, Row& row) const {
  row.channel = Channel::kAtm;
  const int64_t amount =
      LogNormal(draws.Bits(), 15'000 * Scaled(customer.goods_scale, row.time) / kOne, 70'000);
  row.amount = RoundToBanknotes(amount);
  if (row.has_place) {
    row.place.latitude += static_cast<int32_t>(draws.Between(-9'000, 9'000));
    row.place.longitude += static_cast<int32_t>(draws.Between(-9'000, 9'000));
  }
}

}  // namespace reveza::fraudgen::coherent
