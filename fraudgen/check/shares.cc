// Goodness-of-fit tests of the classic model: are the shares of categories, and the spread of
// numbers, those that its lists of weights prescribe?
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "fraudgen/check/statistics.h"
#include "fraudgen/check/table_check.h"
#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/profiles.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::check {
namespace {

// Significance level. Each data set has about forty tests, and real errors are far below with so
// many rows.
constexpr double kMinP = 1e-6;
// Numbers are tested on the first values only, to bound memory.
constexpr std::size_t kSampleSize = 100'000;

using Group = std::optional<std::size_t>;
using Weights = std::vector<uint32_t>;
using lists::WeightsOf;

// The profiles of the classic model's customers, one byte each, by customer number.
class Profiles {
 public:
  static constexpr uint8_t kNone = 6;
  static constexpr uint8_t kUnknown = 7;

  void Add(const Batch& customers) {
    constexpr uint64_t kMaxCustomer = uint64_t{1} << 27;  // bounds memory for damaged identifiers
    const Field id(customers, "customer_id");
    const Field profile(customers, "behavioral_profile");
    for (std::size_t row = 0; row < customers.rows(); ++row) {
      const uint64_t number = id.Has(row) ? NumberOf(id.Text(row)) : kMaxCustomer;
      if (number >= kMaxCustomer) continue;
      if (number >= profiles_.size()) {
        profiles_.resize(std::max<std::size_t>(number + 1, 2 * profiles_.size()), kUnknown);
      }
      profiles_[number] = profile.Has(row) ? static_cast<uint8_t>(profile.Code(row)) : kNone;
    }
  }
  uint8_t Of(std::string_view customer_id) const {
    const uint64_t number = NumberOf(customer_id);
    return number < profiles_.size() ? profiles_[number] : kUnknown;
  }

 private:
  std::vector<uint8_t> profiles_;
};

Group Always(Fields, std::size_t, const Profiles&) { return 0; }
Group ByFlag(Fields fields, std::size_t row, const Profiles&) { return fields[1].Flag(row); }
// Groups by the profile of the payment's customer.
Group ByCustomer(Fields fields, std::size_t row, const Profiles& profiles) {
  const uint8_t profile = profiles.Of(fields[1].Text(row));
  if (profile == Profiles::kUnknown) return std::nullopt;
  return profile;
}
Group CreditOnly(Fields fields, std::size_t row, const Profiles&) {
  if (!fields[1].Is(row, "CREDIT")) return std::nullopt;
  return 0;
}
// Groups by the profile in the customer's row.
Group ByProfile(Fields fields, std::size_t row, const Profiles&) {
  return fields[1].Has(row) ? fields[1].Code(row) : Profiles::kNone;
}

// The value of the first column, which is not null; nullopt if it is impossible.
Group CodeOf(Fields fields, std::size_t row) { return fields[0].Code(row); }
Group FlagOf(Fields fields, std::size_t row) { return fields[0].Flag(row); }
Group HourOf(Fields fields, std::size_t row) {
  const int64_t time = fields[0].Number(row);
  if (time < 0) return std::nullopt;
  return static_cast<std::size_t>(time % kMicrosecondsPerDay / kMicrosecondsPerHour);
}
Group InstallmentsOf(Fields fields, std::size_t row) {
  const auto found = std::ranges::find(lists::kInstallments, fields[0].Number(row));
  if (found == lists::kInstallments.end()) return std::nullopt;
  return static_cast<std::size_t>(found - lists::kInstallments.begin());
}
Group RatingOf(Fields fields, std::size_t row) {
  return static_cast<std::size_t>(5 - fields[0].Number(row));
}

// A test of categories. `group` returns which weights apply to a row, or nullopt to skip it;
// `value` returns the index of the row's weight.
struct ShareTest {
  std::string_view table;
  std::vector<std::string_view> columns;
  std::vector<Weights> weights;  // by group
  std::function<Group(Fields, std::size_t row, const Profiles&)> group = Always;
  std::function<Group(Fields, std::size_t row)> value = CodeOf;
  std::string name = {};                           // empty: the first column
  std::vector<std::vector<uint64_t>> counts = {};  // by group and value
};

// A test of numbers. `share` returns the expected distribution function at the row's value, which
// should be uniform from 0 to 1; outside for impossible values; or nullopt to skip the row.
struct CurveTest {
  std::string_view table;
  std::vector<std::string_view> columns;
  std::function<std::optional<double>(Fields, std::size_t row, const Profiles&)> share;
  std::string_view name = {};  // empty: the first column
  std::vector<double> sample = {};
};

Outcome Judge(std::string name, uint64_t checked, const Goodness& goodness,
              std::string_view statistic) {
  if (goodness.degrees == 0) {
    return {Outcome::Verdict::kSkipped, std::move(name),
            fmt::format("{} values are too few to test", checked)};
  }
  return {goodness.p < kMinP ? Outcome::Verdict::kFailed : Outcome::Verdict::kPassed,
          std::move(name),
          fmt::format("p = {:.3g} ({} {:.4g}, {} checked)", goodness.p, statistic,
                      goodness.statistic, checked)};
}

class ShareCheck final : public TableCheck {
 public:
  ShareCheck(std::vector<ShareTest> shares, std::vector<CurveTest> curves, bool by_profile)
      : shares_(std::move(shares)), curves_(std::move(curves)), by_profile_(by_profile) {
    for (ShareTest& test : shares_) {
      for (const Weights& weights : test.weights) test.counts.emplace_back(weights.size());
    }
  }

