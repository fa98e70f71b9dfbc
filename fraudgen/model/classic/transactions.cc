#include "fraudgen/model/classic/transactions.h"

#include <algorithm>
#include <numeric>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::classic {
namespace {

// Builds the choice of each profile, followed by that of customers without one.
template <typename Member, typename Default>
std::vector<WeightedChoice> Choices(Member member, const Default& without_profile) {
  std::vector<WeightedChoice> choices;
  for (const lists::Profile& profile : lists::Profiles()) choices.emplace_back(profile.*member);
  choices.emplace_back(without_profile);
  return choices;
}

}  // namespace

Transactions::Transactions(const World& world)
    : world_(world),
      random_(world.seed(), TableKey::kTransactions),
      hours_(lists::kTransactionHourWeights),
      types_(Choices(&lists::Profile::transaction_types, lists::kTransactionTypeWeights)),
      channels_(Choices(&lists::Profile::channels, lists::kChannelWeights)),
      states_(lists::ChoiceOfRows(lists::kStates)),
      brands_(lists::kCardBrandWeights),
      entries_(lists::kCardEntryWeights),
      installments_(lists::kInstallmentWeights),
      pix_key_types_(lists::kPixKeyTypeWeights),
      banks_(lists::ChoiceOfRows(lists::kBanks)),
      honest_statuses_(lists::kHonestStatusWeights),
      fraud_statuses_(lists::kFraudStatusWeights),
      fraud_types_(lists::kFraudTypeWeights) {
  MakeMerchantTables();
}

std::unique_ptr<TableRows> MakeTransactions(const World& world) {
  return std::make_unique<Transactions>(world);
}

// The range of amounts is the intersection of the profile's and the category's, or the category's
// if that is empty; the mean is a third of the sum of its ends.
void Transactions::MakeMerchantTables() {
  constexpr int64_t kCents = 100;
  const auto& all = lists::kMerchantCategories;
  const auto profiles = lists::Profiles();
  for (uint32_t profile = 0; profile < World::kProfileRows; ++profile) {
    if (profile == World::kNoProfile) {
      std::iota(categories_[profile].begin(), categories_[profile].end(), uint8_t{0});
      category_choices_.push_back(lists::ChoiceOfRows(all));
    } else {
      const auto usual = profiles[profile].merchant_categories;
      std::ranges::transform(usual, categories_[profile].begin(), &lists::CategoryWeight::category);
      category_choices_.push_back(lists::ChoiceOfRows(usual));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      int64_t min = all[i].min_amount * kCents;
      int64_t max = all[i].max_amount * kCents;
      if (profile != World::kNoProfile) {
        const int64_t both_min = std::max(profiles[profile].amount.min * kCents, min / 2);
        const int64_t both_max = std::min(profiles[profile].amount.max * kCents, max * 3 / 2);
        if (both_min < both_max) {
          min = both_min;
          max = both_max;
        }
      }
      const int64_t mean = (min + max) / 3;
      amounts_[profile][i] = {.min = min, .max = max, .mean = mean, .deviation = mean / 2};
    }
  }
}

void Transactions::Fill(const BatchRows& rows, Batch& batch) const {
  Scratch scratch;
  FillParties(rows, scratch, batch);
  FillIdentifiers(rows, scratch, batch);
  FillTime(rows, batch);
  FillMerchant(rows, scratch, batch);
  FillPlace(rows, scratch, batch);
  FillIp(rows, batch);
  FillAmount(rows, scratch, batch);
  FillCard(rows, scratch.cards, batch);
  FillCardHash(rows, scratch.cards, batch);
  FillReceiver(rows, batch);
  FillPixKey(rows, scratch.pixes, batch);
  FillHistory(rows, scratch, batch);
  FillOutcome(rows, scratch, batch);
}

