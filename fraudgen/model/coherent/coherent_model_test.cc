#include "fraudgen/model/coherent/coherent_model.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "fraudgen/model/coherent/honest.h"
#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/testing_collector.h"
#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace coherent_model_test {

std::map<std::string, std::vector<std::size_t>> RowsOfCustomers(const Collected& rows) {
  std::map<std::string, std::vector<std::size_t>> all;
  for (std::size_t row = 0; row < rows.rows; ++row)
    all[rows.Text("customer_id", row)].push_back(row);
  return all;
}

bool IsPaidRow(const Collected& rows, std::size_t row) {
  const auto status = static_cast<PaymentStatus>(rows.Number("status", row));
  return status == PaymentStatus::kApproved || status == PaymentStatus::kPending;
}

TEST(CoherentModel, RowsAndFraudsAreExact) {
  const auto model = ModelOf(Small());
  ASSERT_EQ(model->blocks(), 3u);
  for (uint64_t block = 0; block < 3; ++block) {
    Collector collector;
    ASSERT_TRUE(model->Make(block, model->tables(), collector));
    const Collected& rows = collector[kTransactions];
    EXPECT_EQ(rows.rows, model->RowsOf(kTransactions, block));
    EXPECT_EQ(rows.rows, kBlockRows);
    const auto& frauds = rows["is_fraud"].numbers;
    EXPECT_EQ(std::count(frauds.begin(), frauds.end(), 1), 400);
    EXPECT_EQ(collector[kCustomers].rows, model->RowsOf(kCustomers, block));
    EXPECT_EQ(collector[kAccounts].rows, 150u);
  }
}

// Larger batches of texts would dominate the memory.
TEST(CoherentModel, SmallTablesAreSentInSmallBatches) {
  class Largest : public BatchSink {
   public:
    Status Put(const Batch& batch) override {
      std::size_t& max = most_[batch.table().name];
      max = std::max(max, batch.rows());
      return {};
    }
    std::map<std::string_view, std::size_t> most_;
  };
  Parameters parameters = Small();
  parameters.rows_per_block = parameters.rows;
  const auto model = ModelOf(parameters);
  Largest largest;
  ASSERT_TRUE(model->Make(0, model->tables(), largest));
  EXPECT_EQ(largest.most_[kChanges.name], 512u);
  for (const Table* table : {&kSettlements, &kRings, &kDrivers}) {
    EXPECT_LE(largest.most_[table->name], 512u) << table->name;
  }
  EXPECT_EQ(largest.most_[kTransactions.name], 256u);
}

