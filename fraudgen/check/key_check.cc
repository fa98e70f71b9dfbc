#include "fraudgen/check/key_check.h"

#include <algorithm>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen::check {
namespace {

using Role = KeyRule::Role;

// Limits per pass: bits of dense sets, and numbers of sparse sets.
constexpr uint64_t kMaxBits = uint64_t{1} << 30;
constexpr uint64_t kMaxNumbers = uint64_t{1} << 24;

// The first rule of a set defines its keys.
const std::vector<KeyRule>& RulesOf(const DataSet& data) {
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
      {"edges", "transaction_id", "", Role::kUnique, "edges", "TXN_", 15},
      {"drivers", "driver_id", "", Role::kUnique, "drivers", "DRV_", 10},
      {"drivers", "cpf", "", Role::kUnique, "cpfs", "", 11},
      {"rides", "ride_id", "", Role::kUnique, "rides", "RIDE_", 12},
      {"rides", "driver_id", "", Role::kReference, "drivers", "DRV_", 10},
      {"rides", "passenger_id", "", Role::kReference, "customers", "CUST_", 12},
      {"rides", "device_id", "passenger_id", Role::kReference, "pairs", "", 0},
      {"ride_alerts", "alert_id", "", Role::kUnique, "ride_alerts", "RALERT_", 12},
  };
  return data.coherent() ? kCoherent : kClassic;
}

// Identifiers of the classic model are almost consecutive, so a bitmap suffices. Those of the
// coherent model are spread over the whole range of their digits.
uint64_t DenseNumbers(const DataSet& data, std::string_view set) {
  constexpr uint64_t kDevicesPerCustomer = 3;
  if (data.coherent()) return 0;
  if (set == "customers" || set == "drivers") return data.RowsOf(set) + 1;
  if (set == "devices") return data.RowsOf("customers") * kDevicesPerCustomer + 1;
  if (set == "transactions" || set == "rides") return data.RowsOf(set);
  return 0;
}

uint64_t SparseNumbers(const DataSet& data, std::string_view set) {
  if (set == "cpfs") return data.RowsOf("customers") + data.RowsOf("drivers");
  if (set == "pairs") return data.RowsOf("devices");
  if (set == "account_numbers") return data.RowsOf("accounts");
  return data.RowsOf(set);
}

bool IsWellFormed(const KeyRule& rule, std::string_view text) {
  if (!text.starts_with(rule.prefix)) return false;
  const auto digits = std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return rule.digits == 0 || static_cast<std::size_t>(digits) == rule.digits;
}

}  // namespace

uint64_t KeyPasses(const DataSet& data) {
  uint64_t bits = 0;
  uint64_t numbers = 0;
  std::vector<std::string_view> seen;
  for (const KeyRule& rule : RulesOf(data)) {
    if (std::ranges::find(seen, rule.set) != seen.end()) continue;
    seen.push_back(rule.set);
    const uint64_t dense = DenseNumbers(data, rule.set);
    bits += dense;
    numbers += dense == 0 ? SparseNumbers(data, rule.set) : 0;
  }
  return 1 + std::max(bits / kMaxBits, numbers / kMaxNumbers);
}

KeyCheck::KeyCheck(const DataSet& data)
    : shapes_("keys: identifiers have the right prefix and length") {
  for (const KeyRule& rule : RulesOf(data)) {
    if (data.RowsOf(rule.table) == 0) continue;
    rules_.push_back(rule);
    const std::string key = rule.with.empty() ? std::string(rule.column)
                                              : fmt::format("{} with {}", rule.column, rule.with);
    tallies_.emplace_back(rule.role == Role::kUnique
                              ? fmt::format("keys: {}.{} is unique", rule.table, key)
                              : fmt::format("keys: {}.{} exists in {}", rule.table, key,
                                            rule.set == "pairs" ? "devices" : rule.set));
    sets_[rule.set].dense_below = DenseNumbers(data, rule.set);
  }
}

void KeyCheck::BeginPass(Pass pass) {
  pass_ = pass;
  for (auto& [name, set] : sets_) set.numbers = NumberSet(set.dense_below, pass);
}

void KeyCheck::Add(const Batch& batch, const Position& position) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].table == batch.table().name) Check(rules_[i], batch, position, tallies_[i]);
  }
}

void KeyCheck::Check(const KeyRule& rule, const Batch& batch, const Position& position,
                     Tally& tally) {
  const Field field(batch, rule.column);
  const Field second(batch, rule.with.empty() ? rule.column : rule.with);
  NumberSet& numbers = sets_.at(rule.set).numbers;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!field.Has(row) || !second.Has(row)) continue;
    const std::string_view text = field.Text(row);
    uint64_t number = NumberOf(text);
    // 63 bits, because NumberSet reserves a value.
    if (!rule.with.empty()) number = Mix(Mix(number) + NumberOf(second.Text(row))) >> 1;
    if (!pass_.Has(number)) continue;
    const auto describe = [&] {
      return rule.with.empty() ? std::string(text)
                               : fmt::format("{} with {}", text, second.Text(row));
    };
    if (rule.with.empty()) shapes_.Check(IsWellFormed(rule, text), position, row, describe);
    const bool valid = rule.role == Role::kUnique ? numbers.Insert(number) : numbers.Has(number);
    tally.Check(valid, position, row, describe);
  }
}

void KeyCheck::Report(std::vector<Outcome>& outcomes) const {
  outcomes.push_back(shapes_.outcome());
  for (const Tally& tally : tallies_) outcomes.push_back(tally.outcome());
}

}  // namespace reveza::fraudgen::check
