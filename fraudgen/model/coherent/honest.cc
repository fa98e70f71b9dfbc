#include "fraudgen/model/coherent/honest.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/profiles.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/society.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr std::size_t kCategories = lists::kMerchantCategories.size();

// The first four are also sold online.
constexpr auto kSellable =
    lists::CategoriesWithCodes("5732", "5651", "5311", "5977", "5411", "5541", "5812");
constexpr std::size_t kSellableOnline = 4;

// Payments to people who are no contacts: those to somebody whom nobody else pays, in millionths.
constexpr uint64_t kOnlyOnce = 500'000;
// Payments to people that return money while somebody else paid last, in millionths.
constexpr uint64_t kPaidBack = 150'000;
// Payments to people within a day of money from another customer that pass most of it on: a rent or
// a bill that one collects, in millionths.
constexpr uint64_t kPassedOn = 300'000;
// PIX within minutes of another that go to the same receiver, in millionths; to a person who is no
// contact, such as one who sells tickets or collects for a present.
constexpr uint64_t kPaidAgain = 400'000;
constexpr uint64_t kNoContactPaidAgain = 850'000;
constexpr int64_t kSoonAfter = 45 * kMinute;
// Payments to people that leave nothing on the account, in millionths.
constexpr uint64_t kAllThatIsLeft = 20'000;

}  // namespace

uint32_t HonestBehaviour::MobileAddress(uint32_t city, uint64_t bits) {
  constexpr uint64_t kOfCity = 96;
  return static_cast<uint32_t>(Mix(0x6d6f62696c65 + city * kOfCity + UpperProduct(bits, kOfCity)));
}

