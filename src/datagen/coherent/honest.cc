#include "datagen/coherent/honest.h"

#include <algorithm>
#include <string_view>

#include "datagen/coherent/spending.h"
#include "datagen/lists/commerce.h"
#include "datagen/lists/profiles.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

constexpr std::size_t kCategories = lists::kMerchantCategories.size();

consteval uint32_t Category(std::string_view code) {
  for (std::size_t i = 0; i < kCategories; ++i) {
    if (lists::kMerchantCategories[i].code == code) return static_cast<uint32_t>(i);
  }
  throw "no such merchant category";
}

constexpr std::array kBills = {Category("4900"), Category("4814"), Category("8299"),
                               Category("8011"), Category("7941")};
constexpr std::array kStandingOrders = {Category("5815"), Category("4814"), Category("4900"),
                                        Category("7941"), Category("8299")};
constexpr std::array kJourney = {Category("7011"), Category("5812"), Category("4121"),
                                 Category("5541")};
// The first four are sold online, too.
constexpr std::array kSellable = {Category("5732"), Category("5651"), Category("5311"),
                                  Category("5977"), Category("5411"), Category("5541"),
                                  Category("5812")};
constexpr std::size_t kSellableOnline = 4;

struct OnlineShare {
  uint32_t category;
  uint32_t percent;
};
constexpr std::array<OnlineShare, 14> kOnline = {{{Category("5812_delivery"), 100},
                                                  {Category("5815"), 100},
                                                  {Category("4511"), 90},
                                                  {Category("7011"), 55},
                                                  {Category("5732"), 45},
                                                  {Category("5651"), 35},
                                                  {Category("5977"), 35},
                                                  {Category("5944"), 15},
                                                  {Category("5311"), 35},
                                                  {Category("8299"), 60},
                                                  {Category("4814"), 60},
                                                  {Category("4121"), 85},
                                                  {Category("7995"), 100},
                                                  {Category("5995"), 20}}};

