#include "fraudgen/check/sql_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "fraudgen/schema/schema.h"

// Only what standard SQL and the engines in use have: no casts, since damaged values would end the
// query, and no quoted names, since engines quote differently.
namespace reveza::fraudgen::check {
namespace {

// Identifiers: unique, or those of another table.
struct Key {
  std::string_view table;
  std::string_view column;
  std::string_view with;         // second column; or empty
  std::string_view other;        // the table referred to; empty: unique
  std::string_view prefix = {};  // before the digits; empty: not tested
  int length = 0;
};

// A condition that rows break.
struct Broken {
  std::string_view table;
  std::string_view rule;
  std::string_view condition;
};

constexpr auto kClassicKeys = std::to_array<Key>({
    {"customers", "customer_id", "", "", "CUST_", 17},
    {"customers", "cpf", "", ""},
    {"devices", "device_id", "", "", "DEV_", 16},
    {"devices", "customer_id", "", "customers"},
    {"transactions", "transaction_id", "", "", "TXN_", 19},
    {"transactions", "customer_id", "", "customers"},
    {"transactions", "device_id", "customer_id", "devices"},
    {"drivers", "driver_id", "", "", "DRV_", 14},
    {"drivers", "cpf", "", ""},
    {"rides", "ride_id", "", "", "RIDE_", 17},
    {"rides", "driver_id", "", "drivers"},
});

constexpr auto kCoherentKeys = std::to_array<Key>({
    {"customers", "customer_id", "", "", "CUST_", 17},
    {"customers", "cpf", "", ""},
    {"accounts", "account_id", "", "", "ACC_", 19},
    {"accounts", "account_number", "", ""},
    {"accounts", "customer_id", "", "customers"},
    {"devices", "device_id", "customer_id", ""},
    {"devices", "customer_id", "", "customers"},
    {"transactions", "transaction_id", "", "", "TXN_", 19},
    {"transactions", "customer_id", "", "customers"},
    {"transactions", "device_id", "customer_id", "devices"},
    {"settlements", "settlement_id", "", "", "STL_", 19},
    {"settlements", "transaction_id", "", "transactions"},
    {"alerts", "alert_id", "", "", "ALERT_", 21},
    {"alerts", "transaction_id", "", "transactions"},
    {"disputes", "dispute_id", "", "", "DISP_", 20},
    {"disputes", "transaction_id", "", "transactions"},
    {"changes", "customer_id", "", "customers"},
    {"changes", "device_id", "customer_id", "devices"},
    {"rings", "customer_id", "", "customers"},
    {"rings", "transaction_id", "", "transactions"},
    {"entries", "entry_id", "", "", "ENT_", 19},
    {"entries", "posted_at", "account_id", ""},
    {"entries", "account_id", "customer_id", "accounts"},
    {"entries", "transaction_id", "customer_id", "transactions"},
    {"sessions", "session_id", "", "", "SESS_", 20},
    {"sessions", "customer_id", "", "customers"},
    {"sessions", "account_id", "customer_id", "accounts"},
    {"edges", "transaction_id", "", ""},
    {"drivers", "driver_id", "", "", "DRV_", 14},
    {"drivers", "cpf", "", ""},
    {"rides", "ride_id", "", "", "RIDE_", 17},
    {"rides", "driver_id", "", "drivers"},
    {"ride_alerts", "alert_id", "", "", "RALERT_", 19},
    {"ride_alerts", "ride_id", "", "rides"},
});

constexpr auto kBoth = std::to_array<Broken>({
    {"transactions", "amount is positive", "t.amount <= 0"},
    {"transactions", "fraud_type is set for frauds only",
     "CASE WHEN t.is_fraud THEN 1 ELSE 0 END <> CASE WHEN t.fraud_type IS NULL THEN 0 ELSE 1 END"},
    {"transactions", "PIX keys are set for PIX only",
     "CASE WHEN t.type = 'PIX' THEN 1 ELSE 0 END <> CASE WHEN t.pix_key_type IS NULL THEN 0 ELSE 1 "
     "END"},
    {"transactions", "card columns are set for cards only",
     "CASE WHEN t.type IN ('CREDIT_CARD', 'DEBIT_CARD') THEN 1 ELSE 0 END <> CASE WHEN "
     "t.card_number_hash IS NULL THEN 0 ELSE 1 END"},
    {"transactions", "card_type is the payment type",
     "t.type = 'CREDIT_CARD' AND t.card_type <> 'CREDIT' OR t.type = 'DEBIT_CARD' AND t.card_type "
     "<> 'DEBIT'"},
    {"transactions", "refusal_reason is set for declined payments only",
     "CASE WHEN t.status = 'DECLINED' THEN 1 ELSE 0 END <> CASE WHEN t.refusal_reason IS NULL THEN "
     "0 ELSE 1 END"},
    {"rides", "fraud_type is set for frauds only",
     "CASE WHEN t.is_fraud THEN 1 ELSE 0 END <> CASE WHEN t.fraud_type IS NULL THEN 0 ELSE 1 END"},
    {"rides", "dropoff_datetime is set for completed rides only",
     "CASE WHEN t.status = 'COMPLETED' THEN 1 ELSE 0 END <> CASE WHEN t.dropoff_datetime IS NULL "
     "THEN 0 ELSE 1 END"},
    {"rides", "times follow each other",
     "t.pickup_datetime < t.accept_datetime OR t.dropoff_datetime < t.pickup_datetime"},
});

constexpr auto kClassic = std::to_array<Broken>({
    {"transactions", "fraud_score agrees with is_fraud",
     "t.is_fraud AND t.fraud_score < 65 OR NOT t.is_fraud AND t.fraud_score > 35"},
});

constexpr auto kCoherent = std::to_array<Broken>({
    {"transactions", "risk_score is 0 to 100", "t.risk_score < 0 OR t.risk_score > 100"},
    {"transactions", "balance_after is not negative", "t.balance_after < 0"},
    {"transactions", "counterparty_account is set for PIX and TED only",
     "CASE WHEN t.type IN ('PIX', 'TED') THEN 1 ELSE 0 END <> CASE WHEN t.counterparty_account IS "
     "NULL THEN 0 ELSE 1 END"},
    {"transactions", "fraud_reported_at is later than timestamp",
     "t.fraud_reported_at <= t.timestamp"},
    {"alerts", "reviewed_at is later than alerted_at", "t.reviewed_at <= t.alerted_at"},
    {"alerts", "decision is set for reviewed alerts only",
     "CASE WHEN t.reviewed_at IS NULL THEN 0 ELSE 1 END <> CASE WHEN t.decision IS NULL THEN 0 "
     "ELSE 1 END"},
    {"disputes", "decided_at is later than opened_at", "t.decided_at <= t.opened_at"},
    {"disputes", "refunded_amount is at most claimed_amount",
     "t.refunded_amount < 0 OR t.refunded_amount > t.claimed_amount"},
    {"settlements", "returned_amount is at most amount",
     "t.returned_amount < 0 OR t.returned_amount > t.amount"},
    {"entries", "transaction_id is set for what comes back only",
     "CASE WHEN t.kind IN ('PAYMENT_RETURNED', 'PAYMENT_REVERSED', 'DISPUTE_REFUND') THEN 1 ELSE 0 "
     "END <> CASE WHEN t.transaction_id IS NULL THEN 0 ELSE 1 END"},
    {"entries", "counterparty_account is set for what is received only",
     "CASE WHEN t.kind IN ('PIX_RECEIVED', 'TED_RECEIVED') THEN 1 ELSE 0 END <> CASE WHEN "
     "t.counterparty_account IS NULL THEN 0 ELSE 1 END"},
    {"entries", "amount falls for what leaves the account only",
     "CASE WHEN t.kind IN ('SAVINGS_DEPOSIT', 'CARD_BILL', 'ACCOUNT_CLOSED') THEN 1 ELSE 0 END <> "
     "CASE WHEN t.amount < 0 THEN 1 ELSE 0 END"},
    {"sessions", "failed_attempts is positive for failed log-ins",
     "t.failed_attempts < 0 OR t.outcome = 'FAILED' AND t.failed_attempts = 0"},
    {"sessions", "failed log-ins have no events",
     "t.outcome = 'FAILED' AND (t.device_registered OR t.sim_changed OR t.password_reset OR "
     "t.limit_requested OR t.pix_key_added OR t.remote_access)"},
    {"sessions", "device_id and ip_address are null at branches only",
     "CASE WHEN t.channel = 'BRANCH' THEN 1 ELSE 0 END <> CASE WHEN t.device_id IS NULL THEN 1 "
     "ELSE "
     "0 END OR CASE WHEN t.channel = 'BRANCH' THEN 1 ELSE 0 END <> CASE WHEN t.ip_address IS NULL "
     "THEN 1 ELSE 0 END"},
    {"rides", "risk_score is 0 to 100", "t.risk_score < 0 OR t.risk_score > 100"},
});

// Entries and payments of each customer in order of time: each has the balance before it, 0 for the
// first. Rows are those that do not follow. Payments of the same moment are in order of the count.
constexpr std::string_view kUnbalanced =
    "(SELECT m.balance, m.effect, LAG(m.balance, 1, 0) OVER (PARTITION BY m.customer_id ORDER BY "
    "m.moment, m.place) AS previous FROM (SELECT customer_id, posted_at AS moment, -1 AS place, "
    "amount AS effect, balance_after AS balance FROM entries UNION ALL SELECT customer_id, "
    "timestamp, transactions_last_24h, CASE WHEN type <> 'CREDIT_CARD' AND status IN ('APPROVED', "
    "'PENDING') THEN -amount ELSE 0 END, balance_after FROM transactions) m) t WHERE "
    "ABS(t.balance - t.previous - t.effect) > 0.005";

// Both ends of payments between customers: the n-th of an amount from one account to another is the
// n-th entry, at the same time or later.
constexpr std::string_view kPaid =
    "(SELECT p.account_id AS payer, a.account_id AS receiver, m.amount, COALESCE(s.settled_at, "
    "m.timestamp) AS moment, ROW_NUMBER() OVER (PARTITION BY p.account_id, a.account_id, m.amount "
    "ORDER BY COALESCE(s.settled_at, m.timestamp)) AS place, PERCENT_RANK() OVER (ORDER BY "
    "COALESCE(s.settled_at, m.timestamp)) AS elapsed FROM transactions m JOIN accounts a ON "
    "a.account_id = m.counterparty_account JOIN accounts p ON p.customer_id = m.customer_id LEFT "
    "JOIN settlements s ON s.transaction_id = m.transaction_id AND s.outcome = 'SETTLED' WHERE "
    "m.status = 'APPROVED' OR s.outcome = 'SETTLED')";
constexpr std::string_view kReceived =
    "(SELECT m.counterparty_account AS payer, m.account_id AS receiver, m.amount, m.posted_at AS "
    "moment, ROW_NUMBER() OVER (PARTITION BY m.counterparty_account, m.account_id, m.amount ORDER "
    "BY m.posted_at) AS place FROM entries m WHERE m.counterparty_account IS NOT NULL)";
// Joins rows t of one end with those of the other.
constexpr std::string_view kOtherEnd =
    "r WHERE r.payer = t.payer AND r.receiver = t.receiver AND r.amount = t.amount AND r.place = "
    "t.place";

// Payments that need a log-in.
constexpr std::string_view kByLogIn =
    "transactions t WHERE (t.device_id IS NOT NULL OR t.channel = 'BRANCH')";

// Returns the texts as a list in SQL.
std::string ListOf(std::span<const std::string_view> texts) {
  std::vector<std::string> quoted;
  for (const std::string_view text : texts) {
    std::string& each = quoted.emplace_back("'");
    for (const char c : text) each.append(c == '\'' ? 2 : 1, c);
    each += '\'';
  }
  return fmt::format("({})", fmt::join(quoted, ", "));
}

// Returns a digit of "ddd.ddd.ddd-dd", from 1; -1 for another character.
std::string DigitOf(int digit) {
  constexpr std::array kPlaces = {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14};
  return fmt::format("(POSITION(SUBSTR(t.cpf, {}, 1) IN '0123456789') - 1)",
                     kPlaces.at(static_cast<std::size_t>(digit - 1)));
}

// Returns the check digit after `digits` digits.
std::string CheckDigit(int digits) {
  std::vector<std::string> terms;
  for (int i = 1; i <= digits; ++i) {
    terms.push_back(fmt::format("{} * {}", digits + 2 - i, DigitOf(i)));
  }
  return fmt::format("MOD(MOD(10 * ({}), 11), 10)", fmt::join(terms, " + "));
}

class Query {
 public:
  explicit Query(std::span<const Table* const> tables) : tables_(tables) {}

