#include "datagen/classic/transactions.h"

#include <algorithm>

#include "datagen/civil_time.h"
#include "datagen/classic/draws.h"
#include "datagen/lists/commerce.h"
#include "datagen/lists/places.h"
#include "datagen/lists/weights.h"
#include "datagen/normal.h"

namespace reveza::datagen::classic {
namespace {

constexpr uint64_t kMicrosecondsPerHour = 3'600 * uint64_t{kMicrosecondsPerSecond};

using ProfileWeights = std::array<std::vector<uint32_t>, World::kProfileRows>;

template <typename Member, typename Default>
std::vector<WeightedChoice> Choices(Member member, const Default& without_profile) {
  ProfileWeights weights;
  const auto profiles = lists::Profiles();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const auto& of_profile = profiles[i].*member;
    weights[i].assign(of_profile.begin(), of_profile.end());
  }
  weights[World::kNoProfile].assign(without_profile.begin(), without_profile.end());
  return ChoicesOfProfiles(weights);
}

WeightedChoice ChoiceOfStates() {
  return lists::ChoiceOf(lists::MemberOf<uint32_t>(lists::kStates, &lists::State::weight));
}

WeightedChoice ChoiceOfBanks() {
  return lists::ChoiceOf(lists::MemberOf<uint32_t>(lists::kBanks, &lists::Bank::weight));
}

}  // namespace

Transactions::Transactions(const World& world)
    : world_(world),
      hours_(lists::ChoiceOf(lists::kTransactionHourWeights)),
      types_(Choices(&lists::Profile::transaction_types, lists::kTransactionTypeWeights)),
      channels_(Choices(&lists::Profile::channels, lists::kChannelWeights)),
      states_(ChoiceOfStates()),
      brands_(lists::ChoiceOf(lists::kCardBrandWeights)),
      entries_(lists::ChoiceOf(lists::kCardEntryWeights)),
      installments_(lists::ChoiceOf(lists::kInstallmentWeights)),
      pix_key_types_(lists::ChoiceOf(lists::kPixKeyTypeWeights)),
      banks_(ChoiceOfBanks()),
      honest_statuses_(lists::ChoiceOf(lists::kHonestStatusWeights)),
      fraud_statuses_(lists::ChoiceOf(lists::kFraudStatusWeights)),
      fraud_types_(lists::ChoiceOf(lists::kFraudTypeWeights)) {
  for (uint32_t draw = 0; draw < kDraws; ++draw) {
    draws_.push_back(world.Random(TableKey::kTransactions, draw));
  }
  MakeMerchantTables();
}

// Amounts: what both the profile and the category allow, or, where that is nothing, what the
// category allows; normal around a third of the sum of both ends.
void Transactions::MakeMerchantTables() {
  constexpr int64_t kCents = 100;
  const auto& all = lists::kMerchantCategories;
  const auto profiles = lists::Profiles();
  ProfileWeights weights;
  for (uint32_t profile = 0; profile < World::kProfileRows; ++profile) {
    if (profile == World::kNoProfile) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        categories_[profile][i] = static_cast<uint8_t>(i);
        weights[profile].push_back(all[i].weight);
      }
    } else {
      for (const lists::CategoryWeight& category : profiles[profile].merchant_categories) {
        categories_[profile][weights[profile].size()] = category.category;
        weights[profile].push_back(category.weight);
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      int64_t least = all[i].least * kCents;
      int64_t most = all[i].most * kCents;
      if (profile != World::kNoProfile) {
        const int64_t both_least = std::max(profiles[profile].least_amount * kCents, least / 2);
        const int64_t both_most = std::min(profiles[profile].most_amount * kCents, most * 3 / 2);
        if (both_least < both_most) {
          least = both_least;
          most = both_most;
        }
      }
      const int64_t mean = (least + most) / 3;
      amounts_[profile][i] = {.least = least, .most = most, .mean = mean, .deviation = mean / 2};
    }
  }
  category_choices_ = ChoicesOfProfiles(weights);
}

