// At difficulty 0 overlap each built-in scenario shows the traits listed in docs/fraud-model.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace built_in_scenarios_test {

Parameters Open() {
  Parameters parameters;
  parameters.rows = 200'000;
  parameters.customers = 2'000;
  parameters.frauds = {.billionths = 60'000'000};
  parameters.difficulty = 0;
  parameters.difficulty_scale.overlap_thousandths.min = 0;
  parameters.difficulty_scale.missed.min = 0;
  return parameters;
}

Collector& OpenRows() {
  static Collector collector = Everything(*ModelOf(Open()));
  return collector;
}

// Returns the rows of a kind of fraud, without transfers of chains.
std::vector<std::size_t> RowsOf(std::string_view name, std::size_t min = 100) {
  const Collected& rows = OpenRows()[kTransactions];
  std::vector<std::size_t> found;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (rows.Text("fraud_type", row) != name) continue;
    const auto role = static_cast<FraudRole>(rows.Number("fraud_role", row));
    if (role != FraudRole::kMuleHop && role != FraudRole::kCashOut) found.push_back(row);
  }
  EXPECT_GT(found.size(), min) << name;
  return found;
}

Kind KindAt(std::size_t row) {
  return static_cast<Kind>(OpenRows()[kTransactions].Number("type", row));
}
Channel ChannelAt(std::size_t row) {
  return static_cast<Channel>(OpenRows()[kTransactions].Number("channel", row));
}
int64_t AmountAt(std::size_t row) { return OpenRows()[kTransactions].Number("amount", row); }
int64_t HourAt(std::size_t row) {
  return OpenRows()[kTransactions].Number("timestamp", row) % kDay / kHour;
}

// Returns the percentage of rows for which `holds` is true.
template <typename Holds>
int64_t PercentOf(const std::vector<std::size_t>& rows, Holds holds) {
  return std::ranges::count_if(rows, holds) * 100 / static_cast<int64_t>(rows.size());
}

// Maps customers to a value from a table.
template <typename Value>
std::map<std::string, Value> OfCustomers(const Table& table, std::string_view column,
                                         Value (*value)(const Collected&, std::string_view,
                                                        std::size_t)) {
  const Collected& rows = OpenRows()[table];
  std::map<std::string, Value> all;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    all[rows.Text("customer_id", row)] = value(rows, column, row);
  }
  return all;
}

// Returns the role of the row's account, 0 if honest.
int64_t RoleAt(std::size_t row) {
  static const auto kRoles = OfCustomers<int64_t>(
      kAccounts, "fraud_role", [](const Collected& rows, std::string_view column, std::size_t i) {
        return rows.Has(column, i) ? rows.Number(column, i) + 1 : int64_t{0};
      });
  return kRoles.at(OpenRows()[kTransactions].Text("customer_id", row));
}
constexpr int64_t kMuleRole = 1;
constexpr int64_t kInventedRole = 2;

// Returns the age of the row's device with its account.
int64_t AgeOfDevice(std::size_t row) {
  static const auto kFirst = [] {
    const Collected& devices = OpenRows()[kDevices];
    std::map<std::pair<std::string, std::string>, int64_t> first;
    for (std::size_t i = 0; i < devices.rows; ++i) {
      first[{devices.Text("customer_id", i), devices.Text("device_id", i)}] =
          devices.Number("first_use", i);
    }
    return first;
  }();
  const Collected& rows = OpenRows()[kTransactions];
  return rows.Number("timestamp", row) -
         kFirst.at({rows.Text("customer_id", row), rows.Text("device_id", row)});
}

bool IsByDevice(std::size_t row) { return OpenRows()[kTransactions].Has("device_id", row); }

TEST(BuiltInScenarios, KindsOfPaymentMatchTheScenario) {
  const Parameters parameters = Open();
  for (const Scenario& scenario : parameters.scenarios) {
    for (const std::size_t row : RowsOf(scenario.name, 20)) {
      ASSERT_GT(scenario.kinds[static_cast<std::size_t>(KindAt(row))], 0u) << scenario.name;
    }
  }
}

TEST(BuiltInScenarios, SocialEngineeringUsesOwnDeviceInOfficeHours) {
  const auto rows = RowsOf("ENGENHARIA_SOCIAL");
  static const auto kIncomes =
      OfCustomers<int64_t>(kCustomers, "monthly_income",
                           [](const Collected& all, std::string_view column, std::size_t i) {
                             return all.Number(column, i);
                           });
  for (const std::size_t row : rows) {
    EXPECT_EQ(OpenRows()[kTransactions].Number("fraud_role", row),
              static_cast<int64_t>(FraudRole::kVictim));
    const int64_t income = kIncomes.at(OpenRows()[kTransactions].Text("customer_id", row));
    ASSERT_LE(AmountAt(row), std::max<int64_t>(income * 351 / 1'000, 1'000));
  }
  EXPECT_GT(PercentOf(rows, [](std::size_t row) { return HourAt(row) >= 7 && HourAt(row) <= 18; }),
            90);
  EXPECT_GT(PercentOf(rows, [](std::size_t row) { return AgeOfDevice(row) > 3 * kDay; }), 85);
}

