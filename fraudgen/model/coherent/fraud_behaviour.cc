// How the rows of planned frauds look.
#include <algorithm>

#include "fraudgen/model/coherent/frauds.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr int64_t kSoonest = 10 * kMinute;
constexpr int64_t kHonestReportHours = 200;
constexpr int64_t kReportSpread = 80'000;  // log-normal deviation of the report delay

bool IsUnsolicited(FraudRole role) {
  return role == FraudRole::kTakeover || role == FraudRole::kTest;
}

}  // namespace

// Fraudsters live among customers: a city without any would give them away.
uint32_t FraudBehaviour::FraudsterCity(uint64_t fraudster) const {
  return world_->CityOfTown(UpperProduct(Mix(fraudster ^ 0x7468696566u), world_->towns()));
}

// Returns the position of a fraudster, as inaccurate as others'.
Place FraudBehaviour::FraudsterPlace(uint64_t fraudster, int64_t time) const {
  constexpr uint64_t kInaccuracy = 3'000;
  const uint64_t bits = Mix(fraudster ^ 0x7468696566u);
  const uint64_t moment = Mix(bits ^ static_cast<uint64_t>(time));
  const auto offset = [](uint64_t home, uint64_t now) {
    return static_cast<int32_t>(home % 60'000 + UpperProduct(now, kInaccuracy)) - 31'500;
  };
  Place place = world_->PlaceOfCity(FraudsterCity(fraudster));
  place.latitude += offset(Mix(bits), moment);
  place.longitude += offset(Mix(bits + 1), Mix(moment));
  return place;
}

uint32_t FraudBehaviour::FraudsterAddress(uint64_t fraudster, int64_t time) const {
  const uint64_t bits = Mix(fraudster + static_cast<uint64_t>(time / kDay));
  return bits % 2 == 0 ? static_cast<uint32_t>(bits >> 1)
                       : HonestBehaviour::MobileAddress(FraudsterCity(fraudster), Mix(bits));
}

// Restricts an amount to what is possible: cash machines have a limit, top-ups fixed prices, and
// merchant categories a maximum.
int64_t FraudBehaviour::FitAmount(const Row& row, int64_t amount, Draws& draws) const {
  if (row.kind == Kind::kMobileTopup) return row.amount;
  if (row.kind == Kind::kWithdrawal) return RoundToBanknotes(amount);
  // Bills are not round sums.
  if (row.kind == Kind::kBoleto) return amount + draws.Between(1, 4'999);
  if (!IsCard(row.kind)) return amount;
  const int64_t max = MaxAmount(CategoryOf(row.merchant));
  if (amount > max) amount = draws.Between(max / 3, max);
  // Card tests are small.
  const int64_t more = row.fraud_role == FraudRole::kTest ? 199 : 4'999;
  return RetailPrice(amount + draws.Between(0, more), draws.Bits());
}

void FraudBehaviour::BuyGoods(const CustomerState& customer, const FraudPlan& plan, uint64_t block,
                              const Scenario& scenario, Draws& draws, Row& row) const {
  const auto reveals_trait = [&] { return world_->parameters().RevealsTrait(draws); };
  const bool test = plan.role == FraudRole::kTest;
  uint32_t category = ResellableGoods(draws.Bits());
  if (scenario.goods == Goods::kUsual) category = CategoryOf(row.merchant);
  if (scenario.goods == Goods::kDigital || test) category = kDigitalGoods;
  uint32_t city = customer.person.city;
  if (scenario.far_away && reveals_trait()) city = world_->AnyCity(Mix(plan.key));
  if (reveals_trait()) honest_->Shop(customer, category, city, draws, row);
  if (plan.false_shop != FraudPlan::kNoShop) {
    PayFalseShop(plan, block, row);
    row.entry = CardEntry::kManual;
    row.channel = Channel::kOnlineShop;
    if (!row.has_ip) row.ip = HonestBehaviour::OwnAddress(customer, row.time, draws);
    row.has_ip = true;
  }
  if (!IsUnsolicited(plan.role)) return;
  if (!IsTyped(row) && reveals_trait()) row.entry = CardEntry::kMagnetic;
  if (IsTyped(row)) {
    const uint64_t fraudster = Mix(plan.key >> 40);
    if (reveals_trait()) row.ip = FraudsterAddress(fraudster, row.time);
    if (reveals_trait()) row.place = FraudsterPlace(fraudster, row.time);
    row.cvv_validated = draws.Chance(900'000);
    row.auth_3ds = draws.Chance(350'000);
  }
}

void FraudBehaviour::PayFalseShop(const FraudPlan& plan, uint64_t block, Row& row) const {
  const uint64_t shop = Mix(block * 64 + plan.false_shop);
  row.merchant = MerchantOf(world_->AnyCity(shop), ResellableGoodsOnline(Mix(shop)),
                            static_cast<uint32_t>(shop % kMerchantsPerCity));
  row.has_merchant = true;
  if (row.kind != Kind::kPix) return;
  row.receiver = world_->MerchantAccount(row.merchant);
  row.receiver_is_shop = true;
  row.stranger = false;
  row.contact = -1;
  row.amount = std::min(row.amount, MaxAmount(CategoryOf(row.merchant)));
}

void FraudBehaviour::BuyByQrCode(const CustomerState& customer, const FraudPlan& plan, Draws& draws,
                                 Row& row) const {
  const bool deceived = plan.role == FraudRole::kVictim;
  const uint32_t category =
      deceived ? honest_->AnyCategory(customer, draws) : ResellableGoods(draws.Bits());
  const int64_t amount = row.amount;
  if (!deceived && draws.Chance(250'000)) {
    honest_->PayFavouriteShop(customer, category, draws, row);
  } else {
    honest_->PayNewShop(customer, category, draws, row);
  }
  row.amount = std::min(amount, MaxAmount(category));
}

void FraudBehaviour::UseFraudsterDevice(DeviceNumber device, const Scenario& scenario,
                                        Row& row) const {
  row.device = device;
  row.channel = scenario.web ? Channel::kWebBanking : Channel::kMobileApp;
  row.ip = FraudsterAddress(device, row.time);
  row.has_ip = true;
  // Mules act where they are.
  if (row.fraud_role == FraudRole::kMuleHop || row.fraud_role == FraudRole::kCashOut) return;
  row.place = FraudsterPlace(device, row.time);
  row.has_place = true;
}

void FraudBehaviour::Pay(const CustomerState& customer, const FraudPlan& plan, uint64_t block,
                         Row& row) const {
  const Scenario& scenario = world_->parameters().scenarios[plan.scenario];
  Draws draws(plan.key);
  honest_->PayWithKind(customer, plan.kind, draws, row);
  row.is_fraud = true;
  row.scenario = plan.scenario;
  row.fraud_role = plan.role;
  if (IsCard(row.kind)) BuyGoods(customer, plan, block, scenario, draws, row);
  if (plan.IsCertain() || world_->parameters().RevealsTrait(draws))
    row.amount = FitAmount(row, plan.amount, draws);
  const bool by_code = plan.kind == Kind::kPix && !plan.IsCertain() &&
                       draws.Chance(uint64_t{scenario.shop_thousandths} * 1'000);
  if (plan.kind == Kind::kPix && plan.false_shop != FraudPlan::kNoShop) {
    PayFalseShop(plan, block, row);
  } else if (by_code) {
    BuyByQrCode(customer, plan, draws, row);
  } else if (plan.receiver != kNoAccount) {
    row.receiver = plan.receiver;
    row.contact = -1;
    row.has_merchant = row.receiver_is_shop = row.stranger = false;
  }
  if (row.kind == Kind::kBoleto) {
    // A different biller.
    row.merchant = MerchantOf(CityOf(row.merchant), CategoryOf(row.merchant),
                              static_cast<uint32_t>(plan.key % kMerchantsPerCity));
  }
  const bool by_device = row.device != kNoDevice;
  if (by_device && plan.HasDevice() && world_->parameters().RevealsTrait(draws)) {
    UseFraudsterDevice(world_->FraudsterDevice(block, plan.fraudster), scenario, row);
  }
}

int64_t FraudBehaviour::ReportedAt(const Row& row) const {
  const Parameters& parameters = world_->parameters();
  Draws draws(world_->keys().Of(Purpose::kSettlements, row.number));
  int64_t hours = kHonestReportHours;
  if (row.is_fraud) {
    const Scenario& scenario = parameters.scenarios[row.scenario];
    uint64_t chance = uint64_t{scenario.reported_thousandths} * 1000;
    // Hops are reported less often.
    if (row.fraud_role == FraudRole::kMuleHop || row.fraud_role == FraudRole::kCashOut) chance /= 2;
    if (!draws.Chance(chance) || draws.Chance(parameters.Missed())) return kNever;
    hours = scenario.report_hours;
  } else if (!draws.Chance(parameters.FalselyReported())) {
    return kNever;
  }
  const int64_t delay = LogNormal(draws.Bits(), hours * kHour, kReportSpread);
  return row.time + std::max(delay, kSoonest);
}

}  // namespace reveza::fraudgen::coherent
