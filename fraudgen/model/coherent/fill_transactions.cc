#include <algorithm>
#include <array>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/fill_columns.h"
#include "fraudgen/model/coherent/ip_text.h"
#include "fraudgen/model/coherent/tables.h"
#include "fraudgen/schema/fixed_text.h"

namespace reveza::fraudgen::coherent {
namespace {

// Two categories share the code of restaurants; the schema lists each code once.
constexpr auto kCodeOfCategory = [] {
  std::array<uint16_t, lists::kMerchantCategories.size()> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::string_view code = lists::kMerchantCategories[i].code.substr(0, 4);
    while (kMccCodes[codes[i]] != code) ++codes[i];
  }
  return codes;
}();

Owner ReceiverOf(const Identity& identity, const Row& row) {
  return row.receiver_is_shop ? identity.OwnerOfShop(row.merchant)
                              : identity.OwnerOf(row.receiver, row.time);
}

bool HasDevice(const Row& row) { return row.device != kNoDevice; }
bool HasAccount(const Row& row) { return HasReceiver(row.kind); }
bool HasBank(const Row& row) { return HasReceiver(row.kind) || row.kind == Kind::kBoleto; }
bool IsFraud(const Row& row) { return row.is_fraud; }

using Filler = ColumnFiller<Row>;

void FillPayment(const Identity& identity, Filler& fill) {
  fill.Identifier("transaction_id", identity.transactions,
                  [](const Row& row) { return row.number; });
  fill.Identifier("session_id", identity.sessions, [](const Row& row) { return row.session; });
  fill.Identifier("customer_id", identity.customers, [](const Row& row) { return row.customer; });
  fill.IdentifierIf("device_id", identity.devices, fill.Where(HasDevice),
                    [](const Row& row) { return row.device; });
  fill.Number("timestamp", [](const Row& row) { return row.time; });
  fill.Code("type", [](const Row& row) { return row.kind; });
  fill.Number("amount", [](const Row& row) { return row.amount; });
  fill.Code("currency", [](const Row&) { return 0; });
  fill.Code("channel", [](const Row& row) { return row.channel; });
  fill.ShortTextIf(
      "ip_address", fill.Where([](const Row& row) { return row.has_ip; }),
      [](char* out, const Row& row) { return PutIp(out, row.ip); },
      [](const Row& row) { return KeyOfIp(row.ip); });
  const Presence has_place = fill.Where([](const Row& row) { return row.has_place; });
  fill.NumberIf("geolocation_lat", has_place, [](const Row& row) { return row.place.latitude; });
  fill.NumberIf("geolocation_lon", has_place, [](const Row& row) { return row.place.longitude; });
}

void FillMerchantAndCard(const Identity& identity, Filler& fill) {
  const Presence has_merchant = fill.Where([](const Row& row) { return row.has_merchant; });
  const Presence has_card = fill.Where([](const Row& row) { return IsCard(row.kind); });
  const Presence is_typed = fill.Where(IsTyped);
  fill.IdentifierIf("merchant_id", identity.merchants, has_merchant,
                    [](const Row& row) { return row.merchant; });
  fill.CodeIf("merchant_name", has_merchant,
              [&](const Row& row) { return identity.MerchantName(row.merchant); });
  fill.CodeIf("merchant_category", has_merchant,
              [](const Row& row) { return CategoryOf(row.merchant); });
  fill.CodeIf("mcc_code", has_merchant,
              [](const Row& row) { return kCodeOfCategory[CategoryOf(row.merchant)]; });
  fill.CodeIf("mcc_risk_level", has_merchant, [](const Row& row) {
    return lists::kMerchantCategories[CategoryOf(row.merchant)].risk;
  });
  fill.ShortTextIf(
      "card_number_hash", has_card,
      [](char* out, const Row& row) {
        WriteHex(out, row.card);
        return out + 16;
      },
      [](const Row& row) { return row.card; });
  fill.CodeIf("card_brand", has_card, [](const Row& row) { return row.brand; });
  fill.CodeIf("card_type", has_card,
              [](const Row& row) { return row.kind == Kind::kCreditCard ? 0 : 1; });
  fill.NumberIf("installments", has_card, [](const Row& row) { return row.installments; });
  fill.CodeIf("card_entry", has_card, [](const Row& row) { return row.entry; });
  fill.FlagIf("cvv_validated", is_typed, [](const Row& row) { return row.cvv_validated; });
  fill.FlagIf("auth_3ds", is_typed, [](const Row& row) { return row.auth_3ds; });
}

void FillReceiver(const Identity& identity, std::span<const Row> rows, Filler& fill) {
  std::array<Owner, Batch::kMaxRows> owners;  // the first rows.size() are set below
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    owners[i] = HasReceiver(row.kind) ? ReceiverOf(identity, row) : Owner{};
    if (row.kind == Kind::kBoleto) {
      owners[i].bank = static_cast<uint8_t>(Mix(row.merchant) % lists::kBanks.size());
    }
  }
  const auto owner = [&](const Row& row) -> const Owner& { return owners[&row - rows.data()]; };
  const Presence is_pix = fill.Where([](const Row& row) { return row.kind == Kind::kPix; });
  fill.CodeIf("pix_key_type", is_pix, [&](const Row& row) { return owner(row).key_type; });
  fill.TextIf("pix_key_destination", is_pix,
              [&](char* out, const Row& row) { return identity.PutPixKey(out, owner(row)); });
  fill.CodeIf("destination_bank", fill.Where(HasBank),
              [&](const Row& row) { return owner(row).bank; });
  fill.IdentifierIf("counterparty_account", identity.accounts, fill.Where(HasAccount),
                    [](const Row& row) { return row.receiver; });
}

