#include "fraudgen/model/classic/transactions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/classic/testing_rows.h"

namespace reveza::fraudgen::classic {
namespace transactions_test {

using Column = TransactionsColumn;

const Rows& Payments() { return TestRows().Of(kTransactions); }

// Visits the rows that are, or are not, frauds.
template <typename Visit>
void ForEach(bool fraud, const Visit& visit) {
  const Rows& rows = Payments();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if ((rows[Column::kIsFraud].numbers[row] != 0) == fraud) visit(row);
  }
}

Range RangeOf(Column column, bool fraud) {
  Range range;
  ForEach(fraud, [&](std::size_t row) {
    if (!Payments()[column].null[row]) range.Add(Payments()[column].numbers[row]);
  });
  return range;
}

std::vector<uint64_t> CountsOf(Column column, std::size_t limit, bool fraud) {
  std::vector<uint64_t> counts(limit, 0);
  ForEach(fraud, [&](std::size_t row) {
    if (!Payments()[column].null[row]) {
      ++counts.at(static_cast<std::size_t>(Payments()[column].numbers[row]));
    }
  });
  return counts;
}

TEST(ClassicTransactions, IdsAreConsecutive) {
  const Rows& rows = Payments();
  EXPECT_EQ(rows[Column::kTransactionId].texts.front(), "TXN_000000000000000");
  EXPECT_EQ(rows[Column::kTransactionId].texts.back(), "TXN_000000000059999");
  EXPECT_EQ(rows[Column::kSessionId].texts.back(), "SESS_000000000059999");
}

TEST(ClassicTransactions, DeviceBelongsToTheCustomer) {
  std::map<std::string, std::string> owners;
  const Rows& devices = TestRows().Of(kDevices);
  for (std::size_t row = 0; row < devices.size(); ++row) {
    owners[devices[DevicesColumn::kDeviceId].texts[row]] =
        devices[DevicesColumn::kCustomerId].texts[row];
  }
  std::map<std::string, uint64_t> uses;
  for (std::size_t row = 0; row < Payments().size(); ++row) {
    const std::string& device = Payments()[Column::kDeviceId].texts[row];
    ASSERT_TRUE(owners.contains(device)) << device;
    ASSERT_EQ(owners[device], Payments()[Column::kCustomerId].texts[row]);
    ++uses[device];
  }
  std::vector<uint64_t> counts;
  for (const auto& [device, owner] : owners) counts.push_back(uses[device]);
  ExpectUniform(counts);
}

TEST(ClassicTransactions, TimesFollowTheHourWeights) {
  const int64_t first = DaysOf({2025, 1, 1});
  std::vector<uint64_t> days(365, 0);
  std::vector<uint64_t> hours(24, 0);
  std::vector<uint64_t> minutes(60, 0);
  for (std::size_t row = 0; row < Payments().size(); ++row) {
    const int64_t time = Payments()[Column::kTimestamp].numbers[row];
    ++days.at(static_cast<std::size_t>(time / kMicrosecondsPerDay - first));
    const int64_t second = time % kMicrosecondsPerDay / kMicrosecondsPerSecond;
    ++hours.at(static_cast<std::size_t>(second / 3'600));
    ++minutes.at(static_cast<std::size_t>(second / 60 % 60));
    ASSERT_EQ(Payments()[Column::kUnusualTime].numbers[row] != 0, second < 6 * 3'600);
  }
  ExpectUniform(days);
  ExpectFits(hours, lists::kTransactionHourWeights);
  ExpectUniform(minutes);
}

TEST(ClassicTransactions, TypeChannelAndCategoryFollowTheProfile) {
  const Rows& customers = TestRows().Of(kCustomers);
  std::map<std::string, int64_t> profiles;
  for (std::size_t row = 0; row < customers.size(); ++row) {
    profiles[customers[CustomersColumn::kCustomerId].texts[row]] =
        customers[CustomersColumn::kBehavioralProfile].numbers[row];
  }
  for (int64_t profile = 0; profile < 6; ++profile) {
    SCOPED_TRACE(profile);
    const lists::Profile& expected = lists::Profiles()[static_cast<std::size_t>(profile)];
    std::vector<uint64_t> types(9, 0);
    std::vector<uint64_t> channels(5, 0);
    std::vector<uint64_t> categories(25, 0);
    for (std::size_t row = 0; row < Payments().size(); ++row) {
      if (profiles[Payments()[Column::kCustomerId].texts[row]] != profile) continue;
      ++types.at(static_cast<std::size_t>(Payments()[Column::kType].numbers[row]));
      ++channels.at(static_cast<std::size_t>(Payments()[Column::kChannel].numbers[row]));
      ++categories.at(static_cast<std::size_t>(Payments()[Column::kMccCode].numbers[row]));
    }
    ExpectFits(types, expected.transaction_types);
    ExpectFits(channels, expected.channels);
    std::vector<uint32_t> weights(25, 0);
    for (const lists::CategoryWeight& category : expected.merchant_categories) {
      weights[category.category] = category.weight;
    }
    ExpectFits(categories, weights);
  }
}

TEST(ClassicTransactions, WithoutProfilesFollowTheGlobalWeights) {
  Options options = TestOptions();
  options.profiles = false;
  Collector collector = MakeAll(*ModelOf(options));
  const Rows& rows = collector.Of(kTransactions);
  ExpectFits(classic::CountsOf(rows[Column::kType], 9), lists::kTransactionTypeWeights);
  ExpectFits(classic::CountsOf(rows[Column::kChannel], 5), lists::kChannelWeights);
  ExpectFits(
      classic::CountsOf(rows[Column::kMccCode], 25),
      lists::MemberOf<uint32_t>(lists::kMerchantCategories, &lists::MerchantCategory::weight));
  const Rows& customers = collector.Of(kCustomers);
  EXPECT_TRUE(customers[CustomersColumn::kBehavioralProfile].null.front());
}

TEST(ClassicTransactions, MerchantBelongsToTheCategory) {
  std::vector<uint64_t> merchants(lists::kMerchants.size(), 0);
  for (std::size_t row = 0; row < Payments().size(); ++row) {
    const auto code = static_cast<std::size_t>(Payments()[Column::kMccCode].numbers[row]);
    const auto name = static_cast<std::size_t>(Payments()[Column::kMerchantName].numbers[row]);
    ASSERT_EQ(lists::kMerchants[name].category, lists::kMerchantCategories[code].code);
    ASSERT_EQ(Payments()[Column::kMerchantCategory].numbers[row], static_cast<int64_t>(code));
    ASSERT_EQ(Payments()[Column::kMccRiskLevel].numbers[row],
              static_cast<int64_t>(lists::kMerchantCategories[code].risk));
    ++merchants[name];
  }
  const lists::Slice supermarkets = lists::kMerchantsOfCategory[0];
  ExpectUniform(std::vector<uint64_t>(merchants.begin(), merchants.begin() + supermarkets.count));
}

TEST(ClassicTransactions, IdsAndAddressesMatchTheirFormats) {
  std::set<std::string> first_numbers;
  for (std::size_t row = 0; row < Payments().size(); ++row) {
    const std::string& merchant = Payments()[Column::kMerchantId].texts[row];
    const int number = std::stoi(merchant.substr(6));
    ASSERT_TRUE(merchant.starts_with("MERCH_") && merchant.size() == 12) << merchant;
    ASSERT_TRUE(number >= 1 && number <= 100'000) << merchant;

    const std::string& ip = Payments()[Column::kIpAddress].texts[row];
    ASSERT_EQ(std::ranges::count(ip, '.'), 3) << ip;
    std::size_t begin = 0;
    for (int part = 0; part < 4; ++part) {
      const std::size_t end = std::min(ip.find('.', begin), ip.size());
      const std::string text = ip.substr(begin, end - begin);
      ASSERT_LE(std::stoi(text), 255) << ip;
      ASSERT_EQ(text, std::to_string(std::stoi(text))) << ip;
      if (part == 0) first_numbers.insert(text);
      begin = end + 1;
    }
  }
  EXPECT_EQ(first_numbers.size(), 15u);
  EXPECT_TRUE(first_numbers.contains("177"));
}

TEST(ClassicTransactions, NullsDependOnTheKindOfPayment) {
  const Rows& rows = Payments();
  const auto hexadecimal = [](const std::string& text, std::size_t size) {
    return text.size() == size && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const int64_t type = rows[Column::kType].numbers[row];
    const bool pix = type == 0;
    const bool card = type == 1 || type == 2;
    for (const Column column :
         {Column::kCardNumberHash, Column::kCardBrand, Column::kCardType, Column::kInstallments,
          Column::kCardEntry, Column::kCvvValidated, Column::kAuth3ds}) {
      ASSERT_EQ(rows[column].null[row], !card);
    }
    ASSERT_EQ(rows[Column::kPixKeyType].null[row], !pix);
    ASSERT_EQ(rows[Column::kPixKeyDestination].null[row], !pix);
    const bool bank = pix || type == 3 || type == 6 || type == 8;
    ASSERT_EQ(rows[Column::kDestinationBank].null[row], !bank);
    ASSERT_EQ(rows[Column::kRefusalReason].null[row], rows[Column::kStatus].numbers[row] != 1);
    ASSERT_EQ(rows[Column::kFraudType].null[row], rows[Column::kIsFraud].numbers[row] == 0);
    if (card) {
      ASSERT_TRUE(hexadecimal(rows[Column::kCardNumberHash].texts[row], 16));
      ASSERT_EQ(rows[Column::kCardType].numbers[row], type - 1);
      if (type == 2) {
        ASSERT_EQ(rows[Column::kInstallments].numbers[row], 1);
      }
    }
    if (pix) {
      ASSERT_TRUE(hexadecimal(rows[Column::kPixKeyDestination].texts[row], 32));
    }
  }
}

TEST(ClassicTransactions, CardsAndReceiversFollowTheWeights) {
  const Rows& rows = Payments();
  ExpectFits(classic::CountsOf(rows[Column::kCardBrand], 5), lists::kCardBrandWeights);
  ExpectFits(classic::CountsOf(rows[Column::kCardEntry], 4), lists::kCardEntryWeights);
  ExpectFits(classic::CountsOf(rows[Column::kPixKeyType], 5), lists::kPixKeyTypeWeights);
  ExpectFits(classic::CountsOf(rows[Column::kDestinationBank], 24),
             lists::MemberOf<uint32_t>(lists::kBanks, &lists::Bank::weight));
  ExpectFits(classic::CountsOf(rows[Column::kRefusalReason], 8), std::vector<uint32_t>(8, 1));
  std::vector<uint64_t> installments(8, 0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[Column::kType].numbers[row] != 1) continue;
    const auto found =
        std::ranges::find(lists::kInstallments, rows[Column::kInstallments].numbers[row]);
    ++installments.at(static_cast<std::size_t>(found - lists::kInstallments.begin()));
  }
  ExpectFits(installments, lists::kInstallmentWeights);
  const auto cvv = classic::CountsOf(rows[Column::kCvvValidated], 2);
  ExpectShare(cvv[1], cvv[0] + cvv[1], 95);
  const auto secure = classic::CountsOf(rows[Column::kAuth3ds], 2);
  ExpectShare(secure[1], secure[0] + secure[1], 70);
}

TEST(ClassicTransactions, PositionIsNearTheStatesCapital) {
  const Rows& customers = TestRows().Of(kCustomers);
  std::map<std::string, std::size_t> states;
  for (std::size_t row = 0; row < customers.size(); ++row) {
    states[customers[CustomersColumn::kCustomerId].texts[row]] =
        static_cast<std::size_t>(customers[CustomersColumn::kAddressState].numbers[row]);
  }
  const auto at_home = [&](std::size_t row) {
    const lists::State& state = lists::kStates[states[Payments()[Column::kCustomerId].texts[row]]];
    return std::abs(Payments()[Column::kGeolocationLat].numbers[row] - state.latitude) <= 500'000 &&
           std::abs(Payments()[Column::kGeolocationLon].numbers[row] - state.longitude) <= 500'000;
  };
  Range offsets;
  ForEach(false, [&](std::size_t row) {
    ASSERT_TRUE(at_home(row));
    offsets.Add(Payments()[Column::kGeolocationLat].numbers[row] -
                lists::kStates[states[Payments()[Column::kCustomerId].texts[row]]].latitude);
  });
  ExpectUniform(offsets, -500'000, 500'000);
  std::size_t frauds = 0;
  std::size_t away = 0;
  ForEach(true, [&](std::size_t row) {
    ++frauds;
    away += at_home(row) ? 0 : 1;
  });
  // 30 % are redrawn, some of them in the same state.
  ExpectShare(away, frauds, 27);
}

TEST(ClassicTransactions, FraudAmountsAreUniformByKind) {
  Range dear;
  Range taken;
  Range others;
  ForEach(true, [&](std::size_t row) {
    const int64_t amount = Payments()[Column::kAmount].numbers[row];
    switch (static_cast<FraudType>(Payments()[Column::kFraudType].numbers[row])) {
      case FraudType::kMoneyLaundering:
      case FraudType::kTriangulation:
        return dear.Add(amount);
      case FraudType::kClonedCard:
      case FraudType::kAccountTakeover:
        return taken.Add(amount);
      default:
        return others.Add(amount);
    }
  });
  EXPECT_GE(dear.min, 500'000);
  EXPECT_LE(dear.max, 5'000'000);
  ExpectUniform(taken, 50'000, 1'000'000);
  ExpectUniform(others, 20'000, 500'000);
  // Measured in the original: 4,996 BRL.
  EXPECT_NEAR(RangeOf(Column::kAmount, true).mean, 499'600, 50'000);
}

TEST(ClassicTransactions, HonestAmountsMatchTheOriginal) {
  std::vector<int64_t> amounts;
  ForEach(false,
          [&](std::size_t row) { amounts.push_back(Payments()[Column::kAmount].numbers[row]); });
  std::ranges::sort(amounts);
  EXPECT_GE(amounts.front(), 1'000);
  EXPECT_LE(amounts.back(), 1'000'000);
  // Measured in the original: mean 323, median 142 BRL.
  EXPECT_NEAR(RangeOf(Column::kAmount, false).mean, 32'300, 3'000);
  EXPECT_NEAR(static_cast<double>(amounts[amounts.size() / 2]), 14'200, 1'400);
}

TEST(ClassicTransactions, HistoryIsNoise) {
  const Rows& rows = Payments();
  const auto present = [&](Column column) {
    return static_cast<std::size_t>(std::ranges::count(rows[column].null, false));
  };
  ExpectShare(present(Column::kDistanceFromLastTxnKm), rows.size(), 50);
  ExpectShare(present(Column::kTimeSinceLastTxnMin), rows.size(), 70);
  for (const bool fraud : {false, true}) {
    ExpectUniform(RangeOf(Column::kDistanceFromLastTxnKm, fraud), 0, 10'000);
    ExpectUniform(RangeOf(Column::kTimeSinceLastTxnMin, fraud), 1, 1'440);
  }
  ExpectUniform(RangeOf(Column::kTransactionsLast24h, false), 1, 15);
  ExpectUniform(RangeOf(Column::kTransactionsLast24h, true), 5, 50);
  ExpectUniform(RangeOf(Column::kAccumulatedAmount24h, false), 5'000, 500'000);
  ExpectUniform(RangeOf(Column::kAccumulatedAmount24h, true), 200'000, 5'000'000);
}

TEST(ClassicTransactions, OutcomeAndScoreLeakTheLabel) {
  ExpectFits(CountsOf(Column::kStatus, 4, false), lists::kHonestStatusWeights);
  ExpectFits(CountsOf(Column::kStatus, 4, true), lists::kFraudStatusWeights);
  const auto honest = CountsOf(Column::kNewBeneficiary, 2, false);
  const auto fraud = CountsOf(Column::kNewBeneficiary, 2, true);
  ExpectShare(honest[1], honest[0] + honest[1], 15);
  ExpectShare(fraud[1], fraud[0] + fraud[1], 70);
  ExpectUniform(RangeOf(Column::kFraudScore, false), 0, 3'500);
  ExpectUniform(RangeOf(Column::kFraudScore, true), 6'500, 10'000);
  ExpectFits(CountsOf(Column::kFraudType, 13, true), lists::kFraudTypeWeights);
}

}  // namespace transactions_test
}  // namespace reveza::fraudgen::classic
