#include "datagen/check/people_rules.h"
#include "datagen/check/row_rules.h"
#include "datagen/lists/devices.h"
#include "datagen/lists/places.h"

namespace reveza::datagen::check {
namespace {

using Fields = std::span<const Field>;

bool IsCard(const Field& type, std::size_t row) {
  return type.Is(row, "CREDIT_CARD") || type.Is(row, "DEBIT_CARD");
}
bool IsTransfer(const Field& type, std::size_t row) {
  return type.Is(row, "PIX") || type.Is(row, "TED");
}

bool AllAre(bool there, Fields fields, std::size_t row) {
  for (const Field& field : fields.subspan(1)) {
    if (field.Has(row) != there) return false;
  }
  return true;
}

bool HasCard(Fields fields, std::size_t row) { return AllAre(IsCard(fields[0], row), fields, row); }
bool HasTyped(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "MANUAL"), fields, row);
}
bool HasPix(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "PIX"), fields, row);
}
bool HasReceiver(Fields fields, std::size_t row) {
  return AllAre(IsTransfer(fields[0], row), fields, row);
}
bool HasBank(Fields fields, std::size_t row) {
  return AllAre(IsTransfer(fields[0], row) || fields[0].Is(row, "BOLETO"), fields, row);
}
bool HasReason(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "DECLINED"), fields, row);
}
bool HasLabel(Fields fields, std::size_t row) { return AllAre(fields[0].Flag(row), fields, row); }
bool AllOrNone(Fields fields, std::size_t row) { return AllAre(fields[0].Has(row), fields, row); }

bool ChannelFits(Fields fields, std::size_t row) {
  const Field& type = fields[0];
  const Field& channel = fields[1];
  return IsCard(type, row) ==
             (channel.Is(row, "POINT_OF_SALE") || channel.Is(row, "ONLINE_SHOP")) &&
         type.Is(row, "WITHDRAWAL") == channel.Is(row, "ATM") &&
         type.Is(row, "AUTO_DEBIT") == channel.Is(row, "STANDING_ORDER");
}

bool CardFits(Fields fields, std::size_t row) {
  if (!IsCard(fields[0], row)) return true;
  return fields[1].Is(row, fields[0].Is(row, "CREDIT_CARD") ? "CREDIT" : "DEBIT") &&
         (fields[0].Is(row, "CREDIT_CARD") || (fields[2].Has(row) && fields[2].Number(row) == 1));
}

bool IsPositive(Fields fields, std::size_t row) { return fields[0].Number(row) > 0; }
bool IsScore(Fields fields, std::size_t row) {
  return fields[0].Number(row) >= 0 && fields[0].Number(row) <= 10'000;
}
bool ReportedLater(Fields fields, std::size_t row) {
  return !fields[1].Has(row) || fields[1].Number(row) > fields[0].Number(row);
}

bool BalanceHolds(Fields fields, std::size_t row) {
  if (fields[0].Number(row) < 0) return false;
  return !fields[2].Is(row, "INSUFFICIENT_BALANCE") ||
         fields[1].Number(row) > fields[0].Number(row);
}

// The city is one of the state, and area and postal code are of the city.
bool AddressAgrees(Fields fields, std::size_t row) {
  const std::string_view city = fields[0].Text(row);
  const uint64_t area = NumberOf(fields[2].Text(row).substr(0, 5));
  for (const lists::City& candidate : lists::CitiesOf(fields[1].Code(row))) {
    if (candidate.name == city && area >= candidate.first_postal_area &&
        area <= candidate.last_postal_area) {
      const std::string code = fmt::format("{}", candidate.area_code);
      const std::string_view phone = fields[3].Text(row);
      if (phone.find(code) != std::string_view::npos) return true;
    }
  }
  return false;
}

bool DecidedLater(Fields fields, std::size_t row) {
  const int64_t claimed = fields[2].Number(row);
  const int64_t refunded = fields[3].Number(row);
  const std::string_view outcome = refunded == 0         ? "REFUSED"
                                   : refunded == claimed ? "REFUNDED"
                                                         : "PARTLY_REFUNDED";
  return fields[1].Number(row) > fields[0].Number(row) && refunded >= 0 && refunded <= claimed &&
         fields[4].Is(row, outcome);
}

// What settled keeps nothing back, what is returned comes back whole.
bool ComesBack(Fields fields, std::size_t row) {
  const int64_t amount = fields[2].Number(row);
  const int64_t returned = fields[3].Number(row);
  if (fields[0].Is(row, "SETTLED")) return !fields[1].Has(row) && returned == 0;
  const bool whole = fields[0].Is(row, "RETURNED");
  const bool of_pending =
      fields[1].Is(row, "RECEIVER_NOT_FOUND") || fields[1].Is(row, "NOT_CLEARED");
  return fields[1].Has(row) && of_pending == whole && returned > 0 &&
         (whole ? returned == amount : returned <= amount);
}