void FillHistory(Filler& fill) {
  fill.NumberIf("distance_from_last_txn_km",
                fill.Where([](const Row& row) { return row.distance >= 0; }),
                [](const Row& row) { return row.distance; });
  fill.NumberIf("time_since_last_txn_min",
                fill.Where([](const Row& row) { return row.minutes >= 0; }),
                [](const Row& row) { return row.minutes; });
  fill.Number("transactions_last_24h", [](const Row& row) { return row.count; });
  fill.Number("accumulated_amount_24h", [](const Row& row) { return row.accumulated; });
  fill.Flag("unusual_time", [](const Row& row) { return row.unusual_time; });
  fill.Flag("new_beneficiary", [](const Row& row) { return row.new_beneficiary; });
  fill.Code("status", [](const Row& row) { return row.status; });
  fill.CodeIf("refusal_reason",
              fill.Where([](const Row& row) { return row.status == PaymentStatus::kDeclined; }),
              [](const Row& row) { return row.refusal; });
  fill.Number("risk_score", [](const Row& row) { return row.score; });
  fill.Number("balance_after", [](const Row& row) { return row.balance; });
}

}  // namespace

void FillTransactions(const Identity& identity, std::span<const Row> rows, Batch& batch) {
  Filler fill(rows, batch);
  FillPayment(identity, fill);
  FillMerchantAndCard(identity, fill);
  FillReceiver(identity, rows, fill);
  FillHistory(fill);
  fill.Flag("is_fraud", IsFraud);
  const Presence is_fraud = fill.Where(IsFraud);
  const std::span<const Scenario> scenarios = identity.world().parameters().scenarios;
  fill.ShortTextIf(
      "fraud_type", is_fraud,
      [&](char* out, const Row& row) {
        const std::string& name = scenarios[row.scenario].name;
        return std::ranges::copy(name, out).out;
      },
      [](const Row& row) { return row.scenario; });
  fill.CodeIf("fraud_role", is_fraud, [](const Row& row) { return row.fraud_role; });
  fill.NumberIf("fraud_reported_at",
                fill.Where([](const Row& row) { return row.reported_at != kNever; }),
                [](const Row& row) { return row.reported_at; });
}

}  // namespace reveza::fraudgen::coherent