// Fills customer, device, label and the scratch values that depend on the profile.
void Transactions::FillParties(const BatchRows& rows, Scratch& scratch, Batch& batch) const {
  const auto [types, channels, currencies, fraud_types] =
      Codes(batch, kType, kChannel, kCurrency, kFraudType);
  const auto labels = Flags(batch, kIsFraud);
  const auto fraud_type_present = Present(batch, kFraudType);
  world_.DrawOwners(random_[Draw::kOwner], rows, std::span(scratch.owner).first(batch.rows()));
  const Drawn type_drawn(random_[Draw::kTypeAndChannel], rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const Owner& owner = scratch.owner[i];
    scratch.state[i] = static_cast<uint8_t>(owner.traits.state);
    scratch.profile[i] = static_cast<uint8_t>(owner.traits.profile);

    const uint64_t bits = type_drawn[i];
    types[i] = static_cast<uint16_t>(types_[owner.traits.profile].Of(bits));
    channels[i] = static_cast<uint16_t>(channels_[owner.traits.profile].Of(LowerHalf(bits)));
    currencies[i] = 0;
    const auto type = static_cast<TransactionType>(types[i]);
    scratch.cards.Append(
        i, type == TransactionType::kCreditCard || type == TransactionType::kDebitCard);
    scratch.pixes.Append(i, type == TransactionType::kPix);

    const bool fraud = rows.IsFraud(i);
    scratch.fraud[i] = fraud;
    labels[i] = fraud;
    scratch.fraud_type[i] = 0;
    if (fraud) {
      scratch.fraud_type[i] =
          static_cast<uint8_t>(fraud_types_.Of(random_[Draw::kFraudType].Bits(rows[i])));
    }
    fraud_types[i] = scratch.fraud_type[i];
    fraud_type_present[i] = fraud;
  }
}

void Transactions::FillTime(const BatchRows& rows, Batch& batch) const {
  const auto times = Numbers(batch, kTimestamp);
  const auto nights = Flags(batch, kUnusualTime);
  const Drawn day_drawn(random_[Draw::kDayAndHour], rows);
  const Drawn moment_drawn(random_[Draw::kMoment], rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const World::Moment moment = world_.MomentOf(hours_, day_drawn[i], moment_drawn[i]);
    times[i] = moment.time;
    nights[i] = moment.hour < 6;
  }
}

void Transactions::DrawTimes(uint64_t first, std::span<int64_t> times) const {
  const FieldRandom& days = random_[Draw::kDayAndHour];
  const FieldRandom& moments = random_[Draw::kMoment];
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = world_.MomentOf(hours_, days.Bits(first + i), moments.Bits(first + i)).time;
  }
}

void Transactions::FillMerchant(const BatchRows& rows, Scratch& scratch, Batch& batch) const {
  const auto [names, categories, codes, risks] =
      Codes(batch, kMerchantName, kMerchantCategory, kMccCode, kMccRiskLevel);
  const Drawn drawn(random_[Draw::kMerchant], rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t bits = drawn[i];
    const uint8_t profile = scratch.profile[i];
    const uint8_t category = categories_[profile][category_choices_[profile].Of(bits)];
    const lists::Slice slice = lists::kMerchantsOfCategory[category];
    scratch.category[i] = category;
    categories[i] = category;
    codes[i] = category;
    risks[i] = static_cast<uint16_t>(lists::kMerchantCategories[category].risk);
    names[i] = static_cast<uint16_t>(slice.first + UpperProduct(LowerHalf(bits), slice.count));
  }
}

void Transactions::FillPlace(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  constexpr uint64_t kHalfDegree = 500'000;
  const auto [latitudes, longitudes] = Numbers(batch, kGeolocationLat, kGeolocationLon);
  const Drawn drawn(random_[Draw::kPlace], rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    uint32_t state = scratch.state[i];
    if (scratch.fraud[i] != 0) {
      const uint64_t bits = random_[Draw::kPlaceOfFraud].Bits(rows[i]);
      if (Percent(bits) < 30) state = states_.Of(LowerHalf(bits));
    }
    const uint64_t bits = drawn[i];
    const auto north = static_cast<int64_t>(UpperProduct(bits, 2 * kHalfDegree + 1));
    const auto east = static_cast<int64_t>(UpperProduct(LowerHalf(bits), 2 * kHalfDegree + 1));
    constexpr auto kSouthWest = static_cast<int64_t>(kHalfDegree);
    latitudes[i] = lists::kStates[state].latitude - kSouthWest + north;
    longitudes[i] = lists::kStates[state].longitude - kSouthWest + east;
  }
}

