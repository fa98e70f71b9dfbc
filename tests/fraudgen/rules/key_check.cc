// Identifiers are unique and well-formed, and references exist.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "fraudgen/values/random.h"
#include "tests/fraudgen/rules/table_check.h"

namespace reveza::fraudgen::rules {
namespace {

struct KeyRule {
  enum class Role { kUnique, kReference };
  std::string_view table;
  std::string_view column;
  std::string_view with;  // second column of a composite key; or empty
  Role role = Role::kUnique;
  std::string_view set;     // set of keys to insert into or to search
  std::string_view prefix;  // before the digits
  std::size_t digits = 0;   // of the identifier; 0: any
};

using Role = KeyRule::Role;

// The first rule of a set defines its keys.
const std::vector<KeyRule>& RulesOf(bool coherent) {
  static const std::vector<KeyRule> kClassic = {
      {"customers", "customer_id", "", Role::kUnique, "customers", "CUST_", 12},
      {"customers", "cpf", "", Role::kUnique, "cpfs", "", 11},
      {"drivers", "cpf", "", Role::kUnique, "cpfs", "", 11},
      {"devices", "device_id", "", Role::kUnique, "devices", "DEV_", 12},
      {"devices", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"devices", "device_id", "customer_id", Role::kUnique, "pairs", "", 0},
      {"transactions", "transaction_id", "", Role::kUnique, "transactions", "TXN_", 15},
      {"transactions", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"transactions", "device_id", "", Role::kReference, "devices", "DEV_", 12},
      {"transactions", "device_id", "customer_id", Role::kReference, "pairs", "", 0},
      {"drivers", "driver_id", "", Role::kUnique, "drivers", "DRV_", 10},
      {"rides", "ride_id", "", Role::kUnique, "rides", "RIDE_", 12},
      {"rides", "driver_id", "", Role::kReference, "drivers", "DRV_", 10},
      {"rides", "passenger_id", "", Role::kReference, "customers", "CUST_", 12},
  };
  static const std::vector<KeyRule> kCoherent = {
      {"customers", "customer_id", "", Role::kUnique, "customers", "CUST_", 12},
      {"customers", "cpf", "", Role::kUnique, "cpfs", "", 11},
      {"accounts", "account_id", "", Role::kUnique, "accounts", "ACC_", 15},
      {"accounts", "account_number", "", Role::kUnique, "account_numbers", "", 9},
      {"accounts", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"devices", "device_id", "customer_id", Role::kUnique, "pairs", "", 0},
      {"devices", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"transactions", "transaction_id", "", Role::kUnique, "transactions", "TXN_", 15},
      {"transactions", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"transactions", "device_id", "customer_id", Role::kReference, "pairs", "", 0},
      {"settlements", "settlement_id", "", Role::kUnique, "settlements", "STL_", 15},
      {"alerts", "alert_id", "", Role::kUnique, "alerts", "ALERT_", 15},
      {"disputes", "dispute_id", "", Role::kUnique, "disputes", "DISP_", 15},
      {"changes", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"changes", "device_id", "customer_id", Role::kReference, "pairs", "", 0},
      {"rings", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"entries", "entry_id", "", Role::kUnique, "entries", "ENT_", 15},
      {"entries", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"entries", "account_id", "", Role::kReference, "accounts", "ACC_", 15},
      {"sessions", "session_id", "", Role::kUnique, "sessions", "SESS_", 15},
      {"sessions", "customer_id", "", Role::kReference, "customers", "CUST_", 12},
      {"sessions", "account_id", "", Role::kReference, "accounts", "ACC_", 15},
      {"edges", "transaction_id", "", Role::kUnique, "edges", "TXN_", 15},
      {"drivers", "driver_id", "", Role::kUnique, "drivers", "DRV_", 10},
      {"drivers", "cpf", "", Role::kUnique, "cpfs", "", 11},
      {"rides", "ride_id", "", Role::kUnique, "rides", "RIDE_", 12},
      {"rides", "driver_id", "", Role::kReference, "drivers", "DRV_", 10},
      {"rides", "passenger_id", "", Role::kReference, "customers", "CUST_", 12},
      {"rides", "device_id", "passenger_id", Role::kReference, "pairs", "", 0},
      {"ride_alerts", "alert_id", "", Role::kUnique, "ride_alerts", "RALERT_", 12},
  };
  return coherent ? kCoherent : kClassic;
}

bool IsWellFormed(const KeyRule& rule, std::string_view text) {
  if (!text.starts_with(rule.prefix)) return false;
  const auto digits = std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return rule.digits == 0 || static_cast<std::size_t>(digits) == rule.digits;
}

class KeyCheck final : public TableCheck {
 public:
  explicit KeyCheck(bool coherent) : rules_(RulesOf(coherent)) {
    for (const KeyRule& rule : rules_) {
      const std::string key = rule.with.empty() ? std::string(rule.column)
                                                : fmt::format("{} with {}", rule.column, rule.with);
      tallies_.emplace_back(rule.role == Role::kUnique
                                ? fmt::format("keys: {}.{} is unique", rule.table, key)
                                : fmt::format("keys: {}.{} exists in {}", rule.table, key,
                                              rule.set == "pairs" ? "devices" : rule.set));
    }
  }

  void Add(const Batch& batch, const Position& position) override {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].table == batch.table().name) Check(rules_[i], batch, position, tallies_[i]);
    }
  }

  void Report(Tallies& tallies) const override {
    tallies.push_back(shapes_);
    for (const Tally& tally : tallies_) {
      if (tally.checked() > 0) tallies.push_back(tally);
    }
  }

 private:
  void Check(const KeyRule& rule, const Batch& batch, const Position& position, Tally& tally) {
    const Field field(batch, rule.column);
    const Field second(batch, rule.with.empty() ? rule.column : rule.with);
    auto& numbers = sets_[rule.set];
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!field.Has(row) || !second.Has(row)) continue;
      const std::string_view text = field.Text(row);
      uint64_t number = NumberOf(text);
      if (!rule.with.empty()) number = Mix(Mix(number) + NumberOf(second.Text(row)));
      const auto describe = [&] {
        return rule.with.empty() ? std::string(text)
                                 : fmt::format("{} with {}", text, second.Text(row));
      };
      if (rule.with.empty()) shapes_.Check(IsWellFormed(rule, text), position, row, describe);
      const bool valid =
          rule.role == Role::kUnique ? numbers.insert(number).second : numbers.contains(number);
      tally.Check(valid, position, row, describe);
    }
  }

  const std::vector<KeyRule>& rules_;
  std::vector<Tally> tallies_;
  Tally shapes_{"keys: identifiers have the right prefix and length"};
  std::map<std::string_view, std::unordered_set<uint64_t>> sets_;
};

}  // namespace

std::unique_ptr<TableCheck> CheckKeys(bool coherent) {
  return std::make_unique<KeyCheck>(coherent);
}

}  // namespace reveza::fraudgen::rules