// A maker's model of this type, under a system that runs on it.
bool IsDevice(Fields fields, std::size_t row) {
  const lists::DeviceModel& model = lists::kDeviceModels.at(fields[2].Code(row));
  const auto kind = static_cast<std::size_t>(model.kind);
  const lists::Slice systems = lists::kOperatingSystemsOfKind.at(kind);
  const std::size_t system = fields[3].Code(row);
  return lists::kTypeOfDeviceKind.at(kind) == fields[0].Code(row) &&
         lists::kManufacturers.at(fields[1].Code(row)) == model.manufacturer &&
         system >= systems.first && system < systems.first + systems.count;
}

bool ChainsHavePayments(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "MULE_CHAIN"), fields, row);
}
bool ChangeHasItsValues(Fields fields, std::size_t row) {
  const std::string_view change = fields[0].Value(row);
  const bool sim = change == "SIM_CHANGED";
  const bool added = change == "ACCOUNT_OPENED" || change.ends_with("_ADDED");
  const bool removed = change == "ACCOUNT_CLOSED" || change.ends_with("_REMOVED");
  return fields[1].Has(row) == change.starts_with("DEVICE_") &&
         fields[2].Has(row) == (!sim && !added) && fields[3].Has(row) == (!sim && !removed);
}

}  // namespace

std::vector<RowRule> CoherentRules() {
  return {
      {"customers", "CPFs are of the state's region", {"cpf", "address.state"}, IsCpfOfState},
      {"customers", "e-mail addresses are at example domains", {"email"}, IsExampleAddress},
      {"customers",
       "city, postal code and area code agree",
       {"address.city", "address.state", "address.postal_code", "phone"},
       AddressAgrees},
      {"devices",
       "model and operating system are of the type and the manufacturer",
       {"type", "manufacturer", "model", "operating_system"},
       IsDevice},
      {"transactions", "amounts are positive", {"amount"}, IsPositive},
      {"transactions", "channels belong to the kind of payment", {"type", "channel"}, ChannelFits},
      {"transactions",
       "what cards have is there for cards only",
       {"type", "card_number_hash", "card_brand", "card_type", "installments", "card_entry"},
       HasCard},
      {"transactions",
       "what typed cards have is there for them only",
       {"card_entry", "cvv_validated", "auth_3ds"},
       HasTyped},
      {"transactions",
       "card_type and installments belong to type",
       {"type", "card_type", "installments"},
       CardFits},
      {"transactions",
       "PIX keys are there for PIX only",
       {"type", "pix_key_type", "pix_key_destination"},
       HasPix},
      {"transactions",
       "counterparty_account is there for PIX and TED only",
       {"type", "counterparty_account"},
       HasReceiver},
      {"transactions",
       "destination_bank is there for PIX, TED and BOLETO only",
       {"type", "destination_bank"},
       HasBank},
      {"transactions",
       "what merchants have is there together",
       {"merchant_id", "merchant_name", "merchant_category", "mcc_code", "mcc_risk_level"},
       AllOrNone},
      {"transactions",
       "latitude and longitude are there together",
       {"geolocation_lat", "geolocation_lon"},
       AllOrNone},
      {"transactions",
       "refusal_reason is there if declined only",
       {"status", "refusal_reason"},
       HasReason},
      {"transactions", "risk_score is 0 to 100", {"risk_score"}, IsScore},
      {"transactions",
       "balances are not negative, and refused where too low only",
       {"balance_after", "amount", "refusal_reason"},
       BalanceHolds},
      {"transactions",
       "fraud_type and fraud_role are there for frauds only",
       {"is_fraud", "fraud_type", "fraud_role"},
       HasLabel},
      {"transactions",
       "fraud_reported_at is later than the payment",
       {"timestamp", "fraud_reported_at"},
       ReportedLater},
      {"settlements",
       "outcome, reason and returned_amount agree",
       {"outcome", "reason", "amount", "returned_amount"},
       ComesBack},
      {"disputes",
       "decided later, refunded at most what was claimed",
       {"opened_at", "decided_at", "claimed_amount", "refunded_amount", "outcome"},
       DecidedLater},
      {"changes",
       "device_id, old_value and new_value are there where the change has them",
       {"change", "device_id", "old_value", "new_value"},
       ChangeHasItsValues},
      {"rings",
       "hop, payment and time are there for chains only",
       {"pattern", "hop", "transaction_id", "at"},
       ChainsHavePayments},
  };
}

}  // namespace reveza::datagen::check