TEST(CoherentModel, OddSizesAreExact) {
  for (const auto& [rows, customers, per_block, frauds] :
       {std::tuple{1'001u, 7u, 100u, 33'000'000u},
        {1u, 1u, 1u, 0u},
        {3u, 1'000u, 2u, 500'000'000u},
        {5'000u, 1u, 5'000u, 20'000'000u}}) {
    Parameters parameters = Small();
    parameters.rows = rows;
    parameters.customers = customers;
    parameters.rows_per_block = per_block;
    parameters.frauds = {.billionths = frauds};
    const auto model = ModelOf(parameters);
    Collector collector = Everything(*model);
    EXPECT_EQ(collector[kTransactions].rows, rows);
    const auto& labels = collector[kTransactions]["is_fraud"].numbers;
    EXPECT_EQ(static_cast<uint64_t>(std::count(labels.begin(), labels.end(), 1)),
              model->world().total_frauds());
  }
}

TEST(CoherentModel, BlocksDoNotDependOnTheInstanceOrOtherTables) {
  const auto model = ModelOf(Small());
  const auto again = ModelOf(Small());
  Collector first;
  Collector second;
  for (const uint64_t block : {2, 0, 2}) ASSERT_TRUE(model->Make(block, model->tables(), first));
  for (const uint64_t block : {2, 0, 2}) ASSERT_TRUE(again->Make(block, again->tables(), second));
  EXPECT_TRUE(first == second);
  for (const Table* table : model->tables()) {
    Collector alone;
    for (const uint64_t block : {2, 0, 2}) {
      ASSERT_TRUE(model->Make(block, std::span(&table, 1), alone));
    }
    EXPECT_TRUE(alone[*table] == first[*table]) << table->name;
    EXPECT_GT(alone[*table].rows, 0u) << table->name;
  }
}

TEST(CoherentModel, SeedsGiveDifferentRows) {
  Parameters parameters = Small();
  parameters.seed = 43;
  const auto model = ModelOf(parameters);
  Collector other;
  ASSERT_TRUE(model->Make(0, model->tables(), other));
  EXPECT_NE(other[kTransactions].Text("transaction_id", 0),
            SmallRows()[kTransactions].Text("transaction_id", 0));
  EXPECT_NE(other[kTransactions].Number("timestamp", 0),
            SmallRows()[kTransactions].Number("timestamp", 0));
}

TEST(CoherentModel, BlocksAreInTimeOrderWithUniqueIds) {
  const Collected& rows = SmallRows()[kTransactions];
  std::set<std::string> ids;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    EXPECT_TRUE(ids.insert(rows.Text("transaction_id", row)).second);
    if (row % kBlockRows != 0) {
      ASSERT_GE(rows.Number("timestamp", row), rows.Number("timestamp", row - 1));
    }
  }
  for (const auto& [table, column] : {std::pair{&kCustomers, "customer_id"},
                                      {&kCustomers, "cpf"},
                                      {&kAccounts, "account_id"},
                                      {&kAccounts, "account_number"},
                                      {&kAlerts, "alert_id"},
                                      {&kDisputes, "dispute_id"}}) {
    const auto& texts = SmallRows()[*table][column].texts;
    EXPECT_EQ(std::set(texts.begin(), texts.end()).size(), texts.size()) << column;
  }
}

TEST(CoherentModel, NoPaymentsBeforeTheAccountIsOpened) {
  const Collected& accounts = SmallRows()[kAccounts];
  std::map<std::string, int64_t> opened;
  std::map<std::string, int64_t> account_opened;
  for (std::size_t row = 0; row < accounts.rows; ++row) {
    opened[accounts.Text("customer_id", row)] = accounts.Number("opened_at", row);
    account_opened[accounts.Text("account_id", row)] = accounts.Number("opened_at", row);
  }
  const Collected& rows = SmallRows()[kTransactions];
  std::size_t inside = 0;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const int64_t time = rows.Number("timestamp", row);
    ASSERT_TRUE(opened.contains(rows.Text("customer_id", row)));
    EXPECT_GE(time, opened[rows.Text("customer_id", row)]);
    const auto receiver = account_opened.find(rows.Text("counterparty_account", row));
    if (receiver == account_opened.end()) continue;
    ++inside;
    EXPECT_GE(time, receiver->second) << "receiver's account not open yet";
  }
  EXPECT_GT(inside, 500u) << "some payments go to customers";
}

// Recomputed from the earlier rows of the table.
TEST(CoherentModel, DerivedColumnsMatchTheHistory) {
  const Collected& rows = SmallRows()[kTransactions];
  for (const auto& [customer, history] : RowsOfCustomers(rows)) {
    std::set<std::string> paid;
    int64_t last_time = 0;
    Place last_place;
    bool has_last_place = false;
    for (std::size_t i = 0; i < history.size(); ++i) {
      const std::size_t row = history[i];
      const int64_t time = rows.Number("timestamp", row);
      ASSERT_EQ(rows.Has("time_since_last_txn_min", row), i > 0);
      if (i > 0) {
        ASSERT_EQ(rows.Number("time_since_last_txn_min", row), (time - last_time) / kMinute);
      }
      int64_t count = 0;
      int64_t sum = 0;
      for (std::size_t k = i; k-- > 0 && rows.Number("timestamp", history[k]) > time - kDay;) {
        ++count;
        const auto status = static_cast<PaymentStatus>(rows.Number("status", history[k]));
        if (status == PaymentStatus::kApproved) sum += rows.Number("amount", history[k]);
      }
      ASSERT_EQ(rows.Number("transactions_last_24h", row), count);
      ASSERT_EQ(rows.Number("accumulated_amount_24h", row), sum);
      const Place place = {static_cast<int32_t>(rows.Number("geolocation_lat", row)),
                           static_cast<int32_t>(rows.Number("geolocation_lon", row))};
      const bool has_place = rows.Has("geolocation_lat", row);
      ASSERT_EQ(rows.Has("distance_from_last_txn_km", row), has_place && has_last_place);
      if (has_place && has_last_place) {
        ASSERT_EQ(rows.Number("distance_from_last_txn_km", row),
                  DistanceBetween(last_place, place));
      }
      const std::string& receiver = rows.Text("counterparty_account", row);
      if (rows.Number("new_beneficiary", row) != 0) {
        ASSERT_FALSE(receiver.empty());
        ASSERT_FALSE(paid.contains(receiver)) << "was paid before";
      }
      if (!receiver.empty() && IsPaidRow(rows, row)) paid.insert(receiver);
      last_time = time;
      if (has_place) {
        last_place = place;
        has_last_place = true;
      }
    }
  }
}

