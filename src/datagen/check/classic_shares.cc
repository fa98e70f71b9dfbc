#include <algorithm>
#include <array>

#include "datagen/check/shares.h"
#include "datagen/check/statistics.h"
#include "datagen/civil_time.h"
#include "datagen/lists/commerce.h"
#include "datagen/lists/places.h"
#include "datagen/lists/profiles.h"
#include "datagen/lists/rides.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::check {
namespace {

using Fields = std::span<const Field>;
using Group = std::optional<std::size_t>;
using Weights = std::vector<uint32_t>;

constexpr int64_t kHour = 3'600 * kMicrosecondsPerSecond;

template <typename List>
Weights ToWeights(const List& list) {
  return Weights(list.begin(), list.end());
}

Group Always(Fields, std::size_t, const Profiles&) { return 0; }
Group ByFlag(Fields fields, std::size_t row, const Profiles&) { return fields[1].Flag(row); }
// By the profile of the customer of a payment.
Group ByCustomer(Fields fields, std::size_t row, const Profiles& profiles) {
  const uint8_t profile = profiles.Of(fields[1].Text(row));
  if (profile == Profiles::kUnknown) return std::nullopt;
  return profile;
}
Group CreditOnly(Fields fields, std::size_t row, const Profiles&) {
  if (!fields[1].Is(row, "CREDIT")) return std::nullopt;
  return 0;
}
// By the profile of a customer's own row.
Group ByProfile(Fields fields, std::size_t row, const Profiles&) {
  return fields[1].Has(row) ? fields[1].Code(row) : Profiles::kNone;
}

// The value of the first column.
Group CodeOf(Fields fields, std::size_t row) {
  if (!fields[0].Has(row)) return std::nullopt;
  return fields[0].Code(row);
}
Group FlagOf(Fields fields, std::size_t row) {
  if (!fields[0].Has(row)) return std::nullopt;
  return fields[0].Flag(row) ? 1 : 0;
}
Group HourOf(Fields fields, std::size_t row) {
  const int64_t time = fields[0].Number(row);
  if (time < 0) return std::nullopt;
  return static_cast<std::size_t>(time % kMicrosecondsPerDay / kHour);
}
Group InstallmentsOf(Fields fields, std::size_t row) {
  if (!fields[0].Has(row)) return std::nullopt;
  const auto found = std::ranges::find(lists::kInstallments, fields[0].Number(row));
  if (found == lists::kInstallments.end()) return std::nullopt;
  return static_cast<std::size_t>(found - lists::kInstallments.begin());
}
Group RatingOf(Fields fields, std::size_t row) {
  if (!fields[0].Has(row)) return std::nullopt;
  return static_cast<std::size_t>(5 - fields[0].Number(row));
}

template <typename Member, typename Default>
std::vector<Weights> OfProfiles(Member member, const Default& without) {
  std::vector<Weights> weights;
  for (const lists::Profile& profile : lists::Profiles()) {
    weights.push_back(ToWeights(profile.*member));
  }
  weights.push_back(ToWeights(without));
  return weights;
}

std::vector<Weights> CategoriesOfProfiles() {
  std::vector<Weights> weights;
  for (const lists::Profile& profile : lists::Profiles()) {
    Weights& row = weights.emplace_back(lists::kMerchantCategories.size());
    for (const lists::CategoryWeight& category : profile.merchant_categories) {
      row[category.category] += category.weight;
    }
  }
  weights.push_back(ToWeights(
      lists::MemberOf<uint32_t>(lists::kMerchantCategories, &lists::MerchantCategory::weight)));
  return weights;
}

Weights BankWeights() {
  return ToWeights(lists::MemberOf<uint32_t>(lists::kBanks, &lists::Bank::weight));
}
Weights StateWeights() {
  return ToWeights(lists::MemberOf<uint32_t>(lists::kStates, &lists::State::weight));
}
Weights ProfileWeights() {
  Weights weights;
  for (const lists::Profile& profile : lists::Profiles()) weights.push_back(profile.weight);
  return weights;
}
std::vector<Weights> AccountTypes() {
  const Weights digital = {25, 5, 70};
  const Weights others = {40, 20, 40};
  // Young and digital, and heavy with subscriptions; the last is for those without a profile.
  return {digital, others, others, others, digital, others, others};
}

// Uniform from `least` to `most`, both possible: the middle of a number's part of the whole.
double Uniform(int64_t value, int64_t least, int64_t most) {
  return (static_cast<double>(value - least) + 0.5) / static_cast<double>(most - least + 1);
}

struct AmountRange {
  double least = 0;
  double most = 0;
};

// What honest payments of a profile cost in a category, in cents; both ends belong to it.
AmountRange RangeOf(uint8_t profile, uint16_t category) {
  constexpr double kCents = 100;
  const lists::MerchantCategory& row = lists::kMerchantCategories[category];
  const AmountRange all = {static_cast<double>(row.least) * kCents,
                           static_cast<double>(row.most) * kCents};
  if (profile == Profiles::kNone) return all;
  const lists::Profile& of = lists::Profiles()[profile];
  const AmountRange both = {std::max(static_cast<double>(of.least_amount) * kCents, all.least / 2),
                            std::min(static_cast<double>(of.most_amount) * kCents, all.most * 1.5)};
  return both.least < both.most ? both : all;
}

// Between the ends of the range, where a normal number is not cut: its share of what is there.
std::optional<double> HonestAmount(Fields fields, std::size_t row, const Profiles& profiles) {
  const uint8_t profile = profiles.Of(fields[2].Text(row));
  if (fields[1].Flag(row) || profile == Profiles::kUnknown) return std::nullopt;
  const AmountRange range = RangeOf(profile, fields[3].Code(row));
  const auto amount = static_cast<double>(fields[0].Number(row));
  if (amount <= range.least || amount >= range.most) {
    // At the ends it was cut. Beyond them none may be, and a share beyond 0 or 1 says so.
    if (amount == range.least || amount == range.most) return std::nullopt;
    return amount < range.least ? -1 : 2;
  }
  const double mean = (range.least + range.most) / 3;
  const auto share = [&](double value) { return NormalShare((value - mean) / (mean / 2)); };
  return (share(amount) - share(range.least)) / (share(range.most) - share(range.least));
}

std::optional<double> FraudAmount(Fields fields, std::size_t row, const Profiles&) {
  if (!fields[1].Flag(row) || !fields[2].Has(row)) return std::nullopt;
  const int64_t amount = fields[0].Number(row);
  if (fields[2].Is(row, "LAVAGEM_DINHEIRO") || fields[2].Is(row, "TRIANGULACAO")) {
    return Uniform(amount, 500'000, 5'000'000);
  }
  if (fields[2].Is(row, "CARTAO_CLONADO") || fields[2].Is(row, "CONTA_TOMADA")) {
    return Uniform(amount, 50'000, 1'000'000);
  }
  return Uniform(amount, 20'000, 500'000);
}

std::optional<double> Accumulated(Fields fields, std::size_t row, const Profiles&) {
  return fields[1].Flag(row) ? Uniform(fields[0].Number(row), 200'000, 5'000'000)
                             : Uniform(fields[0].Number(row), 5'000, 500'000);
}
std::optional<double> Score(Fields fields, std::size_t row, const Profiles&) {
  return fields[1].Flag(row) ? Uniform(fields[0].Number(row), 6'500, 10'000)
                             : Uniform(fields[0].Number(row), 0, 3'500);
}
std::optional<double> Distance(Fields fields, std::size_t row, const Profiles&) {
  if (!fields[0].Has(row)) return std::nullopt;
  return Uniform(fields[0].Number(row), 0, 10'000);
}
std::optional<double> Moment(Fields fields, std::size_t row, const Profiles&) {
  return Uniform(fields[0].Number(row) % kHour, 0, kHour - 1);
}

}  // namespace

std::vector<ShareTest> ClassicShares() {
  const auto types = OfProfiles(&lists::Profile::transaction_types, lists::kTransactionTypeWeights);
  const auto channels = OfProfiles(&lists::Profile::channels, lists::kChannelWeights);
  const std::vector<Weights> statuses = {ToWeights(lists::kHonestStatusWeights),
                                         ToWeights(lists::kFraudStatusWeights)};
  return {
      {"customers", "address.state", {"address.state"}, {StateWeights()}, Always, CodeOf},
      {"customers", "bank_code", {"bank_code"}, {BankWeights()}, Always, CodeOf},
      {"customers", "account_status", {"account_status"}, {{95, 3, 2}}, Always, CodeOf},
      {"customers",
       "behavioral_profile",
       {"behavioral_profile"},
       {ProfileWeights()},
       Always,
       CodeOf},
      {"customers",
       "account_type by profile",
       {"account_type", "behavioral_profile"},
       AccountTypes(),
       ByProfile,
       CodeOf},
      {"transactions",
       "timestamp: hour",
       {"timestamp"},
       {ToWeights(lists::kTransactionHourWeights)},
       Always,
       HourOf},
      {"transactions", "type by profile", {"type", "customer_id"}, types, ByCustomer, CodeOf},
      {"transactions",
       "channel by profile",
       {"channel", "customer_id"},
       channels,
       ByCustomer,
       CodeOf},
      {"transactions",
       "mcc_code by profile",
       {"mcc_code", "customer_id"},
       CategoriesOfProfiles(),
       ByCustomer,
       CodeOf},
      {"transactions",
       "card_brand",
       {"card_brand"},
       {ToWeights(lists::kCardBrandWeights)},
       Always,
       CodeOf},
      {"transactions",
       "card_entry",
       {"card_entry"},
       {ToWeights(lists::kCardEntryWeights)},
       Always,
       CodeOf},
      {"transactions",
       "installments of credit cards",
       {"installments", "card_type"},
       {ToWeights(lists::kInstallmentWeights)},
       CreditOnly,
       InstallmentsOf},
      {"transactions", "cvv_validated", {"cvv_validated"}, {{5, 95}}, Always, FlagOf},
      {"transactions", "auth_3ds", {"auth_3ds"}, {{30, 70}}, Always, FlagOf},
      {"transactions",
       "pix_key_type",
       {"pix_key_type"},
       {ToWeights(lists::kPixKeyTypeWeights)},
       Always,
       CodeOf},
      {"transactions", "destination_bank", {"destination_bank"}, {BankWeights()}, Always, CodeOf},
      {"transactions",
       "new_beneficiary by label",
       {"new_beneficiary", "is_fraud"},
       {{85, 15}, {30, 70}},
       ByFlag,
       FlagOf},
      {"transactions", "status by label", {"status", "is_fraud"}, statuses, ByFlag, CodeOf},
      {"transactions", "refusal_reason", {"refusal_reason"}, {Weights(8, 1)}, Always, CodeOf},
      {"transactions",
       "fraud_type",
       {"fraud_type"},
       {ToWeights(lists::kFraudTypeWeights)},
       Always,
       CodeOf},
      {"rides",
       "timestamp: hour",
       {"timestamp"},
       {ToWeights(lists::kRideHourWeights)},
       Always,
       HourOf},
      {"rides",
       "app",
       {"app"},
       {ToWeights(lists::MemberOf<uint32_t>(lists::kRideApps, &lists::RideApp::weight))},
       Always,
       CodeOf},
      {"rides", "status", {"status"}, {ToWeights(lists::kRideStatusWeights)}, Always, CodeOf},
      {"rides",
       "payment_method",
       {"payment_method"},
       {ToWeights(lists::kRidePaymentWeights)},
       Always,
       CodeOf},
      {"rides",
       "driver_rating",
       {"driver_rating"},
       {ToWeights(lists::kDriverRatingWeights)},
       Always,
       RatingOf},
      {"rides",
       "passenger_rating",
       {"passenger_rating"},
       {ToWeights(lists::kPassengerRatingWeights)},
       Always,
       RatingOf},
      {"rides",
       "fraud_type",
       {"fraud_type"},
       {ToWeights(lists::kRideFraudTypeWeights)},
       Always,
       CodeOf},
  };
}

std::vector<CurveTest> ClassicCurves() {
  return {
      {"transactions",
       "amount of honest rows",
       {"amount", "is_fraud", "customer_id", "mcc_code"},
       HonestAmount},
      {"transactions", "amount of frauds", {"amount", "is_fraud", "fraud_type"}, FraudAmount},
      {"transactions", "timestamp: moment of the hour", {"timestamp"}, Moment},
      {"transactions", "distance_from_last_txn_km", {"distance_from_last_txn_km"}, Distance},
      {"transactions",
       "accumulated_amount_24h",
       {"accumulated_amount_24h", "is_fraud"},
       Accumulated},
      {"transactions", "fraud_score", {"fraud_score", "is_fraud"}, Score},
      {"rides", "timestamp: moment of the hour", {"timestamp"}, Moment},
  };
}

std::vector<ShareTest> CoherentShares(const coherent::Parameters& parameters) {
  Weights profiles;
  for (const coherent::ProfileHabits& profile : parameters.profiles) {
    profiles.push_back(profile.weight);
  }
  return {
      {"customers", "behavioral_profile", {"behavioral_profile"}, {profiles}, Always, CodeOf},
      {"customers", "address.state", {"address.state"}, {StateWeights()}, Always, CodeOf},
      {"accounts", "bank_code", {"bank_code"}, {BankWeights()}, Always, CodeOf},
  };
}

}  // namespace reveza::datagen::check