  bool Has(std::string_view table) const {
    return std::ranges::find(tables_, table, &Table::name) != tables_.end();
  }

  // Adds a rule of a table, if there is such a table.
  void Add(std::string_view table, std::string_view rule, std::string_view condition) {
    if (Has(table)) Count(table, rule, fmt::format("{} t WHERE {}", table, condition));
  }

  void AddKeys(std::span<const Key> keys) {
    for (const Key& key : keys) {
      if (!Has(key.table) || (!key.other.empty() && !Has(key.other))) continue;
      const std::string name = key.with.empty() ? std::string(key.column)
                                                : fmt::format("{} with {}", key.column, key.with);
      if (!key.other.empty()) {
        std::string same = fmt::format("r.{0} = t.{0}", key.column);
        if (!key.with.empty()) same += fmt::format(" AND r.{0} = t.{0}", key.with);
        Add(key.table, fmt::format("{} exists in {}", name, key.other),
            fmt::format("t.{} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {} r WHERE {})", key.column,
                        key.other, same));
        continue;
      }
      std::string columns = fmt::format("k.{}", key.column);
      if (!key.with.empty()) columns += fmt::format(", k.{}", key.with);
      Count(key.table, name + " is unique",
            fmt::format("(SELECT {0} FROM {1} k WHERE k.{2} IS NOT NULL GROUP BY {0} HAVING "
                        "COUNT(*) > 1) t",
                        columns, key.table, key.column));
      if (key.prefix.empty()) continue;
      Add(key.table, fmt::format("{} is {} and digits", key.column, key.prefix),
          fmt::format("t.{0} NOT LIKE '{1}%' OR LENGTH(t.{0}) <> {2}", key.column, key.prefix,
                      key.length));
    }
  }