TEST(CoherentModel, BalancesAndLimitsHold) {
  const Collected& rows = SmallRows()[kTransactions];
  int limited = 0;
  for (const auto& [customer, history] : RowsOfCustomers(rows)) {
    std::map<int64_t, int64_t> nights;
    for (std::size_t i = 0; i < history.size(); ++i) {
      const std::size_t row = history[i];
      const int64_t time = rows.Number("timestamp", row);
      const int64_t amount = rows.Number("amount", row);
      const auto kind = static_cast<Kind>(rows.Number("type", row));
      const int64_t balance = rows.Number("balance_after", row);
      ASSERT_GE(balance, 0);
      const auto status = static_cast<PaymentStatus>(rows.Number("status", row));
      ASSERT_EQ(rows.Has("refusal_reason", row), status == PaymentStatus::kDeclined);
      if (status == PaymentStatus::kDeclined &&
          rows.Number("refusal_reason", row) == static_cast<int>(Refusal::kInsufficientBalance)) {
        ASSERT_GT(amount, balance) << "the balance would have sufficed";
      }
      if (kind != Kind::kPix || !IsPaidRow(rows, row)) continue;
      const int64_t hour = time % kDay / kHour;
      if (hour >= 20 || hour < 6) nights[(time - 6 * kHour) / kDay] += amount;
    }
    for (const auto& [night, amount] : nights) {
      ASSERT_LE(amount, 100'000);
      limited += amount > 80'000 ? 1 : 0;
    }
  }
  EXPECT_GT(limited, 0) << "the limit is never reached";
}

TEST(CoherentModel, DevicesBelongToTheCustomer) {
  const Collected& devices = SmallRows()[kDevices];
  std::map<std::pair<std::string, std::string>, int64_t> first_use;
  for (std::size_t row = 0; row < devices.rows; ++row) {
    const std::pair key(devices.Text("device_id", row), devices.Text("customer_id", row));
    EXPECT_TRUE(first_use.emplace(key, devices.Number("first_use", row)).second) << "twice";
  }
  const Collected& rows = SmallRows()[kTransactions];
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (!rows.Has("device_id", row)) continue;
    const auto use = first_use.find({rows.Text("device_id", row), rows.Text("customer_id", row)});
    ASSERT_NE(use, first_use.end());
    EXPECT_LE(use->second, rows.Number("timestamp", row));
  }
}

TEST(CoherentModel, NullsDependOnTheKindOfPayment) {
  const Collected& rows = SmallRows()[kTransactions];
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const auto kind = static_cast<Kind>(rows.Number("type", row));
    const bool card = IsCard(kind);
    const bool typed =
        card && rows.Number("card_entry", row) == static_cast<int>(CardEntry::kManual);
    const auto channel = static_cast<Channel>(rows.Number("channel", row));
    ASSERT_EQ(rows.Has("card_number_hash", row), card);
    ASSERT_EQ(rows.Has("installments", row), card);
    ASSERT_EQ(rows.Has("cvv_validated", row), typed);
    ASSERT_EQ(rows.Has("pix_key_destination", row), kind == Kind::kPix);
    ASSERT_EQ(rows.Has("counterparty_account", row), HasReceiver(kind));
    ASSERT_EQ(card, channel == Channel::kPointOfSale || channel == Channel::kOnlineShop);
    ASSERT_EQ(kind == Kind::kWithdrawal, channel == Channel::kAtm);
    ASSERT_EQ(kind == Kind::kAutoDebit, channel == Channel::kStandingOrder);
    ASSERT_EQ(rows.Has("fraud_type", row), rows.Number("is_fraud", row) == 1);
    ASSERT_EQ(rows.Has("merchant_id", row), rows.Has("mcc_code", row));
    const int64_t amount = rows.Number("amount", row);
    ASSERT_GT(amount, 0);
    if (kind == Kind::kWithdrawal) {
      ASSERT_EQ(amount, RoundToBanknotes(amount));
    }
    if (card && amount <= kMinInstallmentAmount) {
      ASSERT_EQ(rows.Number("installments", row), 1);
    }
    if (rows.Has("fraud_reported_at", row)) {
      ASSERT_GT(rows.Number("fraud_reported_at", row), rows.Number("timestamp", row));
    }
  }
}

