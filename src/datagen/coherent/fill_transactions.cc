#include <array>

#include "datagen/coherent/fill.h"
#include "datagen/coherent/fill_columns.h"
#include "datagen/digits.h"
#include "datagen/lists/commerce.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

// Two categories have the code of restaurants; the schema names each code once.
constexpr auto kCodeOfCategory = [] {
  std::array<uint16_t, lists::kMerchantCategories.size()> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::string_view code = lists::kMerchantCategories[i].code.substr(0, 4);
    while (kMccCodes[codes[i]] != code) ++codes[i];
  }
  return codes;
}();

void AppendIp(std::string& text, uint32_t ip) {
  std::array<char, 2 * kMostNumberBytes> buffer;
  char* end = PutUnsigned(buffer.data(),
                          lists::kIpFirstNumbers[(ip >> 24) % lists::kIpFirstNumbers.size()]);
  for (const int shift : {16, 8, 0}) {
    *end++ = '.';
    end = PutUnsigned(end, ip >> shift & 255);
  }
  text.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
}

Owner ReceiverOf(const Identity& identity, const Row& row) {
  return row.receiver_is_shop ? identity.OwnerOfShop(row.receiver, CityOf(row.merchant))
                              : identity.OwnerOf(row.receiver);
}

bool IsPix(const Row& row) { return row.kind == Kind::kPix; }
bool HasMerchant(const Row& row) { return row.has_merchant; }
bool HasDevice(const Row& row) { return row.device != kNoDevice; }
bool HasPlace(const Row& row) { return row.has_place; }
bool HasCard(const Row& row) { return IsCard(row.kind); }
bool HasAccount(const Row& row) { return HasReceiver(row.kind); }
bool HasBank(const Row& row) { return HasReceiver(row.kind) || row.kind == Kind::kBoleto; }
bool IsFraud(const Row& row) { return row.is_fraud; }

using Filler = ColumnFiller<Row>;

void FillPayment(const Identity& identity, Filler& fill) {
  fill.Text("transaction_id", [&](std::string& text, const Row& row) {
    identity.AppendTransaction(text, row.number);
  });
  fill.Text("session_id",
            [&](std::string& text, const Row& row) { identity.AppendSession(text, row.session); });
  fill.Text("customer_id", [&](std::string& text, const Row& row) {
    identity.AppendCustomer(text, row.customer);
  });
  fill.TextIf("device_id", HasDevice,
              [&](std::string& text, const Row& row) { identity.AppendDevice(text, row.device); });
  fill.Number("timestamp", [](const Row& row) { return row.time; });
  fill.Code("type", [](const Row& row) { return row.kind; });
  fill.Number("amount", [](const Row& row) { return row.amount; });
  fill.Code("currency", [](const Row&) { return 0; });
  fill.Code("channel", [](const Row& row) { return row.channel; });
  fill.TextIf(
      "ip_address", [](const Row& row) { return row.has_ip; },
      [](std::string& text, const Row& row) { AppendIp(text, row.ip); });
  fill.NumberIf("geolocation_lat", HasPlace, [](const Row& row) { return row.place.latitude; });
  fill.NumberIf("geolocation_lon", HasPlace, [](const Row& row) { return row.place.longitude; });
}

void FillMerchantAndCard(const Identity& identity, Filler& fill) {
  fill.TextIf("merchant_id", HasMerchant, [&](std::string& text, const Row& row) {
    identity.AppendMerchant(text, row.merchant);
  });
  fill.CodeIf("merchant_name", HasMerchant,
              [&](const Row& row) { return identity.MerchantName(row.merchant); });
  fill.CodeIf("merchant_category", HasMerchant,
              [](const Row& row) { return CategoryOf(row.merchant); });
  fill.CodeIf("mcc_code", HasMerchant,
              [](const Row& row) { return kCodeOfCategory[CategoryOf(row.merchant)]; });
  fill.CodeIf("mcc_risk_level", HasMerchant, [](const Row& row) {
    return lists::kMerchantCategories[CategoryOf(row.merchant)].risk;
  });
  fill.TextIf("card_number_hash", HasCard,
              [](std::string& text, const Row& row) { AppendHexadecimal(text, row.card, 16); });
  fill.CodeIf("card_brand", HasCard, [](const Row& row) { return row.brand; });
  fill.CodeIf("card_type", HasCard,
              [](const Row& row) { return row.kind == Kind::kCreditCard ? 0 : 1; });
  fill.NumberIf("installments", HasCard, [](const Row& row) { return row.installments; });
  fill.CodeIf("card_entry", HasCard, [](const Row& row) { return row.entry; });
  fill.FlagIf("cvv_validated", IsTyped, [](const Row& row) { return row.cvv_validated; });
  fill.FlagIf("auth_3ds", IsTyped, [](const Row& row) { return row.auth_3ds; });
}

void FillReceiver(const Identity& identity, std::span<const Row> rows, Filler& fill) {
  std::array<Owner, Batch::kMaxRows> owners;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (HasReceiver(row.kind)) {
      owners[i] = ReceiverOf(identity, row);
    } else if (row.kind == Kind::kBoleto) {
      owners[i].bank = static_cast<uint8_t>(Mix(row.merchant) % lists::kBanks.size());
    }
  }
  const auto owner = [&](const Row& row) -> const Owner& { return owners[&row - rows.data()]; };
  fill.CodeIf("pix_key_type", IsPix, [&](const Row& row) { return owner(row).key_type; });
  fill.TextIf("pix_key_destination", IsPix,
              [&](std::string& text, const Row& row) { identity.AppendPixKey(text, owner(row)); });
  fill.CodeIf("destination_bank", HasBank, [&](const Row& row) { return owner(row).bank; });
  fill.TextIf("counterparty_account", HasAccount, [&](std::string& text, const Row& row) {
    identity.AppendAccount(text, row.receiver);
  });
}

void FillHistory(Filler& fill) {
  fill.NumberIf(
      "distance_from_last_txn_km", [](const Row& row) { return row.distance >= 0; },
      [](const Row& row) { return row.distance; });
  fill.NumberIf(
      "time_since_last_txn_min", [](const Row& row) { return row.minutes >= 0; },
      [](const Row& row) { return row.minutes; });
  fill.Number("transactions_last_24h", [](const Row& row) { return row.count; });
  fill.Number("accumulated_amount_24h", [](const Row& row) { return row.accumulated; });
  fill.Flag("unusual_time", [](const Row& row) { return row.unusual_time; });
  fill.Flag("new_beneficiary", [](const Row& row) { return row.new_beneficiary; });
  fill.Code("status", [](const Row& row) { return row.status; });
  fill.CodeIf(
      "refusal_reason", [](const Row& row) { return row.status == PaymentStatus::kDeclined; },
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
  fill.CodeIf("fraud_type", IsFraud, [](const Row& row) { return row.fraud_type; });
  fill.CodeIf("fraud_role", IsFraud, [](const Row& row) { return row.fraud_role; });
  fill.NumberIf(
      "fraud_reported_at", [](const Row& row) { return row.reported_at != kNever; },
      [](const Row& row) { return row.reported_at; });
}

}  // namespace reveza::datagen::coherent