  void Add(const Batch& batch, const Position&) override {
    const std::string_view table = batch.table().name;
    if (by_profile_ && table == "customers") profiles_.Add(batch);
    for (ShareTest& test : shares_) {
      if (test.table == table) Count(batch, test);
    }
    for (CurveTest& test : curves_) {
      if (test.table == table) Collect(batch, test);
    }
  }

  void Report(std::vector<Outcome>& outcomes) const override {
    for (const ShareTest& test : shares_) {
      std::vector<Goodness> parts;
      uint64_t checked = 0;
      for (std::size_t group = 0; group < test.counts.size(); ++group) {
        for (const uint64_t count : test.counts[group]) checked += count;
        parts.push_back(ChiSquare(test.counts[group], test.weights[group]));
      }
      if (checked == 0) continue;
      outcomes.push_back(Judge(NameOf(test), checked, Combine(parts), "chi-square"));
    }
    for (const CurveTest& test : curves_) {
      std::vector<double> sample = test.sample;
      if (sample.empty()) continue;
      outcomes.push_back(Judge(NameOf(test), sample.size(), UniformKs(sample), "distance"));
    }
  }

 private:
  template <typename Test>
  static std::string NameOf(const Test& test) {
    const std::string_view name = test.name.empty() ? test.columns.front() : test.name;
    return fmt::format("distribution: {}.{}", test.table, name);
  }

  void Count(const Batch& batch, ShareTest& test) const {
    const auto fields = FieldsOf(batch, test.columns);
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!IsComplete(fields, row) || !fields[0].Has(row)) continue;
      const auto group = test.group(fields, row, profiles_);
      if (!group) continue;
      const auto value = test.value(fields, row);
      if (!value) continue;
      if (std::vector<uint64_t>& counts = test.counts[*group]; *value < counts.size())
        ++counts[*value];
    }
  }

  void Collect(const Batch& batch, CurveTest& test) const {
    const auto fields = FieldsOf(batch, test.columns);
    for (std::size_t row = 0; row < batch.rows() && test.sample.size() < kSampleSize; ++row) {
      if (!IsComplete(fields, row) || !fields[0].Has(row)) continue;
      if (const auto share = test.share(fields, row, profiles_)) test.sample.push_back(*share);
    }
  }

  std::vector<ShareTest> shares_;
  std::vector<CurveTest> curves_;
  bool by_profile_;
  Profiles profiles_;
};

template <typename List>
Weights ToWeights(const List& list) {
  return Weights(list.begin(), list.end());
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
  weights.push_back(WeightsOf(lists::kMerchantCategories));
  return weights;
}