TEST(CoherentModel, ChainsContinueAcrossBlocks) {
  const Collected& rings = SmallRows()[kRings];
  const Collected& rows = SmallRows()[kTransactions];
  const Collected& accounts = SmallRows()[kAccounts];
  std::map<std::string, std::size_t> row_of;
  for (std::size_t row = 0; row < rows.rows; ++row) row_of[rows.Text("transaction_id", row)] = row;
  std::map<std::string, std::string> account_of;
  for (std::size_t row = 0; row < accounts.rows; ++row) {
    account_of[accounts.Text("customer_id", row)] = accounts.Text("account_id", row);
  }
  std::map<std::string, std::map<int64_t, std::vector<std::size_t>>> chains;
  for (std::size_t row = 0; row < rings.rows; ++row) {
    const auto pattern = static_cast<RingPattern>(rings.Number("pattern", row));
    if (pattern != RingPattern::kMuleChain) continue;
    const std::size_t payment = row_of.at(rings.Text("transaction_id", row));
    ASSERT_EQ(rows.Number("is_fraud", payment), 1);
    chains[rings.Text("ring_id", row)][rings.Number("hop", row)].push_back(payment);
  }
  ASSERT_GT(chains.size(), 50u);
  std::size_t crossing = 0;
  for (const auto& [ring, hops] : chains) {
    ASSERT_EQ(hops.begin()->first, 0) << "the first hop is the victim's";
    ASSERT_EQ(static_cast<std::size_t>(hops.rbegin()->first), hops.size() - 1)
        << "a hop is missing";
    for (const auto& [hop, payments] : hops) {
      const auto next = hops.find(hop + 1);
      if (next == hops.end()) continue;
      const std::size_t receiver = next->second.front();
      for (const std::size_t payment : payments) {
        EXPECT_EQ(rows.Text("counterparty_account", payment),
                  account_of.at(rows.Text("customer_id", receiver)));
        EXPECT_LT(rows.Number("timestamp", payment), rows.Number("timestamp", receiver));
        EXPECT_EQ(rows.Number("status", payment), static_cast<int>(PaymentStatus::kApproved));
        crossing += payment / kBlockRows != receiver / kBlockRows ? 1 : 0;
      }
    }
  }
  EXPECT_GT(crossing, 30u) << "chains cross blocks";
}

TEST(CoherentModel, DisputesReferToReportedPayments) {
  const Collected& rows = SmallRows()[kTransactions];
  std::map<std::string, std::size_t> row_of;
  for (std::size_t row = 0; row < rows.rows; ++row) row_of[rows.Text("transaction_id", row)] = row;
  const Collected& disputes = SmallRows()[kDisputes];
  ASSERT_GT(disputes.rows, 100u);
  int honest = 0;
  for (std::size_t i = 0; i < disputes.rows; ++i) {
    const std::size_t row = row_of.at(disputes.Text("transaction_id", i));
    EXPECT_EQ(disputes.Number("opened_at", i), rows.Number("fraud_reported_at", row));
    EXPECT_EQ(disputes.Number("claimed_amount", i), rows.Number("amount", row));
    EXPECT_LE(disputes.Number("refunded_amount", i), rows.Number("amount", row));
    EXPECT_GT(disputes.Number("decided_at", i), disputes.Number("opened_at", i));
    honest += rows.Number("is_fraud", row) == 0 ? 1 : 0;
  }
  EXPECT_GT(honest, 0) << "honest payments are disputed, too";
}

TEST(CoherentModel, ReturnsTheErrorOfTheSink) {
  class Full : public BatchSink {
   public:
    Status Put(const Batch&) override {
      ++calls;
      return Fail(Error::Code::kExhausted, "full");
    }
    int calls = 0;
  };
  const auto model = ModelOf(Small());
  for (const Table* table : model->tables()) {
    Full full;
    const Status status = model->Make(0, std::span(&table, 1), full);
    ASSERT_FALSE(status) << table->name;
    EXPECT_EQ(status.error().message, "full");
    EXPECT_EQ(full.calls, 1) << table->name;
  }
}

// Golden hashes: changing them changes the data of every seed.
TEST(CoherentModel, KeepsItsGoldenRows) {
  uint64_t hash = 0;
  std::map<std::string_view, uint64_t> hashes;
  for (const Table* table : Tables()) {
    hash = HashOf(SmallRows()[*table], hash);
    hashes[table->name] = hash;
  }
  EXPECT_EQ(hashes["customers"], 9119526994282739861u);
  EXPECT_EQ(hashes["transactions"], 8431867960429036134u);
  EXPECT_EQ(hashes["rings"], 8818546336039030228u) << "and all tables before it";
  EXPECT_EQ(hashes["entries"], 6364942641510739127u) << "and all tables before it";
}

}  // namespace coherent_model_test
}  // namespace reveza::fraudgen::coherent
