#include <gtest/gtest.h>

#include <map>

#include "fraudgen/check/check.h"
#include "fraudgen/check/testing_data_set.h"

namespace reveza::fraudgen::check {
namespace timeline_test {

// Increases a number in the first matching line by one.
std::function<void(Lines&)> Increase(const std::string& part, const std::string& key) {
  return [=](Lines& lines) {
    std::string& line = LineWith(lines, part, lines.size() / 2);
    const double value = std::stod(MemberOf(line, key)) + 1;
    const bool whole = MemberOf(line, key).find('.') == std::string::npos;
    SetMember(
        line, key,
        whole ? fmt::format("{}", static_cast<int64_t>(value)) : fmt::format("{:.2f}", value));
  };
}

TEST(Timeline, DetectsWrongDerivedColumns) {
  const std::string payments = "transactions/part-00001.jsonl";
  ExpectDetected(
      "coherent",
      {
          {payments,
           Increase("", "transactions_last_24h"),
           {"timeline: transactions_last_24h is correct"}},
          {payments,
           Increase("", "accumulated_amount_24h"),
           {"timeline: accumulated_amount_24h is correct"}},
          {payments,
           Increase("", "time_since_last_txn_min"),
           {"timeline: time_since_last_txn_min is correct"}},
          {payments,
           [](Lines& lines) {
             for (std::string& line : lines) {
               const std::string distance = MemberOf(line, "distance_from_last_txn_km");
               if (distance == "null") continue;
               SetMember(line, "distance_from_last_txn_km",
                         fmt::format("{:.2f}", std::stod(distance) * 1.1 + 1));
               return;
             }
           },
           {"timeline: distance_from_last_txn_km is correct"}},
          {payments,
           Set("\"unusual_time\":false", "unusual_time", "true"),
           {"timeline: unusual_time is correct"}},
          {payments,
           Set("\"type\":\"CREDIT_CARD\"", "new_beneficiary", "true"),
           {"timeline: new_beneficiary was not paid before"}},
          // Every other balance, since the first of each day is not checked.
          {payments,
           [](Lines& lines) {
             for (std::size_t i = 0; i < lines.size(); i += 2) {
               SetMember(
                   lines[i], "balance_after",
                   fmt::format("{:.2f}", std::stod(MemberOf(lines[i], "balance_after")) + 0.01));
             }
           },
           {"timeline: balance_after follows from the previous row"}},
          {payments,
           [](Lines& lines) { std::swap(lines[100], lines[101]); },
           {"timeline: rows of a block are in order of time"}},
          {payments,
           [](Lines& lines) {
             std::string& line = LineWith(lines, "\"card_type\":\"DEBIT\"");
             for (const std::string& other : lines) {
               if (MemberOf(other, "card_number_hash") == "null" ||
                   MemberOf(other, "customer_id") == MemberOf(line, "customer_id")) {
                 continue;
               }
               return SetMember(line, "card_number_hash", MemberOf(other, "card_number_hash"));
             }
           },
           {"timeline: a card belongs to one customer"}},
          {"accounts/part-00001.jsonl",
           [](Lines& lines) {
             for (std::string& line : lines) {
               SetMember(line, "opened_at", "\"2025-06-30T00:00:00.000000\"");
             }
           },
           {"timeline: no payments before the account was opened",
            "timeline: no payments to accounts not opened yet"}},
          {"accounts/part-00001.jsonl",
           [](Lines& lines) {
             for (std::string& line : lines) SetMember(line, "pix_night_limit", "1.00");
           },
           {"timeline: PIX at night stay within the limit"}},
          {"alerts/part-00001.jsonl",
           Set("", "risk_score", "1.00"),
           {"alerts: match a payment of their block"}},
          {"alerts/part-00001.jsonl",
           Set("", "transaction_id", "\"TXN_999999999999999\""),
           {"alerts: match a payment of their block"}},
          {"disputes/part-00001.jsonl",
           Increase("REFUSED", "claimed_amount"),
           {"disputes: match a payment of their block"}},
          {"rings/part-00001.jsonl",
           Set("MULE_CHAIN", "at", "\"2025-06-30T00:00:00.000000\""),
           {"rings: match a payment of their block"}},
          {"changes/part-00001.jsonl",
           [](Lines& lines) { std::reverse(lines.begin(), lines.end()); },
           {"changes: in order of time, and their devices exist",
            "changes: old_value is the value before the change"}},
          {"devices/part-00001.jsonl",
           [](Lines& lines) {
             for (std::string& line : lines) {
               if (MemberOf(line, "first_use") < "\"2025") {
                 SetMember(line, "first_use", "\"2025-06-30T00:00:00.000000\"");
               }
             }
           },
           {"timeline: devices are not used before first_use",
            "changes: in order of time, and their devices exist"}},
          {"changes/part-00001.jsonl",
           Set("EMAIL_CHANGED", "old_value", "\"a@example.com\""),
           {"changes: old_value is the value before the change"}},
          {"changes/part-00001.jsonl",
           Set("PIX_KEY_REMOVED", "new_value", "\"x\""),
           {"changes: device_id, old_value and new_value are set as the change requires"}},
          {"changes/part-00001.jsonl",
           [](Lines& lines) {
             std::string& line = LineWith(lines, "ACCOUNT_OPENED");
             SetMember(line, "change", "\"ACCOUNT_CLOSED\"");
             SetMember(line, "old_value", MemberOf(line, "new_value"));
             SetMember(line, "new_value", "null");
           },
           {"timeline: no payments after the account was closed"}},
          {"changes/part-00001.jsonl",
           [](Lines& lines) {
             std::string& line = LineWith(lines, "DEVICE_REPLACED");
             SetMember(line, "old_value", MemberOf(line, "device_id"));
           },
           {"timeline: devices are not used after removal"}},
      });
}

TEST(Timeline, DetectsWrongSettlements) {
  const std::string settlements = "settlements/part-00001.jsonl";
  const std::string agree = "settlements: outcome, reason and returned_amount match";
  const std::string fit = "settlements: match the payments of their block, one per pending payment";
  ExpectDetected(
      "coherent",
      {
          {settlements, Set("\"outcome\":\"SETTLED\"", "amount", "0.01"), {fit}},
          {settlements,
           Set("\"outcome\":\"SETTLED\"", "settled_at", "\"2023-01-01T00:00:00.000000\""),
           {fit}},
          {settlements, Set("\"outcome\":\"SETTLED\"", "returned_amount", "1.00"), {agree}},
          {settlements, Set("\"outcome\":\"SETTLED\"", "reason", "\"SHOP_CANCELLED\""), {agree}},
      });
}

TEST(Timeline, DetectsViolationsOfRowRules) {
  const std::string payments = "transactions/part-00000.jsonl";
  ExpectDetected(
      "coherent",
      {
          {payments,
           Set("\"status\":\"APPROVED\"", "refusal_reason", "\"CVV_ERROR\""),
           {"transactions: refusal_reason is set for declined payments only"}},
          {payments,
           Set("\"is_fraud\":false", "fraud_role", "\"VICTIM\""),
           {"transactions: fraud_type and fraud_role are set for frauds only"}},
          {payments,
           Set("\"type\":\"CREDIT_CARD\"", "channel", "\"BRANCH\""),
           {"transactions: channel matches the payment type"}},
          {payments,
           Set("\"type\":\"BOLETO\"", "destination_bank", "null"),
           {"transactions: destination_bank is set for PIX, TED and BOLETO only"}},
          {payments, Set("", "risk_score", "100.01"), {"transactions: risk_score is 0 to 100"}},
          {payments,
           [](Lines& lines) {
             // Mule hops have no disputes.
             for (std::string& line : lines) {
               if (line.find("\"MULE_HOP\"") == line.npos ||
                   MemberOf(line, "fraud_reported_at") == "null") {
                 continue;
               }
               return SetMember(line, "fraud_reported_at", MemberOf(line, "timestamp"));
             }
           },
           {"transactions: fraud_reported_at is later than the payment"}},
          {"customers/part-00000.jsonl",
           Set("", "postal_code", "\"99999-999\""),
           {"customers: city, postal code and area code match"}},
          {"devices/part-00000.jsonl",
           Set("\"manufacturer\":\"Apple\"", "model", "\"Notebook Air 13\""),
           {"devices: model and operating system match type and manufacturer"}},
          {"devices/part-00000.jsonl",
           [](Lines& lines) {
             std::map<std::string, std::string*> seen;
             for (std::string& line : lines) {
               const auto [other, is_new] = seen.emplace(MemberOf(line, "device_id"), &line);
               if (!is_new)
                 return SetMember(line, "fingerprint", "\"" + std::string(32, '0') + "\"");
             }
           },
           {"devices: attributes are the same for all customers of a device"}},
          {"disputes/part-00000.jsonl",
           Set("REFUSED", "outcome", "\"REFUNDED\""),
           {"disputes: decided after opening, refunded at most the claim"}},
          {"changes/part-00000.jsonl",
           Set("PHONE_CHANGED", "device_id", "\"DEV_000000000000001\""),
           {"changes: device_id, old_value and new_value are set as the change requires",
            "changes: in order of time, and their devices exist",
            "keys: changes.device_id with customer_id exists in devices"}},
          {"rings/part-00000.jsonl",
           Set("MULE_CHAIN", "hop", "null"),
           {"rings: hop, payment and time are set for chains only"}},
      });
}

}  // namespace timeline_test
}  // namespace reveza::fraudgen::check