std::vector<Weights> AccountTypes() {
  const Weights digital = {25, 5, 70};
  const Weights others = {40, 20, 40};
  // Profiles 0 and 4 prefer digital accounts; the last entry is for customers without profile.
  return {digital, others, others, others, digital, others, others};
}

// The distribution function of the discrete uniform distribution, at the middle of the step.
double Uniform(int64_t value, int64_t min, int64_t max) {
  return (static_cast<double>(value - min) + 0.5) / static_cast<double>(max - min + 1);
}

struct AmountRange {
  double min = 0;
  double max = 0;
};

// Returns the inclusive range in cents of honest payments of a profile in a category.
AmountRange RangeOf(uint8_t profile, uint16_t category) {
  constexpr double kCents = 100;
  const lists::MerchantCategory& row = lists::kMerchantCategories[category];
  const AmountRange all = {static_cast<double>(row.min_amount) * kCents,
                           static_cast<double>(row.max_amount) * kCents};
  if (profile == Profiles::kNone) return all;
  const lists::Profile& of = lists::Profiles()[profile];
  const AmountRange both = {std::max(static_cast<double>(of.amount.min) * kCents, all.min / 2),
                            std::min(static_cast<double>(of.amount.max) * kCents, all.max * 1.5)};
  return both.min < both.max ? both : all;
}

