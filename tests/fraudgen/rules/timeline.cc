#include "tests/fraudgen/rules/timeline.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <utility>

#include "tests/fraudgen/rules/table_check.h"

namespace reveza::fraudgen::rules {
namespace {

uint64_t HashOfText(std::string_view text) { return std::hash<std::string_view>()(text); }

// Changes are compared as text, so money is formatted as in their columns.
std::string TextOfMoney(int64_t cents) { return fmt::format("{}.{:02}", cents / 100, cents % 100); }

// Fills the state of a block from the tables beside payments and rides, and verifies these where
// their own rows suffice.
class TimelineCheck final : public TableCheck {
 public:
  void Add(const Batch& batch, const Position& position) override {
    const std::string_view table = batch.table().name;
    if (table == "customers") AddCustomers(batch);
    if (table == "accounts") AddAccounts(batch);
    if (table == "devices") AddDevices(batch, position);
    if (table == "changes") AddChanges(batch, position);
    if (table == "settlements") references_.settlements.Add(batch);
    if (table == "alerts") references_.alerts.Add(batch);
    if (table == "rings") references_.rings.Add(batch);
    if (table == "disputes") references_.disputes.Add(batch);
    if (table == "entries") AddEntries(batch, position);
    payments_->Add(batch, position);
    rides_->Add(batch, position);
  }

  void EndBlock() override {
    payments_->EndBlock();
    rides_->EndBlock();
    references_.settlements.EndBlock();
    for (ReferenceCheck* check : {&references_.alerts, &references_.disputes, &references_.rings}) {
      check->EndBlock();
    }
    attributes_.clear();
    last_change_ = last_entry_ = INT64_MIN;
    state_ = {};
  }

  void Report(Tallies& tallies) const override {
    payments_->Report(tallies);
    for (const Tally* tally : {&devices_, &values_, &changes_, &entries_}) {
      tallies.push_back(*tally);
    }
    tallies.push_back(references_.settlements.tally());
    tallies.push_back(references_.alerts.tally());
    tallies.push_back(references_.disputes.tally());
    tallies.push_back(references_.rings.tally());
    rides_->Report(tallies);
  }

 private:
  void SetValue(uint64_t customer, std::string_view change, std::string_view value) {
    state_.values[PairOf(customer, HashOfText(change))] = HashOfText(value);
  }

  void AddCustomers(const Batch& batch) {
    const auto [customer, email, phone, income] =
        NamedFields(batch, "customer_id", "email", "phone", "monthly_income");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!AllHave(row, customer, email, phone, income)) continue;
      const uint64_t number = NumberOf(customer.Text(row));
      SetValue(number, "EMAIL_CHANGED", email.Text(row));
      SetValue(number, "PHONE_CHANGED", phone.Text(row));
      SetValue(number, "INCOME_CHANGED", TextOfMoney(income.Number(row)));
    }
  }