TEST(BuiltInScenarios, AccountTakeoverUsesNewDeviceBelowItsLimit) {
  const auto rows = RowsOf("CONTA_TOMADA");
  EXPECT_GT(PercentOf(rows, [](std::size_t row) { return AgeOfDevice(row) < 3 * kDay; }), 85);
  const auto fresh = [](std::size_t row) { return AgeOfDevice(row) < 3 * kDay; };
  for (const std::size_t row : rows) {
    const bool approved = OpenRows()[kTransactions].Number("status", row) ==
                          static_cast<int64_t>(PaymentStatus::kApproved);
    if (fresh(row) && approved) {
      ASSERT_LE(AmountAt(row), 20'000);
    }
  }
  EXPECT_GT(PercentOf(rows, [](std::size_t row) { return AmountAt(row) >= 9'000; }), 75);
}

// As of customers, or a TED at night would be fraud.
TEST(BuiltInScenarios, TedsArePaidInBankingHours) {
  const Collected& rows = OpenRows()[kTransactions];
  std::array<int, 2> count{};
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (KindAt(row) != Kind::kTed) continue;
    ASSERT_TRUE(IsBankingTime(rows.Number("timestamp", row))) << rows.Text("transaction_id", row);
    ++count[static_cast<std::size_t>(rows.Number("is_fraud", row))];
  }
  EXPECT_GT(count[0], 100);
  EXPECT_GT(count[1], 20);
}

TEST(BuiltInScenarios, ClonedCardIsTestedFirst) {
  const Collected& payments = OpenRows()[kTransactions];
  int tests = 0;
  std::vector<std::size_t> bought;
  for (const std::size_t row : RowsOf("CARTAO_CLONADO")) {
    if (static_cast<FraudRole>(payments.Number("fraud_role", row)) == FraudRole::kTest) {
      ++tests;
      ASSERT_LT(AmountAt(row), 1'900) << "a few reais";
    } else {
      bought.push_back(row);
      const auto entry = static_cast<CardEntry>(payments.Number("card_entry", row));
      ASSERT_TRUE(entry == CardEntry::kMagnetic || entry == CardEntry::kManual);
    }
  }
  EXPECT_GT(tests, static_cast<int>(bought.size()) / 4);
  EXPECT_GT(PercentOf(bought, [](std::size_t row) { return AmountAt(row) > 6'000; }), 85);
}

TEST(BuiltInScenarios, FalseIdentityUsesSyntheticAccounts) {
  const auto rows = RowsOf("IDENTIDADE_FALSA");
  EXPECT_EQ(PercentOf(rows, [](std::size_t row) { return RoleAt(row) == kInventedRole; }), 100);
  EXPECT_GT(PercentOf(rows, [](std::size_t row) { return KindAt(row) == Kind::kCreditCard; }), 50);
}

TEST(BuiltInScenarios, WhatsappScamSendsRoundSums) {
  const auto rows = RowsOf("GOLPE_WHATSAPP");
  EXPECT_GT(PercentOf(rows,
                      [](std::size_t row) {
                        return AmountAt(row) >= 25'000 && AmountAt(row) <= 300'000;
                      }),
            80);
  EXPECT_GT(PercentOf(rows, [](std::size_t row) { return AmountAt(row) % 500 == 0; }), 55);
}

TEST(BuiltInScenarios, PhishingUsesTheBrowserOfANewDevice) {
  auto rows = RowsOf("PHISHING");
  std::erase_if(rows, [](std::size_t row) { return !IsByDevice(row); });
  EXPECT_EQ(PercentOf(rows, [](std::size_t row) { return ChannelAt(row) == Channel::kWebBanking; }),
            100);
  EXPECT_GT(PercentOf(rows, [](std::size_t row) { return AgeOfDevice(row) < 3 * kDay; }), 85);
}

TEST(BuiltInScenarios, FriendlyFraudBuysCheapGoodsOnline) {
  for (const std::size_t row : RowsOf("FRAUDE_AMIGAVEL")) {
    const Channel channel = ChannelAt(row);
    ASSERT_TRUE(channel == Channel::kOnlineShop || channel == Channel::kStandingOrder);
    ASSERT_LE(AmountAt(row), 50'100);
  }
}

// Only mules do it.
TEST(BuiltInScenarios, StructuringStaysBelowTheLimits) {
  const auto rows = RowsOf("LAVAGEM_DINHEIRO");
  for (const std::size_t row : rows) {
    ASSERT_EQ(RoleAt(row), kMuleRole);
    ASSERT_LT(AmountAt(row), 100'000);
  }
  EXPECT_GT(PercentOf(rows, [](std::size_t row) { return AmountAt(row) >= 90'000; }), 60);
}

TEST(BuiltInScenarios, TriangulationChargesManyCardsAtOneShop) {
  const Collected& payments = OpenRows()[kTransactions];
  std::set<std::string> shops;
  std::set<std::string> victims;
  for (const std::size_t row : RowsOf("TRIANGULACAO")) {
    ASSERT_EQ(ChannelAt(row), Channel::kOnlineShop);
    ASSERT_EQ(static_cast<CardEntry>(payments.Number("card_entry", row)), CardEntry::kManual);
    shops.insert(payments.Text("merchant_id", row));
    victims.insert(payments.Text("customer_id", row));
  }
  EXPECT_LE(shops.size(), 24u);
  EXPECT_GT(victims.size(), 3 * shops.size());
}

TEST(BuiltInScenarios, SimSwapPrecedesTheTakeover) {
  const Collected& changes = OpenRows()[kChanges];
  std::set<std::pair<std::string, int64_t>> moved;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    if (static_cast<ChangeKind>(changes.Number("change", row)) != ChangeKind::kSimChanged) continue;
    moved.emplace(changes.Text("customer_id", row), changes.Number("changed_at", row));
  }
  const Collected& payments = OpenRows()[kTransactions];
  int first = 0;
  int known = 0;
  for (const std::size_t row : RowsOf("SIM_SWAP")) {
    if (!IsByDevice(row) || AgeOfDevice(row) > 4 * kHour) continue;
    ++first;
    known += moved.contains({payments.Text("customer_id", row),
                             payments.Number("timestamp", row) - AgeOfDevice(row)})
                 ? 1
                 : 0;
  }
  EXPECT_GT(first, 20);
  // Some devices were added by another fraud of the same fraudster.
  EXPECT_GT(known * 10, first * 7);
}

TEST(BuiltInScenarios, FalseQrCodeTakesSmallSums) {
  const auto rows = RowsOf("QR_CODE_FALSO");
  const Collected& payments = OpenRows()[kTransactions];
  for (const std::size_t row : rows) ASSERT_LE(AmountAt(row), 25'000);
  EXPECT_GT(
      PercentOf(rows,
                [&](std::size_t row) { return payments.Number("new_beneficiary", row) != 0; }),
      80);
}

TEST(BuiltInScenarios, MulesForwardWithinMinutesLessAFee) {
  const ChainParameters chains = Open().chains;
  const Collected& rings = OpenRows()[kRings];
  const Collected& payments = OpenRows()[kTransactions];
  std::map<std::string, std::size_t> row_of;
  for (std::size_t row = 0; row < payments.rows; ++row) {
    row_of[payments.Text("transaction_id", row)] = row;
  }
  struct Step {
    int64_t last = 0;
    int64_t amount = 0;
  };
  std::map<std::string, std::map<int64_t, Step>> all;
  for (std::size_t i = 0; i < rings.rows; ++i) {
    if (rings.Number("pattern", i) != static_cast<int64_t>(RingPattern::kMuleChain)) continue;
    const std::size_t row = row_of.at(rings.Text("transaction_id", i));
    Step& step = all[rings.Text("ring_id", i)][rings.Number("hop", i)];
    step.last = std::max(step.last, payments.Number("timestamp", row));
    step.amount += AmountAt(row);
  }
  ASSERT_GT(all.size(), 100u);
  for (const auto& [ring, steps] : all) {
    ASSERT_GE(steps.size(), chains.hops.min + 1);
    ASSERT_LE(steps.size(), chains.hops.max + 1);
    for (auto step = std::next(steps.begin()); step != steps.end(); ++step) {
      const Step& before = std::prev(step)->second;
      const int64_t minutes = (step->second.last - before.last) / kMinute;
      ASSERT_GE(minutes, chains.delay_minutes.min);
      ASSERT_LE(minutes, chains.delay_minutes.max);
      ASSERT_LT(step->second.amount, before.amount);
      // Fee, rounding to tens, and what a cash machine cannot pay out.
      ASSERT_GE(step->second.amount * 1'000,
                before.amount * (1'000 - chains.fee_thousandths.max) - 2'000'000);
    }
  }
}

// The median delay and the share of reports match the scenario.
TEST(BuiltInScenarios, ReportDelaysMatchTheScenario) {
  const Parameters parameters = Open();
  const Collected& payments = OpenRows()[kTransactions];
  for (const Scenario& scenario : parameters.scenarios) {
    std::vector<int64_t> delays;
    const auto rows = RowsOf(scenario.name, 20);
    if (rows.size() < 100) continue;  // too few for a median
    for (const std::size_t row : rows) {
      if (!payments.Has("fraud_reported_at", row)) continue;
      delays.push_back(payments.Number("fraud_reported_at", row) -
                       payments.Number("timestamp", row));
    }
    std::ranges::sort(delays);
    const auto median = static_cast<double>(delays[delays.size() / 2]) / static_cast<double>(kHour);
    EXPECT_GT(median, 0.75 * scenario.report_hours) << scenario.name;
    EXPECT_LT(median, 1.33 * scenario.report_hours) << scenario.name;
    EXPECT_NEAR(static_cast<double>(delays.size()) / static_cast<double>(rows.size()),
                scenario.reported_thousandths / 1e3, 0.08)
        << scenario.name;
  }
}

}  // namespace built_in_scenarios_test
}  // namespace reveza::fraudgen::coherent