// Distribution function of the truncated normal distribution, within the range.
std::optional<double> HonestAmount(Fields fields, std::size_t row, const Profiles& profiles) {
  const uint8_t profile = profiles.Of(fields[2].Text(row));
  if (fields[1].Flag(row) || profile == Profiles::kUnknown) return std::nullopt;
  const AmountRange range = RangeOf(profile, fields[3].Code(row));
  const auto amount = static_cast<double>(fields[0].Number(row));
  if (amount <= range.min || amount >= range.max) {
    // Amounts are clamped to the ends. Beyond them, the result is outside 0 to 1.
    if (amount == range.min || amount == range.max) return std::nullopt;
    return amount < range.min ? -1 : 2;
  }
  const double mean = (range.min + range.max) / 3;
  const auto share = [&](double value) { return NormalShare((value - mean) / (mean / 2)); };
  return (share(amount) - share(range.min)) / (share(range.max) - share(range.min));
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

std::optional<double> DistanceShare(Fields fields, std::size_t row, const Profiles&) {
  return Uniform(fields[0].Number(row), 0, 10'000);
}
std::optional<double> Moment(Fields fields, std::size_t row, const Profiles&) {
  return Uniform(fields[0].Number(row) % kMicrosecondsPerHour, 0, kMicrosecondsPerHour - 1);
}

std::vector<ShareTest> ClassicShares() {
  const auto types = OfProfiles(&lists::Profile::transaction_types, lists::kTransactionTypeWeights);
  const auto channels = OfProfiles(&lists::Profile::channels, lists::kChannelWeights);
  const auto test = [](std::string_view table, std::string_view column, const auto& weights,
                       Group (*value)(Fields, std::size_t) = CodeOf) {
    return ShareTest{table, {column}, {ToWeights(weights)}, Always, value};
  };
  const auto hours = [&](std::string_view table, const auto& weights) {
    return ShareTest{table, {"timestamp"}, {ToWeights(weights)}, Always, HourOf, "timestamp: hour"};
  };
  const auto by_profile = [](std::string_view column, const std::vector<Weights>& weights) {
    const std::string name = fmt::format("{} by profile", column);
    return ShareTest{"transactions", {column, "customer_id"}, weights, ByCustomer, CodeOf, name};
  };
  const auto by_label = [](std::string_view column, const auto& honest, const auto& fraud,
                           Group (*value)(Fields, std::size_t)) {
    const std::string name = fmt::format("{} by label", column);
    const std::vector<Weights> weights = {ToWeights(honest), ToWeights(fraud)};
    return ShareTest{"transactions", {column, "is_fraud"}, weights, ByFlag, value, name};
  };
  return {
      test("customers", "address.state", WeightsOf(lists::kStates)),
      test("customers", "bank_code", WeightsOf(lists::kBanks)),
      test("customers", "account_status", Weights{95, 3, 2}),
      test("customers", "behavioral_profile", WeightsOf(lists::Profiles())),
      {"customers",
       {"account_type", "behavioral_profile"},
       AccountTypes(),
       ByProfile,
       CodeOf,
       "account_type by profile"},
      hours("transactions", lists::kTransactionHourWeights),
      by_profile("type", types),
      by_profile("channel", channels),
      by_profile("mcc_code", CategoriesOfProfiles()),
      test("transactions", "card_brand", lists::kCardBrandWeights),
      test("transactions", "card_entry", lists::kCardEntryWeights),
      {"transactions",
       {"installments", "card_type"},
       {ToWeights(lists::kInstallmentWeights)},
       CreditOnly,
       InstallmentsOf,
       "installments of credit cards"},
      test("transactions", "cvv_validated", Weights{5, 95}, FlagOf),
      test("transactions", "auth_3ds", Weights{30, 70}, FlagOf),
      test("transactions", "pix_key_type", lists::kPixKeyTypeWeights),
      test("transactions", "destination_bank", WeightsOf(lists::kBanks)),
      by_label("new_beneficiary", Weights{85, 15}, Weights{30, 70}, FlagOf),
      by_label("status", lists::kHonestStatusWeights, lists::kFraudStatusWeights, CodeOf),
      test("transactions", "refusal_reason", Weights(8, 1)),
      test("transactions", "fraud_type", lists::kFraudTypeWeights),
      hours("rides", lists::kRideHourWeights),
      test("rides", "app", WeightsOf(lists::kRideApps)),
      test("rides", "status", lists::kRideStatusWeights),
      test("rides", "payment_method", lists::kRidePaymentWeights),
      test("rides", "driver_rating", lists::kDriverRatingWeights, RatingOf),
      test("rides", "passenger_rating", lists::kPassengerRatingWeights, RatingOf),
      test("rides", "fraud_type", lists::kRideFraudTypeWeights),
  };
}

std::vector<CurveTest> ClassicCurves() {
  const auto by_label = [](int64_t honest_min, int64_t honest_max, int64_t min, int64_t max) {
    return [=](Fields fields, std::size_t row, const Profiles&) -> std::optional<double> {
      const int64_t value = fields[0].Number(row);
      return fields[1].Flag(row) ? Uniform(value, min, max)
                                 : Uniform(value, honest_min, honest_max);
    };
  };
  return {
      {"transactions",
       {"amount", "is_fraud", "customer_id", "mcc_code"},
       HonestAmount,
       "amount of honest rows"},
      {"transactions", {"amount", "is_fraud", "fraud_type"}, FraudAmount, "amount of frauds"},
      {"transactions", {"timestamp"}, Moment, "timestamp: moment of the hour"},
      {"transactions", {"distance_from_last_txn_km"}, DistanceShare},
      {"transactions",
       {"accumulated_amount_24h", "is_fraud"},
       by_label(5'000, 500'000, 200'000, 5'000'000)},
      {"transactions", {"fraud_score", "is_fraud"}, by_label(0, 3'500, 6'500, 10'000)},
      {"rides", {"timestamp"}, Moment, "timestamp: moment of the hour"},
  };
}

}  // namespace

std::unique_ptr<TableCheck> CheckClassicShares() {
  return std::make_unique<ShareCheck>(ClassicShares(), ClassicCurves(), /*by_profile=*/true);
}

std::unique_ptr<TableCheck> CheckCoherentShares(const coherent::Parameters& parameters) {
  return std::make_unique<ShareCheck>(
      std::vector<ShareTest>{
          {"customers", {"behavioral_profile"}, {WeightsOf(parameters.profiles)}},
          {"customers", {"address.state"}, {WeightsOf(lists::kStates)}},
          {"accounts", {"bank_code"}, {WeightsOf(lists::kBanks)}}},
      std::vector<CurveTest>(), /*by_profile=*/false);
}

}  // namespace reveza::fraudgen::check