// Frauds have one of three ranges: expensive kinds, kinds that use another's card or account,
// others.
void Transactions::FillAmount(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  const auto range_of = [](uint8_t type) -> Range<int64_t> {
    switch (static_cast<FraudType>(type)) {
      case FraudType::kMoneyLaundering:
      case FraudType::kTriangulation:
        return {500'000, 5'000'000};
      case FraudType::kClonedCard:
      case FraudType::kAccountTakeover:
        return {50'000, 1'000'000};
      default:
        return {20'000, 500'000};
    }
  };
  const auto amounts = Numbers(batch, kAmount);
  const Drawn drawn(random_[Draw::kAmount], rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    if (scratch.fraud[i] != 0) {
      const Range<int64_t> range = range_of(scratch.fraud_type[i]);
      const auto width = static_cast<uint64_t>(range.max - range.min + 1);
      amounts[i] = range.min + static_cast<int64_t>(UpperProduct(drawn[i], width));
    } else {
      const AmountRange& range = amounts_[scratch.profile[i]][scratch.category[i]];
      amounts[i] = ClampedNormal(drawn[i], range.mean, range.deviation, range.min, range.max);
    }
  }
}

void Transactions::FillHistory(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  const auto [distances, since, counts, sums] =
      Numbers(batch, kDistanceFromLastTxnKm, kTimeSinceLastTxnMin, kTransactionsLast24h,
              kAccumulatedAmount24h);
  const auto [distance_present, since_present] =
      Present(batch, kDistanceFromLastTxnKm, kTimeSinceLastTxnMin);
  const Drawn distance_drawn(random_[Draw::kDistance], rows);
  const Drawn since_drawn(random_[Draw::kSinceLast], rows);
  const Drawn last_drawn(random_[Draw::kLast24Hours], rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    uint64_t bits = distance_drawn[i];
    distance_present[i] = bits >> 63 != 0;
    distances[i] = static_cast<int64_t>(UpperProduct(bits << 1, 10'001));
    bits = since_drawn[i];
    since_present[i] = Percent(bits) < 70;
    since[i] = 1 + static_cast<int64_t>(UpperProduct(LowerHalf(bits), 1'440));
    bits = last_drawn[i];
    const bool fraud = scratch.fraud[i] != 0;
    counts[i] = (fraud ? 5 : 1) + static_cast<int64_t>(UpperProduct(bits, fraud ? 46 : 15));
    sums[i] = (fraud ? 200'000 : 5'000) +
              static_cast<int64_t>(UpperProduct(LowerHalf(bits), fraud ? 4'800'001 : 495'001));
  }
}

void Transactions::FillOutcome(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  constexpr uint16_t kDeclined = 1;
  constexpr uint64_t kReasons = 8;
  const auto beneficiaries = Flags(batch, kNewBeneficiary);
  const auto [statuses, reasons] = Codes(batch, kStatus, kRefusalReason);
  const auto reason_present = Present(batch, kRefusalReason);
  const auto scores = Numbers(batch, kFraudScore);
  const Drawn drawn(random_[Draw::kOutcome], rows);
  const Drawn score_drawn(random_[Draw::kScore], rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const bool fraud = scratch.fraud[i] != 0;
    const uint64_t bits = drawn[i];
    beneficiaries[i] = Percent(bits) < (fraud ? 70u : 15u);
    const WeightedChoice& choice = fraud ? fraud_statuses_ : honest_statuses_;
    statuses[i] = static_cast<uint16_t>(choice.Of(LowerHalf(bits)));
    const bool declined = statuses[i] == kDeclined;
    reason_present[i] = declined;
    reasons[i] = declined ? static_cast<uint16_t>(random_[Draw::kRefusal].Below(kReasons, rows[i]))
                          : uint16_t{0};
    const uint64_t score = UpperProduct(score_drawn[i], 3'501);
    scores[i] = static_cast<int64_t>(fraud ? 6'500 + score : score);
  }
}

}  // namespace reveza::fraudgen::classic