void Transactions::Fill(const BatchRows& rows, Batch& batch) const {
  Scratch scratch;
  FillWho(rows, scratch, batch);
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

// Customer, device, label, and what the customer's profile decides.
void Transactions::FillWho(const BatchRows& rows, Scratch& scratch, Batch& batch) const {
  const auto types = Codes(batch, TransactionColumn::kType);
  const auto channels = Codes(batch, TransactionColumn::kChannel);
  const auto currencies = Codes(batch, TransactionColumn::kCurrency);
  const auto labels = Flags(batch, TransactionColumn::kIsFraud);
  const auto fraud_types = Codes(batch, TransactionColumn::kFraudType);
  const auto fraud_type_present = Present(batch, TransactionColumn::kFraudType);
  world_.DrawOwners(Random(Draw::kOwner), rows, std::span(scratch.owner).first(batch.rows()));
  const Drawn type_drawn(Random(Draw::kTypeAndChannel), rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const Owner& owner = scratch.owner[i];
    scratch.state[i] = static_cast<uint8_t>(owner.traits.state);
    scratch.profile[i] = static_cast<uint8_t>(owner.traits.profile);

    const uint64_t bits = type_drawn[i];
    types[i] = static_cast<uint16_t>(types_[owner.traits.profile].Of(bits));
    channels[i] = static_cast<uint16_t>(channels_[owner.traits.profile].Of(LowerHalf(bits)));
    currencies[i] = 0;
    const auto type = static_cast<lists::TransactionType>(types[i]);
    scratch.cards.Append(i, type == lists::TransactionType::kCreditCard ||
                                type == lists::TransactionType::kDebitCard);
    scratch.pixes.Append(i, type == lists::TransactionType::kPix);

    const bool fraud = rows.IsFraud(i);
    scratch.fraud[i] = fraud;
    labels[i] = fraud;
    scratch.fraud_type[i] = 0;
    if (fraud) {
      scratch.fraud_type[i] =
          static_cast<uint8_t>(fraud_types_.Of(Random(Draw::kFraudType).Bits(rows[i])));
    }
    fraud_types[i] = scratch.fraud_type[i];
    fraud_type_present[i] = fraud;
  }
}

Transactions::Moment Transactions::MomentOf(uint64_t day_bits, uint64_t moment_bits) const {
  const auto day = static_cast<int64_t>(UpperProduct(day_bits, world_.days()));
  const uint32_t hour = hours_.Of(LowerHalf(day_bits));
  const uint64_t moment = UpperProduct(moment_bits, kMicrosecondsPerHour);
  return {.time = (world_.first_day() + day) * kMicrosecondsPerDay +
                  static_cast<int64_t>(hour * kMicrosecondsPerHour + moment),
          .hour = hour};
}

void Transactions::FillTime(const BatchRows& rows, Batch& batch) const {
  const auto times = Numbers(batch, TransactionColumn::kTimestamp);
  const auto nights = Flags(batch, TransactionColumn::kUnusualTime);
  const Drawn day_drawn(Random(Draw::kDayAndHour), rows);
  const Drawn moment_drawn(Random(Draw::kMoment), rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Moment moment = MomentOf(day_drawn[i], moment_drawn[i]);
    times[i] = moment.time;
    nights[i] = moment.hour < 6;
  }
}

void Transactions::DrawTimes(uint64_t first, std::span<int64_t> times) const {
  const FieldRandom& days = Random(Draw::kDayAndHour);
  const FieldRandom& moments = Random(Draw::kMoment);
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = MomentOf(days.Bits(first + i), moments.Bits(first + i)).time;
  }
}