  // Adds the rules that relate entries to payments.
  void AddEntries() {
    if (!Has("entries")) return;
    Count("entries", "balance_after follows from the previous movement", kUnbalanced);
    // The last tenth may be received later.
    Count("entries", "each payment to a customer is one",
          fmt::format("{} t WHERE t.elapsed < 0.9 AND NOT EXISTS (SELECT 1 FROM {} {} AND r.moment "
                      ">= t.moment)",
                      kPaid, kReceived, kOtherEnd));
    Count("entries", "what is received was paid",
          fmt::format("{} t WHERE NOT EXISTS (SELECT 1 FROM {} {} AND r.moment <= t.moment)",
                      kReceived, kPaid, kOtherEnd));
  }

  // Adds the rules that relate log-ins to payments and devices.
  void AddSessions() {
    if (!Has("sessions")) return;
    Count("sessions", "each payment by device or at a branch has one, of its customer and device",
          fmt::format("{} AND NOT EXISTS (SELECT 1 FROM sessions r WHERE r.session_id = "
                      "t.session_id AND r.customer_id = t.customer_id AND (r.device_id = "
                      "t.device_id OR r.device_id IS NULL AND t.device_id IS NULL))",
                      kByLogIn));
    const auto add_payment = [this](std::string_view rule, std::string_view condition) {
      Count("sessions", rule,
            fmt::format("sessions t JOIN transactions m ON m.session_id = t.session_id WHERE {}",
                        condition));
    };
    add_payment("payments are later than started_at", "m.timestamp < t.started_at");
    add_payment("failed log-ins have no payments", "t.outcome = 'FAILED'");
    Count("sessions", "a device that is registered is in devices",
          "sessions t WHERE t.device_registered AND NOT EXISTS (SELECT 1 FROM devices r WHERE "
          "r.device_id = t.device_id AND r.customer_id = t.customer_id)");
    Count("sessions", "started_at is not before the account is opened",
          "sessions t JOIN accounts a ON a.account_id = t.account_id WHERE t.started_at < "
          "a.opened_at");
  }

