#include "fraudgen/model/coherent/bank.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/coherent/testing_collector.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::coherent {
namespace settlements_test {

constexpr int64_t kFriday = 20'091;  // 2025-01-03

Row Paid(Kind kind, PaymentStatus status) {
  Row row;
  row.kind = kind;
  row.status = status;
  row.amount = 20'000;
  row.time = kFriday * kDay + 11 * kHour;
  return row;
}

std::map<SettlementReason, int> ReasonsOf(const Row& row, bool inside, int rows) {
  std::map<SettlementReason, int> reasons;
  for (int i = 0; i < rows; ++i) {
    Draws draws(Mix(static_cast<uint64_t>(i)));
    const auto settlement = SettlementOf(Outcomes(), row, inside, draws);
    if (!settlement) continue;
    EXPECT_GT(settlement->time, row.time);
    EXPECT_GE(settlement->returned, 0);
    EXPECT_LE(settlement->returned, row.amount);
    if (settlement->outcome == SettlementOutcome::kSettled) {
      EXPECT_EQ(settlement->returned, 0);
    } else {
      EXPECT_GT(settlement->returned, 0);
      ++reasons[settlement->reason];
    }
  }
  return reasons;
}

TEST(Settlements, BoletosClearOnTheNextBankingDay) {
  ASSERT_EQ(WeekdayOf(kFriday), Weekday::kFriday);
  for (uint64_t i = 0; i < 200; ++i) {
    Draws draws(Mix(i));
    const auto boleto =
        SettlementOf(Outcomes(), Paid(Kind::kBoleto, PaymentStatus::kPending), false, draws);
    ASSERT_TRUE(boleto);
    EXPECT_EQ(boleto->time / kDay, kFriday + 3) << "on Monday";
    const auto transfer =
        SettlementOf(Outcomes(), Paid(Kind::kTed, PaymentStatus::kPending), false, draws);
    ASSERT_TRUE(transfer);
    EXPECT_EQ(transfer->time / kDay, kFriday);
  }
}

TEST(Settlements, PendingPaymentsSettleOrAreReturnedInFull) {
  const Row row = Paid(Kind::kTed, PaymentStatus::kPending);
  const auto reasons = ReasonsOf(row, false, 10'000);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_NEAR(reasons.at(SettlementReason::kReceiverNotFound), 400, 80);
  EXPECT_TRUE(ReasonsOf(row, true, 10'000).empty()) << "the receiver exists";
}

TEST(Settlements, FewApprovedPaymentsAreReversed) {
  const auto card = ReasonsOf(Paid(Kind::kDebitCard, PaymentStatus::kApproved), false, 100'000);
  EXPECT_NEAR(card.at(SettlementReason::kShopCancelled), 400, 80);
  EXPECT_NEAR(card.at(SettlementReason::kDuplicateCharge), 100, 40);
  const Row pix = Paid(Kind::kPix, PaymentStatus::kApproved);
  EXPECT_NEAR(ReasonsOf(pix, false, 100'000).at(SettlementReason::kReceiverReturned), 300, 70);
  EXPECT_TRUE(ReasonsOf(pix, true, 100'000).empty()) << "receivers in the block return nothing";
  const Row boleto = Paid(Kind::kBoleto, PaymentStatus::kApproved);
  EXPECT_TRUE(ReasonsOf(boleto, false, 100'000).empty());
}

TEST(Settlements, DeclinedOrReportedPaymentsAreNotReversed) {
  EXPECT_TRUE(ReasonsOf(Paid(Kind::kDebitCard, PaymentStatus::kDeclined), false, 100'000).empty());
  Row reported = Paid(Kind::kDebitCard, PaymentStatus::kApproved);
  reported.reported_at = reported.time + kDay;
  EXPECT_TRUE(ReasonsOf(reported, false, 100'000).empty());
  EXPECT_TRUE(IsDisputed(reported));
}

TEST(Settlements, ReturnsAreInTheBalance) {
  Parameters parameters;
  parameters.rows = 30'000;
  parameters.rows_per_block = 15'000;
  parameters.customers = 60;
  const auto model = CoherentModel::Make(parameters);
  ASSERT_TRUE(model);
  Collector collector;
  for (uint64_t block = 0; block < (*model)->blocks(); ++block) {
    ASSERT_TRUE((*model)->Make(block, (*model)->tables(), collector));
  }
  const Collected& rows = collector[kTransactions];
  const Collected& settlements = collector[kSettlements];
  const Collected& disputes = collector[kDisputes];
  std::map<std::string, std::pair<int64_t, int64_t>> back;  // when, how much
  std::map<std::string, SettlementOutcome> outcomes;
  for (std::size_t i = 0; i < settlements.rows; ++i) {
    const std::string& id = settlements.Text("transaction_id", i);
    EXPECT_TRUE(
        outcomes.emplace(id, static_cast<SettlementOutcome>(settlements.Number("outcome", i)))
            .second);
    back[id] = {settlements.Number("settled_at", i), settlements.Number("returned_amount", i)};
  }
  for (std::size_t i = 0; i < disputes.rows; ++i) {
    const std::string& id = disputes.Text("transaction_id", i);
    EXPECT_FALSE(outcomes.contains(id)) << "returned twice";
    back[id] = {disputes.Number("decided_at", i), disputes.Number("refunded_amount", i)};
  }
  const auto status_of = [&](std::size_t row) {
    return static_cast<PaymentStatus>(rows.Number("status", row));
  };
  int pending = 0;
  int refunded = 0;
  int seen = 0;
  std::map<std::string, std::vector<std::size_t>> histories;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    histories[rows.Text("customer_id", row)].push_back(row);
  }
  for (const auto& [customer, history] : histories) {
    for (std::size_t i = 0; i < history.size(); ++i) {
      const std::size_t row = history[i];
      const std::string& id = rows.Text("transaction_id", row);
      const PaymentStatus status = status_of(row);
      const auto outcome = outcomes.find(id);
      if (status == PaymentStatus::kPending) {
        ++pending;
        ASSERT_NE(outcome, outcomes.end());
        ASSERT_NE(outcome->second, SettlementOutcome::kReversed);
      } else if (outcome != outcomes.end()) {
        ASSERT_EQ(status, PaymentStatus::kApproved);
        ASSERT_EQ(outcome->second, SettlementOutcome::kReversed);
      }
      const auto given = back.find(id);
      if (given == back.end() || given->second.second == 0) continue;
      ++refunded;
      ASSERT_GT(given->second.first, rows.Number("timestamp", row));
      if (static_cast<Kind>(rows.Number("type", row)) == Kind::kCreditCard) continue;
      // The customer's first payment afterwards, if the previous one was recent and no salary,
      // which arrives at night, came in between.
      for (std::size_t k = i + 1; k < history.size(); ++k) {
        const int64_t time = rows.Number("timestamp", history[k]);
        if (time < given->second.first) continue;
        const int64_t before = rows.Number("timestamp", history[k - 1]);
        if (before / kDay != time / kDay || before % kDay < 5 * kHour) break;
        const PaymentStatus next = status_of(history[k]);
        const bool spends = (next == PaymentStatus::kApproved || next == PaymentStatus::kPending) &&
                            static_cast<Kind>(rows.Number("type", history[k])) != Kind::kCreditCard;
        const int64_t spent = spends ? rows.Number("amount", history[k]) : 0;
        ASSERT_GE(rows.Number("balance_after", history[k]),
                  rows.Number("balance_after", history[k - 1]) + given->second.second - spent);
        ++seen;
        break;
      }
    }
  }
  EXPECT_GT(pending, 80);
  EXPECT_GT(refunded, 100);
  EXPECT_GT(seen, 10);
}

}  // namespace settlements_test
}  // namespace reveza::fraudgen::coherent
