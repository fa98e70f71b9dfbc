// What the tables beside the payments say.
#include <string>

#include "datagen/check/timeline.h"

namespace reveza::datagen::check {

void TimelineCheck::AddAccounts(const Batch& batch) {
  const Field customer(batch, "customer_id");
  const Field account(batch, "account_id");
  const Field opened(batch, "opened_at");
  const Field limit(batch, "pix_night_limit");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!customer.Has(row) || !account.Has(row) || !opened.Has(row) || !limit.Has(row)) continue;
    const uint64_t number = NumberOf(customer.Text(row));
    Account& added = accounts_[number];
    added.opened_at = opened.Number(row);
    added.night_limit = limit.Number(row);
    owners_[NumberOf(account.Text(row))] = number;
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

void TimelineCheck::LookAtChanges(const Batch& batch, const Position& position) {
  const Field time(batch, "changed_at");
  const Field customer(batch, "customer_id");
  const Field device(batch, "device_id");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!time.Has(row) || !customer.Has(row)) continue;
    changes_.Look();
    const auto use = first_uses_.find(
        device.Has(row) ? PairOf(NumberOf(device.Text(row)), NumberOf(customer.Text(row))) : 0);
    const bool known =
        !device.Has(row) || (use != first_uses_.end() && use->second == time.Number(row));
    if (time.Number(row) < last_change_ || !known) {
      changes_.Bad(position, row, [&] { return std::string(customer.Text(row)); });
    }
    last_change_ = time.Number(row);
  }
}

}  // namespace reveza::datagen::check
