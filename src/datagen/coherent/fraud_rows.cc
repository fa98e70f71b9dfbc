#include "datagen/coherent/fraud_rows.h"

#include <algorithm>

namespace reveza::datagen::coherent {
namespace {

constexpr int64_t kSoonest = 10 * kMinute;
constexpr int64_t kHonestReportHours = 200;
constexpr int64_t kSpread = 80'000;  // of the time until a report, in doublings

bool IsUnsolicited(FraudRole role) {
  return role == FraudRole::kTakeover || role == FraudRole::kTest;
}

}  // namespace

// Whether one trait of a fraud is not as the customer's honest rows have it.
bool FraudLife::Shows(Draws& draws) const {
  return !draws.Chance(uint64_t{world_->parameters().Overlap()} * 1000);
}

Place FraudLife::ThiefsPlace(uint64_t thief) const {
  const uint64_t bits = Mix(thief ^ 0x7468696566u);
  Place place = world_->PlaceOfCity(world_->AnyCity(bits));
  place.latitude += static_cast<int32_t>(Mix(bits) % 60'000) - 30'000;
  place.longitude += static_cast<int32_t>(Mix(bits + 1) % 60'000) - 30'000;
  return place;
}

// A thief cannot pay what nobody could: machines give notes up to a limit, top-ups have fixed
// prices, and no shop of the category sells anything so dear.
int64_t FraudLife::Fitting(const Row& row, int64_t amount, Draws& draws) const {
  if (row.kind == Kind::kMobileTopup) return row.amount;
  if (row.kind == Kind::kWithdrawal) return Cash(amount);
  // Nobody is billed for a round sum.
  if (row.kind == Kind::kBoleto) return amount + draws.Between(1, 4'999);
  if (!IsCard(row.kind)) return amount;
  const int64_t most = HonestLife::MostAmount(CategoryOf(row.merchant));
  if (amount > most) amount = draws.Between(most / 3, most);
  // Who only tries a card takes little.
  const int64_t more = row.fraud_role == FraudRole::kTest ? 199 : 4'999;
  return Price(amount + draws.Between(0, more), draws.Bits());
}

void FraudLife::BuyGoods(const CustomerState& customer, const FraudPlan& plan, uint64_t block,
                         const Typology& typology, Draws& draws, Row& row) const {
  const bool test = plan.role == FraudRole::kTest;
  uint32_t category = honest_->GoodsThatSell(draws.Bits());
  if (typology.goods == Goods::kUsual) category = CategoryOf(row.merchant);
  if (typology.goods == Goods::kDigital || test) category = honest_->DigitalGoods();
  uint32_t city = customer.person.city;
  const bool far = typology.far_away && Shows(draws);
  if (far) city = world_->AnyCity(Mix(plan.key));
  if (Shows(draws)) honest_->Shop(customer, category, city, draws, row);
  if (plan.false_shop != FraudPlan::kNoShop) {
    const uint64_t shop = Mix(block * 64 + plan.false_shop);
    row.merchant = MerchantOf(world_->AnyCity(shop), honest_->GoodsThatSellOnline(Mix(shop)),
                              static_cast<uint32_t>(shop % kMerchantsOfCity));
    row.entry = CardEntry::kManual;
    row.channel = Channel::kOnlineShop;
    row.has_ip = true;
  }
  if (!IsUnsolicited(plan.role)) return;
  if (!IsTyped(row) && Shows(draws)) row.entry = CardEntry::kMagnetic;
  if (IsTyped(row)) {
    const uint64_t thief = Mix(plan.key >> 40);
    if (Shows(draws)) row.ip = static_cast<uint32_t>(thief);
    if (Shows(draws)) row.place = ThiefsPlace(thief);
    row.cvv_validated = draws.Chance(900'000);
    row.auth_3ds = draws.Chance(350'000);
  }
}

void FraudLife::FromThiefsDevice(DeviceNumber device, const Typology& typology, Row& row) const {
  row.device = device;
  row.channel = typology.web ? Channel::kWebBanking : Channel::kMobileApp;
  row.ip = static_cast<uint32_t>(Mix(device + static_cast<uint64_t>(row.time / kDay)));
  row.has_ip = true;
  row.place = ThiefsPlace(device);
  row.has_place = true;
}

void FraudLife::Pay(const CustomerState& customer, const FraudPlan& plan, uint64_t block,
                    Row& row) const {
  const Typology& typology = world_->parameters().typologies[static_cast<std::size_t>(plan.type)];
  Draws draws(plan.key);
  honest_->PayBy(customer, plan.kind, draws, row);
  row.is_fraud = true;
  row.fraud_type = plan.type;
  row.fraud_role = plan.role;
  if (IsCard(row.kind)) BuyGoods(customer, plan, block, typology, draws, row);
  if (plan.IsCertain() || Shows(draws)) row.amount = Fitting(row, plan.amount, draws);
  if (plan.receiver != kNoAccount) {
    row.receiver = plan.receiver;
    row.contact = -1;
    row.has_merchant = row.receiver_is_shop = row.stranger = false;
  }
  if (row.kind == Kind::kBoleto) {
    // Somebody else's biller.
    row.merchant = MerchantOf(CityOf(row.merchant), CategoryOf(row.merchant),
                              static_cast<uint32_t>(plan.key % kMerchantsOfCity));
  }
  const bool by_device = row.device != kNoDevice;
  if (by_device && plan.HasDevice() && Shows(draws)) {
    FromThiefsDevice(world_->ThiefDevice(block, plan.thief), typology, row);
  }
}

int64_t FraudLife::ReportedAt(const Row& row) const {
  const Parameters& parameters = world_->parameters();
  Draws draws(world_->keys().Of(Purpose::kAftermath, row.number));
  int64_t hours = kHonestReportHours;
  if (row.is_fraud) {
    const Typology& typology = parameters.typologies[static_cast<std::size_t>(row.fraud_type)];
    uint64_t chance = uint64_t{typology.reported_thousandths} * 1000;
    // Hops are found only by following the money.
    if (row.fraud_role == FraudRole::kMuleHop || row.fraud_role == FraudRole::kCashOut) chance /= 2;
    if (!draws.Chance(chance) || draws.Chance(parameters.Missed())) return kNever;
    hours = typology.report_hours;
  } else if (!draws.Chance(parameters.FalselyReported())) {
    return kNever;
  }
  const int64_t delay = LogNormal(draws.Bits(), hours * kHour, kSpread);
  return row.time + std::max(delay, kSoonest);
}

}  // namespace reveza::datagen::coherent