void Transactions::FillMerchant(const BatchRows& rows, Scratch& scratch, Batch& batch) const {
  const auto names = Codes(batch, TransactionColumn::kMerchantName);
  const auto categories = Codes(batch, TransactionColumn::kMerchantCategory);
  const auto codes = Codes(batch, TransactionColumn::kMccCode);
  const auto risks = Codes(batch, TransactionColumn::kMccRiskLevel);
  const Drawn drawn(Random(Draw::kMerchant), rows);
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
  const auto latitudes = Numbers(batch, TransactionColumn::kLatitude);
  const auto longitudes = Numbers(batch, TransactionColumn::kLongitude);
  const Drawn drawn(Random(Draw::kPlace), rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    uint32_t state = scratch.state[i];
    if (scratch.fraud[i] != 0) {
      const uint64_t bits = Random(Draw::kPlaceOfFraud).Bits(rows[i]);
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

// Frauds of the dear kinds, of the kinds that use somebody's card or account, and the others.
void Transactions::FillAmount(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  struct Range {
    int64_t least;
    int64_t most;
  };
  const auto range_of = [](uint8_t type) -> Range {
    switch (static_cast<lists::FraudType>(type)) {
      case lists::FraudType::kMoneyLaundering:
      case lists::FraudType::kTriangulation:
        return {500'000, 5'000'000};
      case lists::FraudType::kClonedCard:
      case lists::FraudType::kAccountTakeover:
        return {50'000, 1'000'000};
      default:
        return {20'000, 500'000};
    }
  };
  const auto amounts = Numbers(batch, TransactionColumn::kAmount);
  const Drawn drawn(Random(Draw::kAmount), rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    if (scratch.fraud[i] != 0) {
      const Range range = range_of(scratch.fraud_type[i]);
      const auto width = static_cast<uint64_t>(range.most - range.least + 1);
      amounts[i] = range.least + static_cast<int64_t>(UpperProduct(drawn[i], width));
    } else {
      const AmountRange& range = amounts_[scratch.profile[i]][scratch.category[i]];
      amounts[i] = ClampedNormal(drawn[i], range.mean, range.deviation, range.least, range.most);
    }
  }
}

void Transactions::FillHistory(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  const auto distances = Numbers(batch, TransactionColumn::kDistanceFromLast);
  const auto distance_present = Present(batch, TransactionColumn::kDistanceFromLast);
  const auto since = Numbers(batch, TransactionColumn::kTimeSinceLast);
  const auto since_present = Present(batch, TransactionColumn::kTimeSinceLast);
  const auto counts = Numbers(batch, TransactionColumn::kTransactionsLast24h);
  const auto sums = Numbers(batch, TransactionColumn::kAccumulatedAmount24h);
  const Drawn distance_drawn(Random(Draw::kDistance), rows);
  const Drawn since_drawn(Random(Draw::kSinceLast), rows);
  const Drawn last_drawn(Random(Draw::kLast24Hours), rows);
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
  const auto beneficiaries = Flags(batch, TransactionColumn::kNewBeneficiary);
  const auto statuses = Codes(batch, TransactionColumn::kStatus);
  const auto reasons = Codes(batch, TransactionColumn::kRefusalReason);
  const auto reason_present = Present(batch, TransactionColumn::kRefusalReason);
  const auto scores = Numbers(batch, TransactionColumn::kFraudScore);
  const Drawn drawn(Random(Draw::kOutcome), rows);
  const Drawn score_drawn(Random(Draw::kScore), rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const bool fraud = scratch.fraud[i] != 0;
    const uint64_t bits = drawn[i];
    beneficiaries[i] = Percent(bits) < (fraud ? 70u : 15u);
    const WeightedChoice& choice = fraud ? fraud_statuses_ : honest_statuses_;
    statuses[i] = static_cast<uint16_t>(choice.Of(LowerHalf(bits)));
    const bool declined = statuses[i] == kDeclined;
    reason_present[i] = declined;
    reasons[i] = declined ? static_cast<uint16_t>(Random(Draw::kRefusal).Below(kReasons, rows[i]))
                          : uint16_t{0};
    const uint64_t score = UpperProduct(score_drawn[i], 3'501);
    scores[i] = static_cast<int64_t>(fraud ? 6'500 + score : score);
  }
}

}  // namespace reveza::datagen::classic