  void AddAccounts(const Batch& batch) {
    const auto [customer, account, opened, limit, credit] = NamedFields(
        batch, "customer_id", "account_id", "opened_at", "pix_night_limit", "credit_limit");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!AllHave(row, customer, account, opened, limit)) continue;
      const uint64_t number = NumberOf(customer.Text(row));
      TimelineState::Account& added = state_.accounts[number];
      added.opened_at = opened.Number(row);
      added.night_limit = limit.Number(row);
      state_.owners[NumberOf(account.Text(row))] = number;
      if (credit.Has(row)) SetValue(number, "LIMIT_CHANGED", TextOfMoney(credit.Number(row)));
    }
  }

  void AddDevices(const Batch& batch, const Position& position) {
    const auto [device, customer, first_use, fingerprint, type, model, system] =
        NamedFields(batch, "device_id", "customer_id", "first_use", "fingerprint", "type", "model",
                    "operating_system");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!AllHave(row, device, customer, first_use)) continue;
      const uint64_t number = NumberOf(device.Text(row));
      state_.first_uses.emplace(PairOf(number, NumberOf(customer.Text(row))),
                                first_use.Number(row));
      if (!AllHave(row, fingerprint, type, model, system)) continue;
      uint64_t attributes = HexadecimalOf(fingerprint.Text(row).substr(0, 16));
      for (const Field* field : {&type, &model, &system}) {
        attributes = PairOf(attributes, field->Code(row));
      }
      devices_.Check(attributes_.emplace(number, attributes).first->second == attributes, position,
                     row, [&] { return std::string(device.Text(row)); });
    }
  }

  // In order of time, each starting from the value that the previous one left.
  void AddChanges(const Batch& batch, const Position& position) {
    const auto [time, customer, change, device, before, after] = NamedFields(
        batch, "changed_at", "customer_id", "change", "device_id", "old_value", "new_value");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!AllHave(row, time, customer, change)) continue;
      const int64_t when = time.Number(row);
      const uint64_t number = NumberOf(customer.Text(row));
      const std::string_view kind = change.Value(row);
      const uint64_t pair = device.Has(row) ? PairOf(NumberOf(device.Text(row)), number) : 0;
      const auto use = state_.first_uses.find(pair);
      const bool removed = kind == "DEVICE_REMOVED";
      const bool known = !device.Has(row) || (use != state_.first_uses.end() &&
                                              (removed ? use->second < when : use->second == when));
      changes_.Check(when >= last_change_ && known, position, row,
                     [&] { return std::string(customer.Text(row)); });
      last_change_ = when;
      if (removed) state_.removals[pair] = when;
      if (kind == "DEVICE_REPLACED" && before.Has(row)) {
        state_.removals[PairOf(NumberOf(before.Text(row)), number)] = when;
      }
      if (kind == "ACCOUNT_CLOSED") state_.closings[number] = when;
      if (kind.starts_with("DEVICE_") || kind.starts_with("ACCOUNT_") || kind == "SIM_CHANGED") {
        continue;
      }
      CheckValue(position, row, number, kind, before.Has(row) ? before.Text(row) : "",
                 after.Has(row) ? after.Text(row) : "");
    }
  }

  // A value is the result of the last change of its kind; a PIX key, the last one added.
  void CheckValue(const Position& position, std::size_t row, uint64_t customer,
                  std::string_view kind, std::string_view before, std::string_view after) {
    const bool removed = kind == "PIX_KEY_REMOVED";
    const std::string_view change = removed ? "PIX_KEY_ADDED" : kind;
    if (kind != "PIX_KEY_ADDED") {
      const auto known = state_.values.find(PairOf(customer, HashOfText(change)));
      const bool follows = known == state_.values.end() || known->second == HashOfText(before);
      values_.Check(!before.empty() && before != after && follows, position, row,
                    [&] { return std::string(before); });
    }
    if (!removed) SetValue(customer, change, after);
  }

  // In order of time. What they do to balances is checked between the payments.
  void AddEntries(const Batch& batch, const Position& position) {
    const auto [account, time, amount, balance] =
        NamedFields(batch, "account_id", "posted_at", "amount", "balance_after");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!AllHave(row, account, time, amount, balance)) continue;
      const int64_t when = time.Number(row);
      entries_.Check(when >= last_entry_, position, row,
                     [&] { return std::string(account.Text(row)); });
      last_entry_ = when;
      const auto owner = state_.owners.find(NumberOf(account.Text(row)));
      if (owner == state_.owners.end()) continue;  // KeyCheck reports it
      state_.accounts[owner->second].entries.push_back(
          {when, amount.Number(row), balance.Number(row), position, row});
    }
  }

  TimelineState state_;
  PaymentReferences references_;
  std::unique_ptr<TableCheck> payments_ = CheckPayments(state_, references_);
  std::unique_ptr<TableCheck> rides_ = CheckRides(state_);
  std::unordered_map<uint64_t, uint64_t> attributes_;  // hash, by device
  int64_t last_change_ = INT64_MIN;
  int64_t last_entry_ = INT64_MIN;
  Tally devices_{"devices: attributes are the same for all customers of a device"};
  Tally values_{"changes: old_value is the value before the change"};
  Tally changes_{"changes: in order of time, and their devices exist"};
  Tally entries_{"entries: rows of a block are in order of time"};
};

}  // namespace

uint64_t HexadecimalOf(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

ReferenceCheck::ReferenceCheck(const Columns& columns, std::string name, std::string_view target,
                               std::string_view prefix, int digits)
    : columns_(columns),
      target_(target),
      prefix_(prefix),
      digits_(digits),
      tally_(std::move(name)) {}

std::string ReferenceCheck::NameOf(uint64_t id) const {
  return fmt::format("{}{:0{}}", prefix_, id, digits_);
}

void ReferenceCheck::Add(const Batch& batch) {
  const bool has_number = !columns_.number.empty();
  const Field id(batch, columns_.id);
  const Field customer(batch, columns_.customer);
  const Field time(batch, columns_.time);
  const Field number(batch, has_number ? columns_.number : columns_.time);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!AllHave(row, id, customer, time, number)) continue;
    references_[NumberOf(id.Text(row))] = {.customer = NumberOf(customer.Text(row)),
                                           .time = time.Number(row),
                                           .number = has_number ? number.Number(row) : 0};
  }
}

void ReferenceCheck::Match(const Position& position, std::size_t row, uint64_t id,
                           uint64_t customer, int64_t time, int64_t number) {
  const auto found = references_.find(id);
  if (found == references_.end()) return;
  Reference& reference = found->second;
  reference.found = true;
  tally_.Check(
      reference.customer == customer && reference.time == time && reference.number == number,
      position, row, [&] { return NameOf(id); });
}

void ReferenceCheck::EndBlock() {
  for (const auto& [id, reference] : references_) {
    if (!reference.found) tally_.AddFailure("{} is not in {}", NameOf(id), target_);
  }
  references_.clear();
}

void SettlementCheck::Add(const Batch& batch) {
  const auto [id, customer, outcome, time, amount] =
      NamedFields(batch, "transaction_id", "customer_id", "outcome", "settled_at", "amount");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!AllHave(row, id, customer, outcome, time, amount)) continue;
    settlements_[NumberOf(id.Text(row))] = {.customer = NumberOf(customer.Text(row)),
                                            .time = time.Number(row),
                                            .amount = amount.Number(row),
                                            .reversed = outcome.Is(row, "REVERSED")};
  }
}

void SettlementCheck::EndBlock() {
  for (const auto& [id, settlement] : settlements_) {
    if (!settlement.found) {
      match_.AddFailure("TXN_{:015} is not in transactions", id);
    }
  }
  settlements_.clear();
}

std::unique_ptr<TableCheck> CheckTimeline() { return std::make_unique<TimelineCheck>(); }

}  // namespace reveza::fraudgen::rules
