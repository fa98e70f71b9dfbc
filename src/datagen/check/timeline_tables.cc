// What the tables beside the payments say.
#include <fmt/format.h>

#include <functional>
#include <string>

#include "datagen/check/timeline.h"

namespace reveza::datagen::check {
namespace {

uint64_t HashOfText(std::string_view text) { return std::hash<std::string_view>()(text); }

// What changes is compared as text: money as it stands there.
std::string TextOfMoney(int64_t cents) { return fmt::format("{}.{:02}", cents / 100, cents % 100); }

}  // namespace

void TimelineCheck::AddCustomers(const Batch& batch) {
  const Field customer(batch, "customer_id");
  const Field email(batch, "email");
  const Field phone(batch, "phone");
  const Field income(batch, "monthly_income");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!customer.Has(row) || !email.Has(row) || !phone.Has(row) || !income.Has(row)) continue;
    const uint64_t number = NumberOf(customer.Text(row));
    values_[PairOf(number, HashOfText("EMAIL_CHANGED"))] = HashOfText(email.Text(row));
    values_[PairOf(number, HashOfText("PHONE_CHANGED"))] = HashOfText(phone.Text(row));
    values_[PairOf(number, HashOfText("INCOME_CHANGED"))] =
        HashOfText(TextOfMoney(income.Number(row)));
  }
}

void TimelineCheck::AddAccounts(const Batch& batch) {
  const Field customer(batch, "customer_id");
  const Field account(batch, "account_id");
  const Field opened(batch, "opened_at");
  const Field limit(batch, "pix_night_limit");
  const Field credit(batch, "credit_limit");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!customer.Has(row) || !account.Has(row) || !opened.Has(row) || !limit.Has(row)) continue;
    const uint64_t number = NumberOf(customer.Text(row));
    Account& added = accounts_[number];
    added.opened_at = opened.Number(row);
    added.night_limit = limit.Number(row);
    owners_[NumberOf(account.Text(row))] = number;
    if (!credit.Has(row)) continue;
    values_[PairOf(number, HashOfText("LIMIT_CHANGED"))] =
        HashOfText(TextOfMoney(credit.Number(row)));
  }
}

void TimelineCheck::AddDevices(const Batch& batch, const Position& position) {
  const Field device(batch, "device_id");
  const Field customer(batch, "customer_id");
  const Field first_use(batch, "first_use");
  const Field fingerprint(batch, "fingerprint");
  const Field type(batch, "type");
  const Field model(batch, "model");
  const Field system(batch, "operating_system");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!device.Has(row) || !customer.Has(row) || !first_use.Has(row)) continue;
    first_uses_.emplace(PairOf(NumberOf(device.Text(row)), NumberOf(customer.Text(row))),
                        first_use.Number(row));
    if (!fingerprint.Has(row) || !type.Has(row) || !model.Has(row) || !system.Has(row)) continue;
    uint64_t thing = HexadecimalOf(fingerprint.Text(row).substr(0, 16));
    for (const Field* field : {&type, &model, &system}) thing = PairOf(thing, field->Code(row));
    thing_.Look();
    if (things_.emplace(NumberOf(device.Text(row)), thing).first->second != thing) {
      thing_.Bad(position, row, [&] { return std::string(device.Text(row)); });
    }
  }
}

void TimelineCheck::AddMentions(const Batch& batch, std::string_view time, std::string_view number,
                                Mentions& mentions) const {
  const Field id(batch, "transaction_id");
  const Field customer(batch, "customer_id");
  const Field when(batch, time);
  const Field value(batch, number.empty() ? time : number);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!id.Has(row) || !customer.Has(row) || !when.Has(row) || !value.Has(row)) continue;
    mentions[NumberOf(id.Text(row))] = {.customer = NumberOf(customer.Text(row)),
                                        .time = when.Number(row),
                                        .number = number.empty() ? 0 : value.Number(row)};
  }
}

void TimelineCheck::AddSettlements(const Batch& batch) {
  const Field id(batch, "transaction_id");
  const Field customer(batch, "customer_id");
  const Field outcome(batch, "outcome");
  const Field time(batch, "settled_at");
  const Field amount(batch, "amount");
  const Field returned(batch, "returned_amount");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!id.Has(row) || !customer.Has(row) || !outcome.Has(row) || !time.Has(row) ||
        !amount.Has(row) || !returned.Has(row)) {
      continue;
    }
    settlements_[NumberOf(id.Text(row))] = {.customer = NumberOf(customer.Text(row)),
                                            .time = time.Number(row),
                                            .amount = amount.Number(row),
                                            .returned = returned.Number(row),
                                            .settled = outcome.Is(row, "SETTLED"),
                                            .reversed = outcome.Is(row, "REVERSED")};
  }
}

void TimelineCheck::AddRefunds(const Batch& batch) {
  const Field id(batch, "transaction_id");
  const Field time(batch, "decided_at");
  const Field returned(batch, "refunded_amount");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!id.Has(row) || !time.Has(row) || !returned.Has(row)) continue;
    Aftermath& refund = refunds_[NumberOf(id.Text(row))];
    refund.time = time.Number(row);
    refund.returned = returned.Number(row);
  }
}

// A value is what the last change of its kind made of it, a PIX key what was added last.
void TimelineCheck::LookAtChange(const Position& position, std::size_t row, uint64_t customer,
                                 std::string_view kind, std::string_view before,
                                 std::string_view after) {
  const bool removed = kind == "PIX_KEY_REMOVED";
  const uint64_t key = PairOf(customer, HashOfText(removed ? "PIX_KEY_ADDED" : kind));
  if (kind != "PIX_KEY_ADDED") {
    followed_.Look();
    const auto known = values_.find(key);
    if (before.empty() || before == after ||
        (known != values_.end() && known->second != HashOfText(before))) {
      followed_.Bad(position, row, [&] { return std::string(before); });
    }
  }
  if (!removed) values_[key] = HashOfText(after);
}

void TimelineCheck::LookAtChanges(const Batch& batch, const Position& position) {
  const Field time(batch, "changed_at");
  const Field customer(batch, "customer_id");
  const Field change(batch, "change");
  const Field device(batch, "device_id");
  const Field before(batch, "old_value");
  const Field after(batch, "new_value");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!time.Has(row) || !customer.Has(row) || !change.Has(row)) continue;
    changes_.Look();
    const int64_t when = time.Number(row);
    const uint64_t number = NumberOf(customer.Text(row));
    const std::string_view kind = change.Value(row);
    const uint64_t pair = device.Has(row) ? PairOf(NumberOf(device.Text(row)), number) : 0;
    const auto use = first_uses_.find(pair);
    const bool removed = kind == "DEVICE_REMOVED";
    const bool known = !device.Has(row) || (use != first_uses_.end() &&
                                            (removed ? use->second < when : use->second == when));
    if (when < last_change_ || !known) {
      changes_.Bad(position, row, [&] { return std::string(customer.Text(row)); });
    }
    last_change_ = when;
    if (removed) removals_[pair] = when;
    if (kind == "DEVICE_REPLACED" && before.Has(row)) {
      removals_[PairOf(NumberOf(before.Text(row)), number)] = when;
    }
    if (kind == "ACCOUNT_CLOSED") closings_[number] = when;
    if (kind.starts_with("DEVICE_") || kind.starts_with("ACCOUNT_") || kind == "SIM_CHANGED") {
      continue;
    }
    LookAtChange(position, row, number, kind, before.Has(row) ? before.Text(row) : "",
                 after.Has(row) ? after.Text(row) : "");
  }
}

}  // namespace reveza::datagen::check