  // Adds what the schema says of columns that are no members of a record.
  void AddSchema() {
    for (const Table* table : tables_) {
      std::vector<std::string> nulls;
      for (const Column& column : table->columns) {
        if (column.name.contains('.')) continue;
        if (column.nullable == Nullable::kNo) {
          nulls.push_back(fmt::format("t.{} IS NULL", column.name));
        }
        if (column.type != ColumnType::kCategory) continue;
        Add(table->name, fmt::format("{} is a known value", column.name),
            fmt::format("t.{} NOT IN {}", column.name, ListOf(column.values)));
      }
      if (nulls.empty()) continue;
      Add(table->name, "no value is missing that must be there",
          fmt::format("{}", fmt::join(nulls, " OR ")));
    }
  }

  std::string Text() const {
    return fmt::format("SELECT rule, broken FROM (\n{}\n) AS rules ORDER BY broken DESC, rule;\n",
                       fmt::join(rules_, "\nUNION ALL\n"));
  }

 private:
  void Count(std::string_view table, std::string_view rule, std::string_view from) {
    rules_.push_back(
        fmt::format("SELECT '{}: {}' AS rule, COUNT(*) AS broken FROM {}", table, rule, from));
  }

  std::span<const Table* const> tables_;
  std::vector<std::string> rules_;
};

}  // namespace

std::string SqlRules(const Settings& settings, const Model& model) {
  const bool coherent = settings.model == "coherent";
  Query query(model.tables());
  query.AddKeys(coherent ? std::span<const Key>(kCoherentKeys) : kClassicKeys);
  for (const std::string_view table : {"customers", "drivers"}) {
    query.Add(table, "cpf is ddd.ddd.ddd-dd", "t.cpf NOT LIKE '___.___.___-__'");
    query.Add(
        table,
        settings.safe_identities ? "no check digit of cpf matches" : "check digits of cpf match",
        fmt::format("{} ({} = {} AND {} = {})", settings.safe_identities ? "" : "NOT",
                    CheckDigit(9), DigitOf(10), CheckDigit(10), DigitOf(11)));
  }
  const auto add = [&](std::span<const Broken> rules) {
    for (const auto& [table, rule, condition] : rules) query.Add(table, rule, condition);
  };
  add(kBoth);
  add(coherent ? std::span<const Broken>(kCoherent) : kClassic);
  query.AddEntries();
  query.AddSessions();
  query.AddSchema();
  return fmt::format(
      "-- Rules of the {} model: how many rows break each.\n"
      "-- The tables must have their names, for example in DuckDB:\n"
      "--   CREATE VIEW transactions AS FROM 'data/transactions/*.parquet';\n{}",
      settings.model, query.Text());
}

}  // namespace reveza::fraudgen::check