uint32_t HonestBehaviour::OwnAddress(const CustomerState& customer, int64_t time, Draws& draws) {
  const Person& person = customer.person;
  if (draws.Chance(500'000)) {
    const auto period = static_cast<uint64_t>(time / (40 * kDay));
    return static_cast<uint32_t>(Mix(person.home_key + period * 2 + 1));
  }
  const bool journey = customer.month.OnJourney(time);
  const auto period = static_cast<uint64_t>(time / (3 * kHour));
  return MobileAddress(journey ? customer.month.journey_city : person.city,
                       Mix(person.key + period * 2));
}

int64_t RetailPrice(int64_t amount, uint64_t bits) {
  amount = std::max<int64_t>(amount, 100);
  if (bits % 8 > 2) return amount;
  return amount - amount % 100 + (bits % 8 == 2 ? 99 : 90);
}

uint32_t ResellableGoods(uint64_t bits) { return kSellable[UpperProduct(bits, kSellable.size())]; }

uint32_t ResellableGoodsOnline(uint64_t bits) {
  return kSellable[UpperProduct(bits, kSellableOnline)];
}

HonestBehaviour::HonestBehaviour(const World& world) : world_(&world) {
  for (std::size_t i = 0; i < kProfiles; ++i) {
    const lists::Profile& profile = lists::Profiles()[i];
    kinds_.emplace_back(world.parameters().profiles[i].kinds);
    std::array<uint32_t, kCategories> categories{};
    for (std::size_t category = 0; category < kCategories; ++category) {
      categories[category] = lists::kMerchantCategories[category].weight;
    }
    // Mostly the profile's categories, sometimes any.
    for (const lists::CategoryWeight& usual : profile.merchant_categories) {
      categories[usual.category] += usual.weight * 6;
    }
    categories[lists::CategoryWithCode("6011")] = 0;  // withdrawals are a separate kind
    categories_.emplace_back(categories);
    person_medians_[i] = PersonsMedian(world.parameters().profiles[i]);
  }
  for (std::size_t category = 0; category < kCategories; ++category) {
    const auto min = static_cast<uint64_t>(lists::kMerchantCategories[category].min_amount);
    const auto max = static_cast<uint64_t>(lists::kMerchantCategories[category].max_amount);
    medians_[category] = static_cast<int64_t>(SquareRoot(min * max * 10'000)) * 8 / 10;
    deviations_[category] = (Log2(max) - Log2(min)) / 5;
  }
}

bool HonestBehaviour::HasMoved(uint32_t thousandths, int64_t time, Draws& draws) const {
  return thousandths != 0 &&
         draws.Chance(thousandths * static_cast<uint64_t>(world_->Progress(time)));
}

Kind HonestBehaviour::KindOf(const CustomerState& customer, int64_t time, Draws& draws) const {
  const auto profile = static_cast<std::size_t>(customer.person.profile);
  const auto kind = static_cast<Kind>(kinds_[profile].Of(draws.Bits()));
  if (kind == Kind::kTed && !IsBankingTime(time)) return Kind::kPix;
  const bool replaceable = kind == Kind::kTed || kind == Kind::kDebitCard ||
                           kind == Kind::kBoleto || kind == Kind::kWithdrawal;
  const uint32_t to_pix = world_->parameters().drift.to_pix_thousandths;
  return replaceable && HasMoved(to_pix, time, draws) ? Kind::kPix : kind;
}

void HonestBehaviour::Pay(const CustomerState& customer, uint32_t index, Row& row) const {
  if (index < customer.month.standing_orders) return PayStandingOrder(customer, index, row);
  Draws draws(Mix(customer.month.key + index) ^ static_cast<uint64_t>(Purpose::kPayments));
  if (PayForRelative(customer, index, draws, row)) return;
  PayWithKind(customer, KindOf(customer, row.time, draws), draws, row);
  if (row.kind == Kind::kMobileTopup) return;  // fixed prices
  if (row.time / kDay == customer.month.spree_day) {
    row.amount = row.amount * world_->parameters().calendar.spree_percent / 100;
  }
  // Spending shrinks with the balance.
  const int64_t comfort = customer.person.income / 4;
  if (row.kind != Kind::kCreditCard && customer.balance < comfort) {
    const int64_t share =
        std::max(kOne / 8, customer.balance * kOne / std::max<int64_t>(comfort, 1));
    row.amount = std::max<int64_t>(row.amount * share / kOne, 200);
  }
  if (row.kind == Kind::kWithdrawal) row.amount = RoundToBanknotes(row.amount);
  if (HasReceiver(row.kind) && !row.receiver_is_shop) EmptyAccount(customer, draws, row);
}

bool HonestBehaviour::PayForRelative(const CustomerState& customer, uint32_t index, Draws& draws,
                                     Row& row) const {
  const Month& month = customer.month;
  const CustomerState::Debt& debt = customer.debt;
  const bool sends = month.sends_to != kNoAccount;
  const bool passes_on = month.passes_on && debt.amount != 0 && row.time - debt.time < kHour;
  if (index + 1 != month.rows || (!sends && !passes_on)) return false;
  row.kind = Kind::kPix;
  row.has_place = LocationAt(customer, row.time, row.place);
  PayPerson(customer, draws, row);
  if (passes_on) {
    row.amount = std::max<int64_t>(debt.amount * draws.Between(850, 1'000) / 1'000, 200);
    return true;
  }
  row.receiver = month.sends_to;
  row.stranger = false;
  const auto found = std::ranges::find(customer.contacts, row.receiver);
  row.contact = found == customer.contacts.end()
                    ? int8_t{-1}
                    : static_cast<int8_t>(found - customer.contacts.begin());
  row.amount = std::max<int64_t>(std::min(row.amount, customer.balance * 9 / 10), 200);
  return true;
}

// Some move all that is left to an account elsewhere, or pay a debt with it.
void HonestBehaviour::EmptyAccount(const CustomerState& customer, Draws& draws, Row& row) const {
  constexpr int64_t kWorthwhile = 5'000;
  if (customer.balance < kWorthwhile || customer.balance > customer.person.income / 2) return;
  if (draws.Chance(kAllThatIsLeft)) row.amount = customer.balance;
}

void HonestBehaviour::PayWithKind(const CustomerState& customer, Kind kind, Draws& draws,
                                  Row& row) const {
  row.kind = kind;
  row.has_place = LocationAt(customer, row.time, row.place);
  switch (kind) {
    case Kind::kPix:
      return PayPix(customer, draws, row);
    case Kind::kTed:
      PayPerson(customer, draws, row);
      row.amount *= 3;
      return;
    case Kind::kCreditCard:
    case Kind::kDebitCard:
      return PayWithCard(customer, draws, row);
    case Kind::kBoleto:
      return PayBill(customer, draws, row);
    case Kind::kMobileTopup:
      return TopUp(customer, draws, row);
    case Kind::kWithdrawal:
      return Withdraw(customer, draws, row);
    case Kind::kAutoDebit:
      return PayStandingOrder(customer, static_cast<uint32_t>(draws.Below(8)), row);
  }
}

// Pays with one of the customer's devices.
void HonestBehaviour::UseOwnDevice(const CustomerState& customer, Draws& draws, Row& row) const {
  const ProfileHabits& habits = world_->parameters().HabitsOf(customer.person.profile);
  const uint64_t web = habits.web_percent;
  const uint64_t whatsapp = habits.whatsapp_percent;
  const uint64_t percent = draws.Below(100);
  row.channel = Channel::kMobileApp;
  row.device = customer.main_device.device;
  const uint32_t to_mobile = world_->parameters().drift.to_mobile_thousandths;
  if (percent < web && !HasMoved(to_mobile, row.time, draws)) {
    row.channel = Channel::kWebBanking;
    row.device = customer.second_device.device;
  } else if (percent >= web && percent < web + whatsapp && row.kind == Kind::kPix) {
    row.channel = Channel::kWhatsappPay;
  }
  row.ip = OwnAddress(customer, row.time, draws);
  row.has_ip = true;
}

bool HonestBehaviour::PayAgain(const CustomerState& customer, Draws& draws, Row& row) const {
  const CustomerState::Paid& last = customer.last_paid;
  if (last.to == kNoAccount || row.time - last.time > kSoonAfter) return false;
  const bool is_contact = last.shop || last.contact >= 0;
  if (!draws.Chance(is_contact ? kPaidAgain : kNoContactPaidAgain)) return false;
  UseOwnDevice(customer, draws, row);
  row.receiver = last.to;
  row.contact = last.contact;
  row.receiver_is_shop = row.has_merchant = last.shop;
  if (last.shop) {
    row.merchant = last.merchant;
    row.amount = GoodsAmount(customer, CategoryOf(last.merchant), row.time, draws);
  } else {
    const auto median = person_medians_[static_cast<std::size_t>(customer.person.profile)];
    row.amount = PersonsAmount(median * Scaled(customer.scale, row.time) / kOne, draws);
  }
  return true;
}

void HonestBehaviour::PayPix(const CustomerState& customer, Draws& draws, Row& row) const {
  if (PayAgain(customer, draws, row)) return;
  const bool shop = draws.Chance(world_->parameters().population.pix_to_shops) &&
                    !customer.month.OnJourney(row.time);
  if (!shop) return PayPerson(customer, draws, row);
  UseOwnDevice(customer, draws, row);
  const auto profile = static_cast<std::size_t>(customer.person.profile);
  PayFavouriteShop(customer, categories_[profile].Of(draws.Bits()), draws, row);
}

void HonestBehaviour::PayFavouriteShop(const CustomerState& customer, uint32_t category,
                                       Draws& draws, Row& row) const {
  Shop(customer, category, customer.person.city, draws, row);
  row.receiver = world_->MerchantAccount(row.merchant);
  row.receiver_is_shop = true;
  row.stranger = false;
  row.contact = -1;
}

void HonestBehaviour::PayNewShop(const CustomerState& customer, uint32_t category, Draws& draws,
                                 Row& row) const {
  constexpr int kTries = 32;
  for (int i = 0; i < kTries; ++i) {
    row.merchant = MerchantOf(customer.person.city, category,
                              static_cast<uint32_t>(draws.Below(kMerchantsPerCity)));
    row.receiver = world_->MerchantAccount(row.merchant);
    if (!customer.KnewShop(row.receiver)) break;
  }
  row.has_merchant = row.receiver_is_shop = true;
  row.stranger = false;
  row.contact = -1;
  row.amount = GoodsAmount(customer, category, row.time, draws);
}

void HonestBehaviour::PayPerson(const CustomerState& customer, Draws& draws, Row& row) const {
  const Parameters& parameters = world_->parameters();
  UseOwnDevice(customer, draws, row);
  const auto median = person_medians_[static_cast<std::size_t>(customer.person.profile)];
  row.amount = PersonsAmount(median * Scaled(customer.scale, row.time) / kOne, draws);
  const uint64_t strange =
      uint64_t{parameters.lookalikes.stranger_paid} * parameters.LookalikeFactor() / 1000;
  if (draws.Chance(strange)) {
    row.stranger = draws.Chance(kOnlyOnce);
    row.receiver = row.stranger ? world_->StrangerAccount(row.number)
                                : PopularReceiver(*world_, customer.person.city, draws);
    return;
  }
  if (customer.debt.amount != 0 && draws.Chance(kPaidBack) && PayBack(customer, draws, row)) return;
  // Squaring a uniform number favours the first few contacts.
  const uint64_t even = draws.Below(uint64_t{1} << 32);
  const uint64_t index = UpperProduct(even * even, customer.contacts.size());
  row.receiver = customer.contacts[index];
  row.contact = static_cast<int8_t>(index);
  const CustomerState::Debt& debt = customer.debt;
  if (debt.amount != 0 && row.time - debt.time < kDay && draws.Chance(kPassedOn)) {
    row.amount = std::max<int64_t>(debt.amount * draws.Between(850, 1'000) / 1'000, 200);
  }
}

bool HonestBehaviour::PayBack(const CustomerState& customer, Draws& draws, Row& row) {
  const auto found = std::ranges::find(customer.contacts, customer.debt.to);
  if (found == customer.contacts.end()) return false;
  row.receiver = customer.debt.to;
  row.contact = static_cast<int8_t>(found - customer.contacts.begin());
  row.amount = customer.debt.amount;
  if (draws.Chance(500'000))
    row.amount = std::max<int64_t>(row.amount * draws.Between(2, 8) / 10, 200);
  return true;
}

}  // namespace reveza::fraudgen::coherent