constexpr std::array<int64_t, 7> kTopUps = {1'500, 2'000, 2'500, 3'000, 4'000, 5'000, 10'000};

// At home mostly the same address, elsewhere that of the mobile network.
uint32_t OwnAddress(const CustomerState& customer, int64_t time, Draws& draws) {
  const bool home = draws.Chance(500'000);
  const auto period = static_cast<uint64_t>(home ? time / (40 * kDay) : time / (3 * kHour));
  return static_cast<uint32_t>(Mix(customer.person.key + period * 2 + (home ? 1 : 0)));
}

}  // namespace

int64_t Price(int64_t amount, uint64_t bits) {
  amount = std::max<int64_t>(amount, 100);
  switch (bits % 8) {
    case 0:
    case 1:
      return amount - amount % 100 + 90;
    case 2:
      return amount - amount % 100 + 99;
    default:
      return amount;
  }
}

HonestLife::HonestLife(const World& world) : world_(&world) {
  for (std::size_t i = 0; i < kProfiles; ++i) {
    const lists::Profile& profile = lists::Profiles()[i];
    kinds_.push_back(lists::ChoiceOf(world.parameters().profiles[i].kinds));
    std::array<uint32_t, kCategories> categories{};
    for (std::size_t category = 0; category < kCategories; ++category) {
      categories[category] = lists::kMerchantCategories[category].weight;
    }
    // Mostly what the profile prefers, sometimes anything.
    for (const lists::CategoryWeight& usual : profile.merchant_categories) {
      categories[usual.category] += usual.weight * 6;
    }
    categories[Category("6011")] = 0;  // a withdrawal is a kind of its own
    categories_.push_back(lists::ChoiceOf(categories));
    person_medians_[i] = PersonsMedian(world.parameters().profiles[i]);
  }
  for (std::size_t category = 0; category < kCategories; ++category) {
    const auto least = static_cast<uint64_t>(lists::kMerchantCategories[category].least);
    const auto most = static_cast<uint64_t>(lists::kMerchantCategories[category].most);
    medians_[category] = static_cast<int64_t>(SquareRoot(least * most * 10'000)) * 8 / 10;
    deviations_[category] = (Log2(most) - Log2(least)) / 5;
  }
  for (const OnlineShare& share : kOnline) online_[share.category] = share.percent;
}

uint32_t HonestLife::GoodsThatSell(uint64_t bits) const {
  return kSellable[UpperProduct(bits, kSellable.size())];
}

uint32_t HonestLife::GoodsThatSellOnline(uint64_t bits) const {
  return kSellable[UpperProduct(bits, kSellableOnline)];
}

uint32_t HonestLife::DigitalGoods() const { return Category("5815"); }

int64_t HonestLife::MostAmount(uint32_t category) {
  return lists::kMerchantCategories[category].most * 150;
}

bool HonestLife::HasMoved(uint32_t thousandths, int64_t time, Draws& draws) const {
  return thousandths != 0 &&
         draws.Chance(thousandths * static_cast<uint64_t>(world_->Progress(time)));
}

Kind HonestLife::KindOf(const CustomerState& customer, int64_t time, Draws& draws) const {
  const auto profile = static_cast<std::size_t>(customer.person.profile);
  const auto kind = static_cast<Kind>(kinds_[profile].Of(draws.Bits()));
  const int64_t hour = time % kDay / kHour;
  const bool banking_hours =
      hour >= kBankOpens && hour < kBankCloses && WeekdayOf(time / kDay) < Weekday::kSaturday;
  if (kind == Kind::kTed && !banking_hours) return Kind::kPix;
  const bool replaceable = kind == Kind::kTed || kind == Kind::kDebitCard ||
                           kind == Kind::kBoleto || kind == Kind::kWithdrawal;
  const uint32_t to_pix = world_->parameters().drift.to_pix_thousandths;
  return replaceable && HasMoved(to_pix, time, draws) ? Kind::kPix : kind;
}

void HonestLife::Pay(const CustomerState& customer, uint32_t index, Row& row) const {
  if (index < customer.month.standing_orders) return PayStandingOrder(customer, index, row);
  Draws draws(Mix(customer.month.key + index) ^ static_cast<uint64_t>(Purpose::kPayments));
  PayBy(customer, KindOf(customer, row.time, draws), draws, row);
  if (row.kind == Kind::kMobileTopup) return;  // at fixed prices
  if (row.time / kDay == customer.month.spree_day) {
    row.amount = row.amount * world_->parameters().calendar.spree_percent / 100;
  }
  // Who has little spends little.
  const int64_t comfort = customer.person.income / 4;
  if (row.kind != Kind::kCreditCard && customer.balance < comfort) {
    const int64_t share =
        std::max(kOne / 8, customer.balance * kOne / std::max<int64_t>(comfort, 1));
    row.amount = std::max<int64_t>(row.amount * share / kOne, 200);
  }
  if (row.kind == Kind::kWithdrawal) row.amount = Cash(row.amount);
}

void HonestLife::PayBy(const CustomerState& customer, Kind kind, Draws& draws, Row& row) const {
  row.kind = kind;
  row.has_place = WhereIs(customer, row.time, row.place);
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

// With one of the own devices.
void HonestLife::ByDevice(const CustomerState& customer, Draws& draws, Row& row) const {
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

void HonestLife::PayPix(const CustomerState& customer, Draws& draws, Row& row) const {
  const bool shop = draws.Chance(world_->parameters().population.pix_to_shops) &&
                    !customer.month.OnJourney(row.time);
  if (!shop) return PayPerson(customer, draws, row);
  ByDevice(customer, draws, row);
  const auto profile = static_cast<std::size_t>(customer.person.profile);
  const uint32_t category = categories_[profile].Of(draws.Bits());
  Shop(customer, category, customer.person.city, draws, row);
  row.receiver = world_->MerchantAccount(row.merchant);
  row.receiver_is_shop = true;
}

void HonestLife::PayPerson(const CustomerState& customer, Draws& draws, Row& row) const {
  const Parameters& parameters = world_->parameters();
  ByDevice(customer, draws, row);
  const auto median = person_medians_[static_cast<std::size_t>(customer.person.profile)];
  row.amount = PersonsAmount(median * Scaled(customer.scale, row.time) / kOne, draws);
  const uint64_t strange =
      uint64_t{parameters.lookalikes.stranger_paid} * parameters.LookalikeFactor() / 1000;
  if (draws.Chance(strange)) {
    row.receiver = world_->StrangerAccount(row.number);
    row.stranger = true;
    return;
  }
  // Few are paid often: the square of an even number is mostly small.
  const uint64_t even = draws.Below(uint64_t{1} << 32);
  const uint64_t index = UpperProduct(even * even, customer.contacts.size());
  row.receiver = customer.contacts[index];
  row.contact = static_cast<int8_t>(index);
}

void HonestLife::PayWithCard(const CustomerState& customer, Draws& draws, Row& row) const {
  const auto profile = static_cast<std::size_t>(customer.person.profile);
  uint32_t category = categories_[profile].Of(draws.Bits());
  uint32_t city = customer.person.city;
  if (customer.month.OnJourney(row.time)) {
    city = customer.month.journey_city;
    if (draws.Chance(world_->parameters().population.travel_goods)) {
      category = kJourney[draws.Below(kJourney.size())];
    }
  }
  Shop(customer, category, city, draws, row);
}

int64_t HonestLife::GoodsAmount(const CustomerState& customer, uint32_t category, int64_t time,
                                Draws& draws) const {
  const int64_t median = medians_[category] * Scaled(customer.goods_scale, time) / kOne;
  const int64_t amount = LogNormal(draws.Bits(), median, deviations_[category]);
  const int64_t most = MostAmount(category);
  const int64_t least = lists::kMerchantCategories[category].least * 50;
  return Price(std::clamp(amount, least, most), draws.Bits());
}

void HonestLife::Shop(const CustomerState& customer, uint32_t category, uint32_t city, Draws& draws,
                      Row& row) const {
  const uint64_t favourite = draws.Below(4);
  uint64_t bits = draws.Bits();
  // A PIX by QR code is at a favourite one: so what is new is known.
  if (favourite < kFavourites || row.kind == Kind::kPix) {
    bits = Mix(customer.person.key + category * kFavourites + favourite % kFavourites + 1);
  }
  const uint64_t even = bits >> 32;
  const auto position = static_cast<uint32_t>(UpperProduct(even * even, kMerchantsOfCity));
  row.merchant = MerchantOf(city, category, position);
  row.has_merchant = true;
  row.amount = GoodsAmount(customer, category, row.time, draws);
  if (!IsCard(row.kind)) return;
  row.has_ip = false;
  row.card = Mix(customer.person.key ^ (row.kind == Kind::kCreditCard ? 0x63u : 0x64u));
  const uint64_t brand = Mix(row.card) % 100;
  row.brand = brand < 40 ? 0 : brand < 80 ? 1 : brand < 95 ? 2 : brand < 98 ? 3 : 4;
  const uint64_t entry = draws.Below(1'000);
  if (draws.Below(100) < online_[category]) {
    row.entry = CardEntry::kManual;
    row.channel = Channel::kOnlineShop;
    // The shop tells the address, but not which device it was.
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
  if (row.kind == Kind::kCreditCard && row.amount > kNoInstallments) {
    static const WeightedChoice kCounts = lists::ChoiceOf(lists::kInstallmentWeights);
    row.installments = static_cast<uint8_t>(lists::kInstallments[kCounts.Of(draws.Bits())]);
  }
}

// The same billers each month, about the same amounts.
void HonestLife::PayBill(const CustomerState& customer, Draws& draws, Row& row) const {
  const uint64_t which = draws.Below(kBills.size());
  const uint32_t category = kBills[which];
  const uint64_t bits = Mix(customer.person.key + 0xb111 + which);
  row.merchant = MerchantOf(customer.person.city, category,
                            static_cast<uint32_t>(bits % (kMerchantsOfCity / 64)));
  row.has_merchant = true;
  const int64_t usual =
      LogNormal(bits, medians_[category] * Scaled(customer.goods_scale, row.time) / kOne,
                deviations_[category]);
  row.amount = std::max<int64_t>(usual * draws.Between(850, 1'150) / 1000, 1'000);
  const uint64_t percent = world_->parameters().HabitsOf(customer.person.profile).branch_percent;
  const bool branch = percent != 0 && draws.Chance(percent * 10'000) &&
                      !HasMoved(world_->parameters().drift.to_mobile_thousandths, row.time, draws);
  if (branch) {
    row.channel = Channel::kBranch;
  } else {
    ByDevice(customer, draws, row);
  }
}

void HonestLife::PayStandingOrder(const CustomerState& customer, uint32_t index, Row& row) const {
  const uint64_t bits = Mix(customer.person.key + 0x57a4d + index);
  const uint32_t category = kStandingOrders[bits % kStandingOrders.size()];
  row.kind = Kind::kAutoDebit;
  row.channel = Channel::kStandingOrder;
  row.has_place = false;
  row.merchant = MerchantOf(customer.person.city, category,
                            static_cast<uint32_t>((bits >> 8) % (kMerchantsOfCity / 64)));
  row.has_merchant = true;
  row.amount =
      Price(LogNormal(Mix(bits), medians_[category] * Scaled(customer.goods_scale, row.time) / kOne,
                      deviations_[category] / 2),
            bits >> 20);
}

void HonestLife::TopUp(const CustomerState& customer, Draws& draws, Row& row) const {
  ByDevice(customer, draws, row);
  row.amount = kTopUps[draws.Below(kTopUps.size())];
  row.merchant = MerchantOf(customer.person.city, Category("4814"),
                            static_cast<uint32_t>(customer.person.key % 4));
  row.has_merchant = true;
}

void HonestLife::Withdraw(const CustomerState& customer, Draws& draws, Row& row) const {
  row.channel = Channel::kAtm;
  const int64_t amount =
      LogNormal(draws.Bits(), 15'000 * Scaled(customer.goods_scale, row.time) / kOne, 70'000);
  row.amount = Cash(amount);
  if (row.has_place) {
    row.place.latitude += static_cast<int32_t>(draws.Between(-9'000, 9'000));
    row.place.longitude += static_cast<int32_t>(draws.Between(-9'000, 9'000));
  }
}

}  // namespace reveza::datagen::coherent
